"""What a keeper makes of the kernel's own words about a death, from recorded text."""

import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from house import House
from knell.core.ports.keepers import Journal
from knell.processes.journal import read_journal
from knell.processes.keepers import KEEPER

KEEPERS_FOLDERS = (str(Path(KEEPER).parent), str(Path(KEEPER).parent.parent / "os"))


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The keeper's module: it lies in no package."""
    for folder in KEEPERS_FOLDERS:
        monkeypatch.syspath_prepend(folder)
    return importlib.import_module("death_evidence")


PLACE = "nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/knell-1"
RECORDS = {
    b"3,420,1,-;Memory cgroup out of memory: Killed process 77 (node) total-vm:8kB, UID:0\n": "oom",
    b"3,420,1,-;Out of memory: Killed process 77 (node) total-vm:8kB\n SUBSYSTEM=x\n": "oom",
    b"3,420,1,-;Out of memory (oom_kill_allocating_task): Killed process 77 (a b) t\n": "oom",
    b"3,420,1,-;Killed process 77 (node), UID 1000, total-vm:8kB, anon-rss:1kB\n": "oom",
    f"6,419,1,-;oom-kill:constraint=MEMCG,{PLACE},task=node,pid=77,uid=0\n".encode(): "oom",
    b"3,420,1,-;Memory cgroup out of memory: Killed process 770 (node) total-vm:8kB\n": "",
    b"3,420,1,-;Out of memory: Killed process 7 (Killed process 77 ) total-vm:8kB\n": "",
    f"6,1,1,-;oom-kill:constraint=X,{PLACE},task=x,pid=77,uid=0,pid=7,uid=0\n".encode(): "",
    b"11,9,1,-;Out of memory: Killed process 77 (node)\n": "",  # a program wrote that
    b"4,1,1,-;node invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n": "",
    b"6,1,1,-;[     77]     0    77    20517    19738    18065  node\n": "",
    b"6,1,1,-;node[77]: segfault at 0 ip 00005581 sp 00007ffd error 4 in node[5581]\n": "fault",
    b"6,1,1,-;traps: node[77] general protection fault ip:7f sp:7f error:0\n": "fault",
    b"6,1,1,-;node[77]: trap invalid opcode ip:7f sp:7f error:0\n": "fault",
    b"6,1,1,-;node[78]: segfault at 0 ip 00005581\n": "",
    b"6,1,1,-;node[77]: was here\n": "",
    b"": "",
    b"no record at all": "",
}


@pytest.mark.parametrize("record", RECORDS)
def test_only_the_kernels_own_word_about_this_pid_counts(evidence: Any, record: bytes) -> None:
    assert evidence.record_about(record, 77) == RECORDS[record]


def test_a_record_is_told_in_short(evidence: Any) -> None:
    told = [evidence.short_text(record) for record, word in RECORDS.items() if word == "oom"]
    assert told[0] == "Memory cgroup out of memory: Killed process 77 (node)"
    assert told[-1] == "oom-kill:constraint=MEMCG,pid=77,uid=0"


EVENTS = "low 0\nhigh 0\nmax 12\noom 1\noom_kill {}\noom_group_kill 0\n"


@pytest.mark.parametrize(
    ("text", "kills"),
    [(EVENTS.format(0), 0), (EVENTS.format(2), 2), ("oom_kill 1\n", 1), ("max 12\n", None),
     (None, None), ("", None), ("oom_kill many\n", None)],
)  # fmt: skip
def test_the_counter_of_a_leaf(
    evidence: Any, tmp_path: Path, text: str | None, kills: int | None
) -> None:
    """A kernel's own text: where this runs the memory controller may not count in our leaves."""
    if text is not None:
        (tmp_path / "memory.events").write_text(text)
    assert evidence.kills_in(str(tmp_path)) == kills
    assert evidence.kills_in("") is None


@pytest.mark.parametrize(
    ("kills", "status", "words"),
    [
        (1, signal.SIGKILL, {"oom_run", "looked", "no_oom"}),
        (0, signal.SIGKILL, {"looked", "no_oom"}),
        (1, 0, {"oom_run"}),  # it lived on without its child
        (0, 0, set[str]()),
        (0, 3 << 8, set[str]()),
        (0, 137 << 8, {"looked", "no_oom"}),
    ],
)
def test_what_is_written_down_about_a_leaf(
    evidence: Any, tmp_path: Path, kills: int, status: int, words: set[str]
) -> None:
    (tmp_path / "memory.events").write_text(EVENTS.format(kills))
    look_back = evidence.DeathEvidence()
    look_back.write(
        importlib.import_module("journal").JournalWriter(str(tmp_path)), str(tmp_path), 1, status
    )
    seen = {sight.word for sight in read_journal(str(tmp_path)).evidence}
    others = {"blind", "oom_host"}  # no privilege to look; another test ran out of memory just now
    assert seen - others <= words
    assert len(seen) == len(words)


def test_what_cannot_be_looked_at_is_said(evidence: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "FIRST_PID_NAMESPACE", 1)
    inside = evidence.DeathEvidence()
    assert inside.of_log(77) == [
        ("blind", "kernel log: could not look: it counts processes in another namespace")
    ]
    monkeypatch.setattr(evidence, "read", lambda _: b"")
    assert inside.of_host()[0] == "blind"


# -- asking tmux -----------------------------------------------------------------------------------


@pytest.fixture
def screen(house: House, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The house fails the test if a command that was asked is left alive."""
    for folder in KEEPERS_FOLDERS:
        monkeypatch.syspath_prepend(folder)
    return importlib.import_module("screen")


def speaking(after: float) -> list[str]:
    return [sys.executable, "-S", "-c", f"import time; time.sleep({after}); print('late')"]


def wake_with(number: int) -> int:
    wake, woken = os.pipe()
    os.write(woken, bytes([number]))
    os.close(woken)
    return wake


@pytest.mark.parametrize(("number", "text"), [(signal.SIGTERM, b""), (signal.SIGCHLD, b"late\n")])
def test_nobody_who_asks_for_the_end_waits_for_a_screen(
    screen: Any, monkeypatch: pytest.MonkeyPatch, number: int, text: bytes
) -> None:
    monkeypatch.setattr(screen, "SECONDS", 60.0)
    assert screen.output_of(speaking(after=1), wake_with(number)) == text


def test_who_does_not_answer_in_time_is_ended(screen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "SECONDS", 0.2)
    assert screen.output_of(speaking(after=99), wake_with(signal.SIGCHLD)) == b""


def test_who_fails_or_is_not_there_says_nothing(screen: Any) -> None:
    wake = wake_with(signal.SIGCHLD)
    assert screen.output_of(["sh", "-c", "echo half; exit 1"], wake) == b""
    assert screen.output_of(["no-such-program"], wake) == b""


def test_a_screen_is_capped_at_a_whole_line(screen: Any, tmp_path: Path) -> None:
    screen.write(str(tmp_path), b"first secret\n" + b"x" * screen.KEPT + b"\nlast\n")
    assert (tmp_path / "screen").read_bytes() == b"last\n"


# -- what is read back -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["left\t11\tx", "usage\tmuch\t1", "usage\t1\tlong", "usage\t1", "saw\toom", "saw"]
)
def test_a_line_of_the_evidence_is_believed_as_a_whole_or_not_at_all(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / "journal").write_text(line + "\n")
    assert read_journal(str(tmp_path)) == Journal()
