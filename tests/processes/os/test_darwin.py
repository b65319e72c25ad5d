"""macOS's module on Linux: what bytes mean, and what is decided over recorded tables.

No Mac was there: the layouts are those of the kernel's headers (xnu-11417), and the tables are
written by hand as its source says that they would be.
"""

import errno
import os
import signal
from collections.abc import Collection
from typing import NamedTuple

import pytest

from knell.core.process import Alive, Gone, ProcessId
from knell.processes.os import darwin, portable_proc
from knell.processes.os.darwin import NUMBERS, RECORD, TASK, TOKEN, DarwinProcess

# One answer of proc_pidinfo(BSDINFO_WITH_UNIQUE), field by field, as a little-endian Mac gives it.
SHELL = bytes.fromhex(
    "40400000 02000000 00000000 d1070000 c5070000 f5010000 14000000 f5010000 14000000"
    "f5010000 14000000 00000000"
    "7a736800000000000000000000000000"
    "7a73682d6c6f6e670000000000000000 00000000000000000000000000000000"
    "0a000000 d1070000 01000000 03000010 d1070000 00000000"
    "80dd1b6900000000 40e2010000000000"
    "000102030405060708090a0b0c0d0e0f"
    "3930000000000000 1f30000000000000 07000000 00000000 0000000000000000 0000000000000000"
)


class Row(NamedTuple):
    """One process of a recorded table."""

    pid: int
    ppid: int
    unique: int
    parent: int
    version: int = 1
    status: int = 2
    session: int = 0
    name: bytes = b"node"
    others: bool = False  # another user's: only its numbers are told

    def record(self) -> bytes:
        ids = (0, self.status, 0, self.pid, self.ppid, *(0,) * 7)
        group = (0, self.pid, 0, 0xFFFFFFFF, 0, 0)
        start = (1_700_000_000, self.pid * 10_000)
        return RECORD.pack(*ids, self.name, b"", *group, *start, *NUMBERS.unpack(self.numbers()))

    def numbers(self) -> bytes:
        return NUMBERS.pack(b"u" * 16, self.unique, self.parent, self.version, 0, 0, 0)


class Table:
    """What the kernel would answer, and which signals it got: (pid, version, number)."""

    nanoseconds = 125 / 3  # as on Apple's own processors

    def __init__(self, *rows: Row) -> None:
        self.rows = {row.pid: row for row in rows}
        self.signals: list[tuple[int, int, int]] = []
        self.before_signal: list[Row] = []  # what becomes true between the look and the signal
        self.has_tokens = True
        self.has_numbers = True  # whether the flavour of everybody's numbers is known
        self.told_events: list[darwin.Event] | None = []

    def pids(self) -> list[int]:
        return list(self.rows)

    def told(self, pid: int, flavour: int, size: int) -> bytes:
        row = self.rows.get(pid)
        if row and flavour == darwin.UNIQUE and self.has_numbers:
            return row.numbers()
        own = row and not row.others and flavour == darwin.BSDINFO_WITH_UNIQUE
        return row.record() if row and own else b""

    def events(self, pids: Collection[int], seconds: float, news: int) -> list[darwin.Event] | None:
        return self.told_events

    def session(self, pid: int) -> int:
        return self.rows[pid].session

    def signal(self, pid: int, version: int, number: int) -> int:
        if not self.has_tokens:
            return darwin.NO_SUCH_CALL
        if self.before_signal:
            row = self.before_signal.pop(0)
            self.rows[row.pid] = row
        if pid not in self.rows or self.rows[pid].version != version:
            return errno.ESRCH
        self.signals.append((pid, version, number))
        return 0


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    recorded = Table()
    monkeypatch.setattr(darwin, "kernel", recorded)
    return recorded


def test_the_layouts_are_as_long_as_the_kernels() -> None:
    assert (RECORD.size, NUMBERS.size, TASK.size, TOKEN.size) == (136 + 56, 56, 96, 32)
    assert len(SHELL) == RECORD.size


def test_each_field_of_a_record_is_where_the_header_has_it(table: Table) -> None:
    task = TASK.pack(0, 8 * portable_proc.PAGE, 24_000_000, 0, 0, 0, *(0,) * 12)
    one = DarwinProcess(SHELL, task, 2001)
    assert (one.pid, one.ppid, one.owner, one.pgid, one.sid) == (2001, 1989, 501, 2001, 2001)
    assert (one.name, one.state, one.tty, one.front) == ("zsh-long", "R", 0x10000003, 2001)
    assert one.start == 0x691BDD80 * 100 + 123456 // 10_000
    assert (one.unique, one.parent_unique, one.version) == (12345, 12319, 7)
    assert (one.ticks, one.pages) == (100, 8)  # 24 million units of 41.67 ns are a second


def test_a_record_that_is_cut_short_is_no_process(table: Table) -> None:
    with pytest.raises(Exception, match="requires a buffer of 192 bytes"):
        DarwinProcess(SHELL[:-1], b"", 0)


def test_the_token_names_pid_and_version() -> None:
    sent: list[bytes] = []
    kernel = darwin.Kernel.__new__(darwin.Kernel)
    kernel.signal_token = lambda token, _number: sent.append(token) or 0
    assert kernel.signal(2001, -2, signal.SIGTERM) == 0
    assert TOKEN.unpack(sent[0]) == (0, 0, 0, 0, 0, 2001, 0, 0xFFFFFFFE)


def test_calls_that_are_missing_are_seen_to_be_missing() -> None:
    """This machine has none of them; the module is used all the same, by psutil."""
    kernel = darwin.Kernel()
    assert kernel.told(1, darwin.BSDINFO_WITH_UNIQUE, RECORD.size) == b""
    assert kernel.signal(1, 1, 0) == darwin.NO_SUCH_CALL
    assert (kernel.text(b"kern.bootsessionuuid"), kernel.host(), kernel.timebase()) == ("", "", 1.0)
    assert isinstance(darwin.stat_of(1), portable_proc.SeenProcess)


def test_a_reused_pid_is_not_signalled(table: Table) -> None:
    table.rows[700] = Row(700, 1, unique=91, parent=1)
    assert darwin.kill(700, signal.SIGKILL, unique=90) == ""
    assert table.signals == []


def test_one_that_changes_hands_between_look_and_signal_is_not_hit(table: Table) -> None:
    table.rows[700] = Row(700, 1, unique=90, parent=1)
    table.before_signal = [Row(700, 1, unique=91, parent=1, version=2)]
    assert darwin.kill(700, signal.SIGKILL, unique=90) == ""
    assert table.signals == []


def test_an_exec_between_look_and_signal_does_not_save_it(table: Table) -> None:
    """Its version changes, its unique number stays: it is looked at again, and hit."""
    table.rows[700] = Row(700, 1, unique=90, parent=1)
    table.before_signal = [Row(700, 1, unique=90, parent=1, version=2)]
    assert darwin.kill(700, signal.SIGKILL, unique=90) == ""
    assert table.signals == [(700, 2, signal.SIGKILL)]


def test_one_that_execs_each_time_is_reported(table: Table) -> None:
    table.rows[700] = Row(700, 1, unique=90, parent=1)
    table.before_signal = [
        Row(700, 1, unique=90, parent=1, version=2 + turn) for turn in range(darwin.TRIES)
    ]
    assert "new program" in darwin.kill(700, signal.SIGKILL, unique=90)


def test_TERM_is_followed_by_CONT(table: Table) -> None:
    table.rows[700] = Row(700, 1, unique=90, parent=1)
    darwin.kill(700, signal.SIGTERM, unique=90)
    assert [number for *_, number in table.signals] == [signal.SIGTERM, signal.SIGCONT]


def test_a_zombie_is_dead_and_is_not_signalled(table: Table) -> None:
    table.rows[700] = Row(700, 1, unique=90, parent=1, status=5)
    assert darwin.live_process(700) is None
    darwin.kill(700, signal.SIGKILL, unique=90)
    assert table.signals == []


def test_who_began_before_the_keeper_is_left_out_by_unique_numbers(table: Table) -> None:
    """Not by the clock, which may have been put back."""
    table.rows = {pid: Row(pid, 1, unique=unique, parent=1) for pid, unique in ((5, 50), (9, 40))}
    assert [one.pid for one in darwin.everybody(since=45)] == [5]


def test_the_same_process_is_known_again_by_its_unique_number(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from knell.processes.os import portable

    monkeypatch.setattr(portable, "stat_of", darwin.stat_of)
    monkeypatch.setattr(portable, "base", darwin)
    table.rows[700] = Row(700, 1, unique=90, parent=1)
    found = portable.identify(700)
    assert isinstance(found, ProcessId)
    assert found.inode == 90
    assert isinstance(portable.look(found), Alive)
    table.rows[700] = Row(700, 1, unique=91, parent=1)  # within the same tick
    assert portable.look(found) == Gone("reused")


# -- other users, older systems --------------------------------------------------------------------


def test_of_another_users_process_the_kernel_tells_the_numbers_and_psutil_the_rest(
    table: Table,
) -> None:
    """The flavour that tells everything is refused for it: it must not look as if it were gone, or
    older than the keeper, or without parents."""
    mine = os.getpid()
    table.rows[mine] = Row(mine, 1, unique=90, parent=80, version=3, others=True)
    seen = darwin.stat_of(mine)
    assert seen
    assert (seen.unique, seen.parent_unique, seen.ppid) == (90, 80, os.getppid())
    assert [one.pid for one in darwin.everybody(since=85)] == [mine]
    assert [one.pid for one in darwin.everybody(since=95)] == []
    assert darwin.kill(mine, signal.SIGURG, unique=91) == ""
    assert table.signals == []  # its number is another's by now
    assert darwin.kill(mine, signal.SIGURG, unique=90) == ""
    assert table.signals == [(mine, 3, signal.SIGURG)]


def test_one_whose_number_is_not_told_is_not_left_out(table: Table) -> None:
    """That nobody can say how old it is does not make it older than the keeper."""
    table.has_numbers = False
    mine = os.getpid()
    table.rows[mine] = Row(mine, 1, unique=90, parent=80, others=True)
    assert [(one.pid, one.unique) for one in darwin.everybody(since=85)] == [(mine, 0)]


def test_both_ways_of_looking_give_the_same_start() -> None:
    """psutil has seconds as a float and rounds: an identity is compared by this number."""
    for micros in (0, 4_999, 5_000, 127_000, 994_999, 995_001, 999_999):
        fields = list(RECORD.unpack(SHELL))
        fields[21] = micros
        seen_by_psutil = round((fields[20] + micros / 1_000_000.0) * portable_proc.TICKS)
        assert DarwinProcess(RECORD.pack(*fields), b"", 0).start == seen_by_psutil


def test_a_question_whether_one_may_signal_is_not_asked_by_token(table: Table) -> None:
    """The kernel takes no 0 there: kill() answers that."""
    mine = os.getpid()
    table.rows[mine] = Row(mine, 1, unique=90, parent=1)
    assert darwin.kill(mine, 0, unique=90) == ""
    assert table.signals == []


def test_without_tokens_the_signal_goes_by_pid_after_a_look(table: Table) -> None:
    """Before macOS 14.4."""
    got: list[int] = []
    table.has_tokens = False
    mine = os.getpid()
    table.rows[mine] = Row(mine, 1, unique=90, parent=1)
    before = signal.signal(signal.SIGURG, lambda number, _: got.append(number))
    try:
        assert darwin.kill(mine, signal.SIGURG, unique=91) == ""
        assert got == []
        assert darwin.kill(mine, signal.SIGURG, unique=90) == ""
    finally:
        signal.signal(signal.SIGURG, before)
    assert got == [signal.SIGURG]


# -- events ----------------------------------------------------------------------------------------


def test_an_exit_or_news_end_a_nap(table: Table) -> None:
    table.told_events = [(700, False, 0)]
    assert darwin.nap([700], 60.0, -1) is False
    table.told_events = [(700, False, errno.ESRCH)]  # it had ended before it could be watched
    assert darwin.nap([700], 60.0, -1) is False
    table.told_events = [(5, True, 0)]
    assert darwin.nap([700], 60.0, 5) is True


@pytest.mark.parametrize("told", [None, [(700, False, errno.EACCES)]])
def test_what_cannot_be_watched_is_looked_at_again_after_a_while(
    table: Table, monkeypatch: pytest.MonkeyPatch, told: list[darwin.Event] | None
) -> None:
    """Else each nap would be over at once, and the wait for an exit a loop without a rest."""
    slept: list[float] = []
    table.told_events = told
    monkeypatch.setattr(portable_proc, "nap", lambda _, seconds, __: slept.append(seconds) or False)
    assert darwin.nap([700], 60.0, -1) is False
    assert slept == [darwin.LOOK_AGAIN]
