"""One table of the machine for each look of a ledger: only what is new or changed is looked at.

Looking at a process costs a hundred times as much as asking for its group and session. So the row
of a process is kept as long as its pid is listed with the same group and session. Such a row may be
out of date: the parent may have died since, or the pid may be another's. So no process is counted
as the run's by a kept row (`look_again` comes first), and a `whole` look, the last before an end,
uses none.
"""

import os

import panes
from machine import proc
from proc import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container


class Sightings:
    def __init__(self, since: int) -> None:
        self.since = since  # who began earlier is none of ours
        self.rows: dict[int, Process] = {}  # who lives, and is not older
        self.servers: set[int] = set()  # of tmux, also older ones
        self.fresh: set[int] = set()  # those that this look has looked at
        self.marks: dict[int, tuple[int, int]] = {}  # group and session of all, also of older ones
        self.below: dict[int, list[int]] = {}  # children, as the rows have their parents

    def look(self, ours: "Container[int]", *, whole: bool) -> None:
        """The newest first: one that hops from pid to pid must be looked at as soon as it is
        listed. `ours` are looked at each time."""
        before, rows = ({}, {}) if whole else (self.marks, self.rows)
        self.rows, self.marks, self.fresh = {}, {}, set()
        for pid in sorted(proc.pids(), reverse=True):
            marks = marks_of(pid)  # before the look: if they change meanwhile, the next one looks
            if marks != before.get(pid) or pid in ours:
                self.look_again(pid)
            elif pid in rows:
                self.rows[pid] = rows[pid]
            self.marks[pid] = marks
        self.servers &= self.marks.keys()
        self.below = {}
        for pid, process in self.rows.items():
            self.below.setdefault(process.ppid, []).append(pid)

    def look_again(self, pid: int) -> Process | None:
        """Looks at one process now."""
        process = proc.live_process(pid)
        self.fresh.add(pid)
        self.servers.discard(pid)
        if process and panes.is_tmux_server(process):
            self.servers.add(pid)
        if process is None or 0 < proc.since(process) < self.since:  # 0: not known
            self.rows.pop(pid, None)
            return None
        self.rows[pid] = process
        return process

    def children(self, pid: int) -> list[int]:
        """Its children now: one that was seen there by an earlier look is looked at again."""
        old = [one for one in self.below.get(pid, ()) if one not in self.fresh]
        gone = {one for one in old if (row := self.look_again(one)) is None or row.ppid != pid}
        return [one for one in self.below.get(pid, ()) if one not in gone]


def marks_of(pid: int) -> tuple[int, int]:
    """Its group and session; zeros for what the system does not tell, or has gone."""
    return number(os.getpgid, pid), number(os.getsid, pid)


def number(ask: "Callable[[int], int]", pid: int) -> int:
    try:
        return ask(pid)
    except OSError:
        return 0
