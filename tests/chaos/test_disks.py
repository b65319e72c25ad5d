"""Disks that fail under the store or under the runs' directories: full, read-only, deaf, dead."""

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from chaos.conftest import is_long
from chaos.disks import Disk, mounts_of_our_own, run
from chaos.report import Tally
from complaints import Done
from house import House, alive, descendants, eventually
from scenes import DEAF, SLEEPS, started

pytestmark = pytest.mark.stress

STORE, RUNS = "store", "runs' directories"
FAULTS: dict[str, Callable[[Disk], None]] = {
    "full": Disk.fill,
    "read-only": Disk.write_protect,
    "deaf (EIO from fsync)": Disk.deafen,
    "dead (EIO from everything)": Disk.die,
}
VERBS = {
    "list": ("list",),
    "watch": ("watch", "--once"),
    "spawn": ("spawn", "--name", "nova", "--", "sleep", "100"),
    "resume": ("resume", "old"),
    "stop": ("stop", "stopped"),
    "kill": ("kill", "killed"),
    "kill one that is deaf to TERM": ("kill", "--grace", "0.1", "deaf"),
}


BODIES = {"old": SLEEPS, "stopped": SLEEPS, "killed": SLEEPS, "spared": SLEEPS, "deaf": DEAF}


class Scene:
    """A house on one failing disk, and agents that were started before it failed."""

    def __init__(self, house: House, where: str, bodies: Mapping[str, str]) -> None:
        self.house, self.where = house, where
        self.runs, elsewhere = house.state / "runs", house.root / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        if where == STORE:
            self.disk = Disk(house.state)
        self.runs.mkdir(mode=0o700)
        if where == STORE:  # the runs' directories are on another disk, which goes on
            run("mount", "--bind", str(elsewhere), str(self.runs))
        else:
            self.disk = Disk(self.runs)
        self.agents = {name: started(house, body, name=name) for name, body in bodies.items()}
        self.pids = {name: one.pid for name, one in self.agents.items() if name != "old"}
        house.kill("old")
        house.knell.close()

    # -- under the fault ----------------------------------------------------------------------

    def verb(self, *words: str) -> Done:
        before = set(descendants())
        done = self.house.run(*words)
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert done.returncode in (0, 1), (words, done.stderr)
        if done.returncode:
            assert "error: " in done.stderr or "trouble: " in done.stderr, (words, done.stderr)
        if words[0] in ("stop", "kill"):
            self.is_as_told(words[-1], done)
        elif words[0] in ("spawn", "resume"):
            eventually(lambda: bool(set(descendants()) - before) == (done.returncode == 0))
        elif words[0] == "list" and not done.returncode:
            assert all(name in done.stdout for name, pid in self.pids.items() if alive(pid))
        return done

    def is_as_told(self, name: str, done: Done) -> None:
        """Gone and said so, or alive and said so."""
        gone = not alive(self.pids[name])
        assert gone == (done.returncode == 0), (done.stdout, done.stderr)
        assert ("Ended process group" in done.stdout) == gone, done.stdout
        assert "not found" not in done.stdout + done.stderr, "it was there, and we ended it"
        if gone and self.where == STORE:
            assert "the store could not be written" in done.stderr, done.stderr

    # -- after it -----------------------------------------------------------------------------

    def mend(self) -> None:
        """A disk with open files on it stays in use: those of the runs end first."""
        if self.where == RUNS and not (self.runs / "filler").exists():
            for pid in descendants():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            eventually(lambda: not descendants())
        if self.where == STORE:
            run("umount", "-l", str(self.runs))
        self.disk.mended()
        if self.where == STORE:
            run("mount", "--bind", str(self.house.root / "elsewhere"), str(self.runs))

    def records(self) -> dict[str, dict[str, Any]]:
        return {agent["name"]: agent for agent in self.house.json("list", "--all")["agents"]}

    def finding(self, what: str) -> bool:
        findings = self.house.json("doctor")["findings"]
        return next(found["ok"] for found in findings if found["what"] == what)

    def settles(self) -> None:
        """One command, and every row says what is so, with a receipt for whoever has ended."""
        for name, record in self.records().items():
            pid = self.pids.get(name, record["pid"] or 0)
            lives = bool(pid) and alive(pid)
            assert record["state"] == ("running" if lives else "ended"), record
            if not lives:
                receipt = self.house.json("receipt", name)
                assert receipt["outcome"] == record["outcome"]
                assert record["outcome"] != "lost" or record["reason"], record
        assert self.finding("store")
        assert self.finding("runs")
        assert self.house.run("kill", "all").returncode == 0
        assert self.house.run("spawn", "--name", "after", "--", "sleep", "100").returncode == 0

    def close(self) -> None:
        self.house.run("kill", "all", "--force")
        self.house.knell.close()
        eventually(lambda: not descendants())
        run("umount", "-R", "-l", str(self.disk.at))


@contextlib.contextmanager
def on_a_failing_disk(
    house: House, where: str, bodies: Mapping[str, str] = BODIES
) -> Iterator[Scene]:
    with mounts_of_our_own():
        scene = Scene(house, where, bodies)
        try:
            yield scene
        finally:
            scene.close()


EACH = [(fault, where) for fault in FAULTS for where in (STORE, RUNS)]
# The others are played by tests/faults, with other means, or in the long version.
SHORT = [("full", RUNS), ("read-only", RUNS), ("deaf (EIO from fsync)", STORE)]
DISKS = EACH * 3 if is_long() else SHORT
each_disk = pytest.mark.parametrize(("fault", "where"), DISKS)


@each_disk
def test_whatever_is_asked_is_said_and_settled_afterwards(
    house: House, tally: Tally, chance: random.Random, fault: str, where: str
) -> None:
    """On a failing disk every verb does it or says so; one command settles it afterwards"""
    with on_a_failing_disk(house, where) as scene:
        FAULTS[fault](scene.disk)
        for words in chance.sample(list(VERBS.values()), len(VERBS)):
            scene.verb(*words)
        scene.mend()
        scene.settles()
    tally.broke(f"disk {fault}, under the {where}", len(VERBS))


@pytest.mark.parametrize("fault", FAULTS)
def test_doctor_sees_it(house: House, fault: str) -> None:
    """knell doctor sees a store, and runs' directories, that cannot be written"""
    with mounts_of_our_own():
        disk = Disk(house.state)
        (house.state / "runs").mkdir(mode=0o700)
        house.run("list")
        assert findings(house) == {"store": True, "runs": True}
        FAULTS[fault](disk)
        found = findings(house)
        assert not found["store"]
        assert not found["runs"] or fault.startswith("deaf")  # there nobody waits for the disk
        disk.mended()
        assert findings(house) == {"store": True, "runs": True}
        run("umount", "-l", str(disk.at))


def findings(house: House) -> dict[str, bool]:
    found = house.json("doctor")["findings"]
    return {one["what"]: one["ok"] for one in found if one["what"] in ("store", "runs")}


# Takes TERM, says so, and goes on; only KILL ends it.
NOTES_TERM = """
at_term(lambda *_: open("termed", "w").close())
tell()
while True: time.sleep(0.01)"""


@pytest.mark.parametrize("fault", FAULTS if is_long() else ["dead (EIO from everything)"])
@pytest.mark.parametrize("where", [STORE, RUNS])
def test_a_disk_that_fails_during_a_kill_saves_nobody(
    house: House, tally: Tally, fault: str, where: str
) -> None:
    """A disk that fails between TERM and KILL does not save the agent"""
    with on_a_failing_disk(house, where, {"luna": NOTES_TERM}) as scene:
        luna = scene.agents["luna"]
        argv = [sys.executable, "-m", "knell", "kill", "--grace", "0.5", "luna"]
        kill = subprocess.Popen(
            argv, env=house.env, cwd=house.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        eventually((house.root / "termed").exists)
        FAULTS[fault](scene.disk)
        out, err = (text.decode() for text in kill.communicate(timeout=300))
        assert not alive(luna.pid), (out, err)
        assert kill.returncode == 0, (out, err)
        assert "Ended process group" in out, (out, err)
        assert "Traceback" not in err, err
        scene.mend()
        scene.settles()
    tally.broke(f"disk {fault}, between TERM and KILL")
