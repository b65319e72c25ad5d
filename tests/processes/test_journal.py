"""The journal of a keeper, read whatever state its file is in."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from house import House, eventually
from keepers import SEAL, SEALED, kept
from knell.core.ports.keepers import Journal
from knell.core.process import ProcessId
from knell.processes.journal import read_journal

WHOLE = (
    b"keeper\t10\t100\tboot\t1\n"
    b"born\t11\t101\tboot\t2\t/leaf\n"
    b"cause\tasked\n"
    b"found\t11\t101\t0\tS\tagent\tsleep 99\n"
    b"kept\t12\t102\t7\tS\tkept: *dev*\tnpm dev\n"
    b"kept\t13\t103\t0\tS\tthe keeper of another run\tpython keeper.py\n"
    b"rung\tterm\t0\n"
    b"stuck\t14\t104\t0\tD\tstill there after SIGKILL\tcat\n"
    b"exit\tsignal\t15\t2048\t0.125\n"
    b"reaped\t11\tsignal\t15\n"
    b"ended\techild\t1700000000.000\t" + SEAL.encode() + b"\n"
)
WORDS = [line.split(b"\t")[0] for line in WHOLE.splitlines()]


def read(text: bytes) -> Journal:
    with tempfile.TemporaryDirectory() as rundir:
        (Path(rundir) / "journal").write_bytes(text)
        return read_journal(rundir, SEALED)


def test_a_whole_journal_is_read_fact_by_fact() -> None:
    journal = read(WHOLE)
    assert journal.keeper == ProcessId(10, 100, "boot", 1)
    assert (journal.process, journal.cgroup) == (ProcessId(11, 101, "boot", 2), "/leaf")
    assert (journal.cause, journal.exit_signal, journal.exit_code) == ("asked", 15, None)
    assert (journal.max_rss_kb, journal.cpu_seconds) == (2048, 0.125)
    assert [(p.pid, p.ended_by) for p in journal.processes] == [(11, "term")]
    assert [k.pid for k in journal.kept] == [12, 13]
    assert journal.kept_ids == (ProcessId(12, 102, "boot", 7),)  # who has a run is no orphan
    assert (journal.ended, journal.proven, journal.survivors) == (True, True, ())
    assert journal.at == "2023-11-14T22:13:20.000+00:00"


def test_without_a_journal_nothing_is_known() -> None:
    assert read_journal("/no/such/directory") == read(b"") == Journal()


@given(st.integers(0, len(WHOLE) - 1))
def test_a_journal_that_was_torn_anywhere_claims_no_end(at: int) -> None:
    """A keeper that died in the middle of a line has not said it."""
    journal = read(WHOLE[:at])
    assert not journal.ended
    assert not journal.proven
    whole = WHOLE[:at].count(b"\n")
    assert journal == read(b"".join(WHOLE.splitlines(keepends=True)[:whole]))


@st.composite
def hostile_lines(draw: st.DrawFn) -> bytes:
    """A known word with wrong fields, or anything at all, on one line."""
    fields = draw(st.lists(st.binary(max_size=12), max_size=8))
    word = draw(st.one_of(st.sampled_from(WORDS), st.binary(max_size=12)))
    return b"\t".join([word, *fields]).replace(b"\n", b" ") + b"\n"


@given(st.lists(hostile_lines(), max_size=12))
def test_whatever_is_in_it_reading_does_not_fail(lines: list[bytes]) -> None:
    read(b"".join(lines))


def foreign(line: bytes) -> bool:
    return line.split(b"\t")[0].strip() not in WORDS


@given(st.lists(hostile_lines().filter(foreign), min_size=1, max_size=4), st.data())
def test_lines_that_are_not_a_keepers_change_nothing(
    lines: list[bytes], data: st.DataObject
) -> None:
    whole = WHOLE.splitlines(keepends=True)
    for line in lines:
        whole.insert(data.draw(st.integers(0, len(whole))), line)
    assert read(b"".join(whole)) == read(WHOLE)


HOSTILE = [
    b"ended\techild\tinf",
    b"ended\techild\t1e300",
    b"ended\techild\t170000001700000000.0",
    b"ended\techild\tnan",
    b"ended\techild",
    b"ended\techild\t1\t2",
    b"ended\techild\t1\t" + SEALED.encode(),
    b"ended\techild\t1\t" + SEAL.encode() + b"\t3",
    b"exit\tsignal\t9\tmuch\t0.1",
    b"exit\tsignal\t9\t1\tlong",
    b"kept\t12\tnever\t0\tS\tkept: x\tcommand",
    b"born\t11\t101\tboot",
    b"keeper\t" + b"9" * 5000 + b"\t1\tboot\t1",
    b"init\t1",
    b"_init__",
    b"",
]


@pytest.mark.parametrize("line", HOSTILE)
def test_a_line_is_believed_as_a_whole_or_not_at_all(line: bytes) -> None:
    assert read(line + b"\n") == Journal()


def test_what_was_spared_and_went_by_itself_is_neither_kept_nor_ended() -> None:
    journal = read(WHOLE.replace(b"ended\t", b"reaped\t13\texit\t0\nended\t"))
    assert [k.pid for k in journal.kept] == [12]
    assert [p.pid for p in journal.processes] == [11]


EVIL = {
    "lines": "tab\tand\nnewline",
    "bytes": "\udc80 not utf-8",
    "colours": "\x1b[31mred\x07",
    "forged": "x\nended\techild\t1700000000.000",
}


@pytest.mark.parametrize("name", EVIL)
def test_no_program_writes_into_its_keepers_journal(house: House, name: str) -> None:
    """Its command line is the one thing in there that it chooses."""
    argv = ["python", "-S", "-c", "import time; time.sleep(99)", EVIL[name]]
    child = f"say('child', os.getpid())\n    os.execv(sys.executable, {argv!r})"
    run = kept(house, f"if not os.fork():\n    {child}\nwait()")
    run.log.await_pid()
    pid = int(run.log.await_line("child").split()[1])
    eventually(lambda: os.fsencode(EVIL[name]) in Path(f"/proc/{pid}/cmdline").read_bytes())
    lines = Path(run.rundir, "journal").read_bytes().count(b"\n")
    assert lines == 2
    run.ask(0.2)
    journal = run.wait()
    (told,) = [p for p in journal.processes if p.pid == pid]
    assert told.command.isprintable()
    assert "\t" not in told.command
    raw = Path(run.rundir, "journal").read_bytes()
    assert raw.count(b"\nended\t") == 1
