"""Which processes belong to a run, seen from outside: the net for what no keeper holds."""

import os
from collections.abc import Collection, Sequence
from typing import NamedTuple

from quell.core.climbing import Target
from quell.core.process import Gone, Member, ProcessId
from quell.processes import cgroup
from quell.processes.identity import Stat, boot_id, inode_at, look, numbers_in_turn
from quell.processes.table import Table, member


class Held(NamedTuple):
    """What whoever ends a run knows beyond a single look."""

    members: Sequence[ProcessId] = ()  # found before, and not dead yet
    led: Collection[int] = ()  # numbers of members that died meanwhile, nobody else's since


def members_of(
    target: Target, table: Table, protected: Sequence[ProcessId] = (), held: Held | None = None
) -> list[Member]:
    """Everything found of the run: its keeper, agent, their trees, its stamp, its sessions.

    Looked for until nothing new appears. Never among them: pid 1, quell and its ancestors, other
    live runs (`protected`) with all below them, and a tmux server that holds others' panes.
    """
    held = held or Held()
    spared = untouchable(table, protected, target)
    via: dict[int, str] = {}
    known: dict[int, ProcessId] = {}
    led = _Led(set(held.led))
    for word, process in seeds(target):
        seen = look(process)
        if not isinstance(seen, Gone):
            if process.pid in table.rows:
                via.setdefault(process.pid, word)
                known[process.pid] = process
        elif seen == Gone("exited"):  # else its number is another's
            kept = _has(table, process) or not _may_be_reused(process, table)
            numbers = led.sure if kept else led.left  # a zombie keeps it
            numbers.add(process.pid)
    for process in held.members:
        if _has(table, process):
            via.setdefault(process.pid, "ledger")
    if not target.alone:
        for pid in table.stamps.get(target.run, ()):
            via.setdefault(pid, "stamp")
        for pid in sorted(cgroup.pids(target.cgroup)):
            via.setdefault(pid, "cgroup")
    via = {pid: word for pid, word in via.items() if pid not in spared}
    _grow(via, led, target, table, spared)
    return [
        member(table.rows[pid], word, known.get(pid))
        for pid, word in via.items()
        if pid in table.rows and not _is_zombie(table.rows[pid])
    ]


def _is_zombie(row: Stat) -> bool:
    """Dead, and not only its main thread."""
    return row.state in "ZX" and isinstance(look(ProcessId(row.pid, row.start, boot_id())), Gone)


def seeds(target: Target) -> list[tuple[str, ProcessId]]:
    known = [("ledger", process) for process in target.known]
    if target.process:
        known.insert(0, ("agent", target.process))
    if target.keeper:
        known.insert(0, ("keeper", target.keeper))
    return known


class _Led:
    """Numbers of sessions and groups that are the run's.

    A number that is in use as a session or group is never given to a new process, so one that a
    living member has was made by that member. One that only a dead process had is the run's if
    a member is in it; else it may have been a stranger's since, who left it as well.
    """

    def __init__(self, sure: set[int]) -> None:
        self.sure = sure
        self.left: set[int] = set()  # by the dead

    def join(self, row: Stat) -> None:
        self.sure |= {row.pid} | ({row.sid, row.pgid} & self.left)


def _may_be_reused(process: ProcessId, table: Table) -> bool:
    """Whether a dead process's number may have been another's since. Numbers are given in turn, and
    each process gets the next inode: half a round is too little for that, also if some fail."""
    newest = max(table.rows.values(), key=lambda row: row.start, default=None)
    now = max(inode_at(pid) for pid in (os.getpid(), newest.pid if newest else 0))
    if not process.inode or not now:
        return True
    return now - process.inode >= (numbers_in_turn() - len(table.rows)) // 2


def _has(table: Table, process: ProcessId) -> bool:
    return table.start(process.pid) == process.start and process.boot == boot_id()


def _grow(via: dict[int, str], led: _Led, target: Target, table: Table, spared: set[int]) -> None:
    """Adds children, and the sessions and groups that a member leads or led, to a fixed point.

    But a keeper's group was made by the shell: in a pipeline it holds the agent's neighbours.
    """
    keeper = target.keeper.pid if target.keeper else 0
    for pid in via:
        if pid in table.rows:
            led.join(table.rows[pid])
    grown = True
    while grown:
        grown = False
        for row in table.rows.values():
            if row.pid in via or row.pid in spared:
                continue
            if row.ppid in via:
                word = "tree"
            elif target.alone:
                continue
            elif row.sid in led.sure:
                word = "session"
            elif row.pgid in led.sure and row.pgid != keeper:
                word = "group"
            else:
                continue
            via[row.pid] = word
            led.join(row)
            grown = True


def untouchable(table: Table, protected: Sequence[ProcessId], target: Target) -> set[int]:
    """Pids that no ending of this run may signal."""
    mine = {process.pid for _, process in seeds(target) if _has(table, process)}
    stamped = () if target.alone else table.stamps.get(target.run, ())
    named = mine.union(stamped)
    claimed = named | _held(target, table)
    spared = {0, 1, 2, os.getpid(), *table.ancestors(os.getpid())}
    for process in protected:
        row = table.rows.get(process.pid)
        if row and row.start == process.start and process.pid not in mine:
            spared |= {process.pid} | _below(process.pid, table, claimed)
    for row in table.rows.values():
        if row.name.startswith("tmux: server"):
            panes = _panes_of_others(row.pid, table, named, spared)
            for pane in panes:
                spared |= {row.pid, pane} | _below(pane, table, named)
    return spared


def _held(target: Target, table: Table) -> set[int]:
    """Whoever is in the run's cgroup, also when another run's keeper has inherited it."""
    if target.alone:
        return set()
    others = {pid for run, pids in table.stamps.items() if run != target.run for pid in pids}
    return set(cgroup.pids(target.cgroup)) - others


def _panes_of_others(server: int, table: Table, named: set[int], spared: set[int]) -> set[int]:
    """A server brands each pane with its own stamp; in one without, a pane must bear the run's."""
    panes = set(table.children.get(server, ()))
    return panes & spared if server in named else panes - (named - spared)


def _below(root: int, table: Table, claimed: set[int]) -> set[int]:
    """Every descendant of another's process, without what is claimed and all below that."""
    found: set[int] = set()
    todo = [root]
    while todo:
        fresh = set(table.children.get(todo.pop(), ())) - claimed - found
        found |= fresh
        todo += fresh
    return found
