"""R2: a vendor's daemon that several sessions share, when one of them is ended."""

import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually

STAND_IN = Path(__file__).parents[2] / "support" / "codex_daemon.py"
MINE, OTHERS = str(uuid.uuid4()), str(uuid.uuid4())  # tests run side by side on one machine


class Daemon:
    """Two sessions of codex, the first of which has started the daemon that both work in."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.notes = house.root / "daemon.notes"
        folder = house.root / "bin"
        folder.mkdir()
        program = folder / "codex"
        shutil.copy(STAND_IN, program)
        program.chmod(0o700)
        env = house.env | {"SESSIONS": f"{MINE} {OTHERS}"}
        self.first = subprocess.Popen([program, self.notes, "starts"], env=env)
        eventually(lambda: self.notes.exists() and "daemon" in self.notes.read_text())
        self.second = subprocess.Popen([program, self.notes], env=house.env)
        # Until its interpreter runs it is no codex yet, only the `env` of its first line.
        eventually(lambda: f"session {self.second.pid}\n" in self.notes.read_text())
        told = [line.split() for line in self.notes.read_text().splitlines()]
        self.pids = {word: int(pid) for word, pid in told if word != "session"}

    def kill(self, session: subprocess.Popen[bytes], conversation: str = "") -> dict[str, Any]:
        """The receipt of that session, which knell took charge of."""
        given = ("--conversation", conversation) if conversation else ()
        told = self.house.run("adopt", str(session.pid), "--name", "luna", *given)
        assert told.returncode == 0, told.stderr
        receipt = self.house.json("kill", "luna")["receipts"][0]
        session.wait(60)
        return receipt

    def lives(self, word: str) -> bool:
        return alive(self.pids[word])

    def close(self) -> None:
        for pid in self.pids.values():
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        for session in (self.first, self.second):
            session.kill()
            session.wait(60)


@pytest.fixture
def daemon(house: House) -> Iterator[Daemon]:
    daemon = Daemon(house)
    yield daemon
    daemon.close()


def warned(receipt: dict[str, Any]) -> str:
    said = [one["text"] for one in receipt["warnings"] if one["code"] == "daemon_work"]
    return "\n".join(said)


@pytest.mark.parametrize("which", ["first", "second"])
def test_R2_the_session_of_another_is_not_cut(daemon: Daemon, which: str) -> None:
    """Neither by the end of the session that started the daemon, nor by that of a later one."""
    ended, other = daemon.first, daemon.second
    if which == "second":
        ended, other = other, ended
    receipt = daemon.kill(ended, MINE)
    assert receipt["result"] == "ended"
    assert other.poll() is None
    assert daemon.lives("daemon")
    assert daemon.lives(OTHERS)
    assert daemon.pids["daemon"] not in [one["pid"] for one in receipt["processes"]]


def test_R2_what_the_session_had_running_in_the_daemon_is_ended(daemon: Daemon) -> None:
    receipt = daemon.kill(daemon.second, MINE)
    assert f"ended sleep 600 (PID {daemon.pids[MINE]})" in warned(receipt), receipt
    eventually(lambda: not daemon.lives(MINE))
    assert daemon.lives(OTHERS)
    assert f"(PID {daemon.pids['daemon']}) goes on for other sessions" in warned(receipt)


def test_R2_what_may_be_the_sessions_is_named_and_left(daemon: Daemon) -> None:
    """Which session the agent had is not known: nothing is ended on a guess."""
    receipt = daemon.kill(daemon.first)
    assert daemon.lives(MINE)
    assert daemon.lives(OTHERS)
    assert all(f"(PID {pid})" in warned(receipt) for pid in daemon.pids.values())
    assert "`codex app-server daemon stop` ends it with all sessions" in warned(receipt)
