"""A process whose main thread has exited while its other threads run: the kernel shows it as Z."""

import os
import signal

import pytest

from house import House, eventually
from knell.core.receipt import Result
from knell.processes.open_files import open_files
from knell.processes.os import system
from knell.processes.table import Table
from scenes import state_letter, stranger

GOES_ON = """
import ctypes, threading
os.mkdir("held")
os.chdir("held")
threading.Thread(target=lambda: (tell(), time.sleep(99))).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def without_main_thread(house: House) -> int:
    pid, _ = stranger(house, GOES_ON)
    eventually(lambda: state_letter(pid) == "Z")
    return pid


def test_P22_it_is_adopted_and_ended(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house.root)
    pid = without_main_thread(house)
    adopted = house.knell.adopt(str(pid), name="luna")
    assert adopted.agent.cwd == str(house.root / "held")
    assert "pthread_exit" in " ".join(adopted.agent.args)
    receipt = house.kill("luna")[0].receipts[0]
    assert receipt.result is Result.ENDED
    assert [process.pid for process in receipt.processes] == [pid]
    assert os.waitpid(pid, 0)[0] == pid


def test_P22_what_it_uses_is_seen(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worktree that such a process works in is not removed under it; its stamp is found."""
    monkeypatch.chdir(house.root)
    run = house.env["KNELL_RUN"] = os.urandom(4).hex()
    pid = without_main_thread(house)
    held = str(house.root / "held")
    assert [one.member.process.pid for one in open_files([held]).files] == [pid]
    assert Table().stamps[run] == [pid]
    assert "python" in system.command_of(pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
