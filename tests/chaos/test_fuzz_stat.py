"""Fuzzing what the kernel tells of processes that chose evil names."""

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaos.fuzzing import fuzzed
from chaos.report import Tally
from house import House, alive, descendants, eventually
from knell.processes.os.linux import Process, identify, obeys_hangup_only, stat_of
from scenes import adopted, end, started, stranger

pytestmark = pytest.mark.stress

# At most 15 bytes: the kernel cuts longer names.
EVIL = {
    "closing bracket": b") R 1 1 1 1 1",
    "brackets": b"((()))) Z 0 0",
    "newline": b"a\nb\n(c) S 1",
    "forged line": b"x) S 1\n2 (y) R",
    "blanks": b"   ",
    "nothing": b"",
    "no text": b"\xff\xfe\xc3\x28",
    "line ends": b"\r\x0b\x0c\x1c\x85\n",
    "separator": "a\u2028b\u2029c".encode(),
    "escape": b"\x1b[31m\x07",
    "status field": b"SigIgn:\tfffffff",
    "tmux": b"tmux: server",
    "keeper": b"knell-keeper",
    "dead": b"z) Z 1 1 1",
}
RENAMED = """
import ctypes
ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0)
{rest}
tell(os.getpid())
sleep()
"""
CHILD = """
if not os.fork():
    ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0)
    while True: time.sleep(9)
"""
REST = [b"S", b"1"] + [b"7"] * 50


# -- the line itself -------------------------------------------------------------------------------


@fuzzed(300)
@given(name=st.binary(max_size=15).filter(lambda name: b"\0" not in name))
@example(name=b") R 1 1 1 1 1")
@example(name=b"\n(\n)\n")
def test_a_name_never_passes_for_a_field(name: bytes) -> None:
    """A process cannot forge its state, parent or start time by its name"""
    stat = Process(b"123 (" + name + b") " + b" ".join(REST) + b"\n")
    assert (stat.pid, stat.state, stat.ppid, stat.start) == (123, "S", 1, 7)
    assert os.fsencode(stat.name) == name


@fuzzed(300)
@given(text=st.one_of(st.binary(max_size=60), st.text("0123456789() \nRSZ-", max_size=60)))
@example(text=b"1 (x) S 1 1")
@example(text=b"1 (x)")
@example(text="9" * 5000 + " (x) S")
def test_a_line_is_read_or_refused(text: bytes | str) -> None:
    """What is no line of /proc/PID/stat is refused with ValueError and nothing else"""
    try:
        Process(text if isinstance(text, bytes) else text.encode())
    except ValueError:
        pass


# -- real processes --------------------------------------------------------------------------------


def body(name: bytes) -> str:
    return RENAMED.format(name=name, rest=CHILD.format(name=name))


def test_an_evil_name_hides_and_saves_nobody(house: House, tally: Tally) -> None:
    """Agents and children with evil names are seen as they are, and ended with proof"""
    played = [
        started(house, body(name), name=f"agent-{number}")
        for number, name in enumerate(EVIL.values())
    ]
    below: set[int] = set()
    for one, name in zip(played, EVIL.values(), strict=True):
        stat = stat_of(one.pid)
        assert stat
        assert (stat.pid, stat.ppid, os.fsencode(stat.name)) == (one.pid, one.keeper, name)
        assert identify(one.pid) == one.run.process
        assert not obeys_hangup_only(one.pid)
        family = set(descendants(one.keeper))
        assert len(family) == 2, name
        below |= family
    told = house.knell.invoke("monitor-agent-lifecycle", {})
    assert told["success"], told
    assert all(one["memory_mb"] for one in told["agents"]), told
    house.kill("all", grace=0.3, yes=True)
    assert not any(map(alive, below))
    for one in played:
        assert house.knell.receipt(one.run.agent).proof == "proven"
    tally.broke("process with an evil name", len(below))


def test_an_evil_name_without_a_keeper(house: House, tally: Tally) -> None:
    """Adopted agents with evil names are ended too, with their children"""
    played = [
        adopted(house, body(name), name=f"agent-{number}")
        for number, name in enumerate(EVIL.values())
    ]
    below = {pid for one in played for pid in descendants(one.pid)}
    assert len(below) == len(played)
    house.kill("all", grace=0.3, yes=True)
    eventually(lambda: not any(map(alive, (*below, *(one.pid for one in played)))))
    tally.broke("process with an evil name", 2 * len(played))


def test_a_shell_is_told_by_what_it_ignores_and_not_by_its_name(house: House) -> None:
    """Nobody passes for a pane's shell, which is hung up instead of terminated, by its name"""
    name = b"SigIgn:%x" % (1 << 14)  # TERM
    pid, _ = stranger(house, RENAMED.format(name=name, rest=""), setsid=True)
    stat = stat_of(pid)
    assert stat
    assert (stat.sid, os.fsencode(stat.name)) == (pid, name)
    assert not obeys_hangup_only(pid)
    end(pid)
