"""Every process of the machine in one scan, shared by all who need one."""

import os

from quell.core.process import Member, ProcessId
from quell.processes.identity import Stat, boot_id, command_of, read_stat, stamp_of


def member(row: Stat, via: str, known: ProcessId | None = None) -> Member:
    """One line of the table as somebody's process; `known` carries more than a scan can tell."""
    process = known or ProcessId(row.pid, row.start, boot_id())
    return Member(process, command_of(row.pid, row.name), via, row.ppid, row.state)


class Table:
    """A snapshot. It can show that something lives, never that nothing does."""

    def __init__(self) -> None:
        self.rows: dict[int, Stat] = {}
        self.children: dict[int, list[int]] = {}
        self._stamps: dict[str, list[int]] | None = None
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = read_stat(int(entry))
                except (OSError, ValueError):
                    continue
                if stat:
                    self.rows[stat.pid] = stat
                    self.children.setdefault(stat.ppid, []).append(stat.pid)

    @property
    def stamps(self) -> dict[str, list[int]]:
        """Pids by the run id that they inherited; read only when somebody asks."""
        if self._stamps is None:
            self._stamps = {}
            for pid in self.rows:
                run = stamp_of(pid)
                if run:
                    self._stamps.setdefault(run, []).append(pid)
        return self._stamps

    def start(self, pid: int) -> int | None:
        """When whoever has this number began; None if nobody has."""
        return self.rows[pid].start if pid in self.rows else None

    def descendants(self, pid: int) -> set[int]:
        found: set[int] = set()
        todo = [pid]
        while todo:
            for child in self.children.get(todo.pop(), ()):
                if child not in found:
                    found.add(child)
                    todo.append(child)
        return found

    def ancestors(self, pid: int) -> list[int]:
        """Parent, grandparent, … up to init."""
        chain: list[int] = []
        while (row := self.rows.get(pid)) and row.ppid and row.ppid not in chain:
            chain.append(row.ppid)
            pid = row.ppid
        return chain
