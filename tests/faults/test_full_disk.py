"""A full disk: what was recorded stays, one clear error, and it saves no agent."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

import pytest

from complaints import FAILED, complaint
from house import House, alive, eventually
from needs import skip_without

SIZE = "2m"


@pytest.fixture
def small(house: House) -> Iterator[House]:
    """The house with a state directory on a disk of its own, which the test may fill."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(house.state)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    skip_without("needs_root")
    if mounted.returncode:
        pytest.skip(f"this machine lets us mount no small disk: {mounted.stderr.strip()}")
    try:
        yield house
    finally:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            emptied(house)
            house.run("kill", "all", "--force")
        subprocess.run(["umount", "-l", str(house.state)], check=True)


def filled(house: House) -> None:
    """To the last byte, so that no page can be added to any file."""
    for piece in (65_536, 4096, 1):
        with contextlib.suppress(OSError), open(house.state / "filler", "ab", buffering=0) as file:
            while True:
                file.write(b"\0" * piece)
    assert os.statvfs(house.state).f_bavail == 0


def emptied(house: House) -> None:
    (house.state / "filler").unlink(missing_ok=True)


def spawned(house: House, name: str, *command: str) -> int:
    args = ("spawn", "--name", name, "--", *(command or ("sleep", "100")))
    assert house.run(*args).returncode == 0
    return int(house.json("show", name)["pid"])


def test_kill_still_ends_it_and_says_what_could_not_be_written(small: House) -> None:
    pid = spawned(small, "luna")
    filled(small)
    done = small.run("kill", "luna")
    assert done.returncode == 0, done.stderr
    assert "proven gone" in done.stdout
    assert "could not be written" in done.stderr
    assert not alive(pid)
    emptied(small)
    [luna] = small.json("list", "--all")["agents"]
    assert luna["state"] == "ended"
    assert luna["outcome"] != "lost"


def test_nothing_that_was_recorded_is_lost(small: House) -> None:
    spawned(small, "luna")
    assert small.run("kill", "luna").returncode == 0
    spawned(small, "nova")
    filled(small)
    complaint(small.run("spawn", "--name", "kira", "--", "sleep", "100"), FAILED)
    assert small.run("list", "--names").stdout == "nova\n"
    emptied(small)
    states = {agent["name"]: agent["state"] for agent in small.json("list", "--all")["agents"]}
    assert states == {"luna": "ended", "nova": "running"}
    assert small.json("receipt", "luna")["proof"] == "proven"
    assert small.run("spawn", "--name", "kira", "--", "sleep", "100").returncode == 0


def test_an_agent_that_exits_on_a_full_disk_leaves_no_process(small: House) -> None:
    """Its keeper can write nothing down any more, and ends what is left all the same."""
    ready, go = small.root / "ready", small.root / "go"
    script = (
        f"sleep 97 & echo $! > {ready}.new; mv {ready}.new {ready};"
        f" until [ -e {go} ]; do sleep 0.02; done"
    )
    spawned(small, "luna", "sh", "-c", script)
    eventually(ready.exists)
    child = int(ready.read_text())
    filled(small)
    assert alive(child)
    go.touch()
    eventually(lambda: not alive(child))
    emptied(small)

    def state() -> str:  # its keeper looks for the cause of death before it goes
        [luna] = small.json("list", "--all")["agents"]
        return str(luna["state"])

    eventually(lambda: state() == "ended")


def test_many_children_do_not_fill_the_keeper_up(small: House) -> None:
    """Each would be written down; the page for it cannot be had."""
    many = "for n in $(seq 60); do sleep 96 & done; touch ready; wait"
    spawned(small, "luna", "sh", "-c", many)
    eventually((small.root / "ready").exists)
    pids = [process["pid"] for process in small.json("tree", "luna")["processes"]]
    assert len(pids) > 60
    filled(small)
    done = small.run("kill", "luna")
    assert done.returncode == 0, done.stderr
    assert not any(map(alive, pids))
