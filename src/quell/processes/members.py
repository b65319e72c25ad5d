"""Which processes belong to a run, seen from outside: the net for what no keeper holds."""

import os
from collections.abc import Sequence

from quell.core.climbing import Target
from quell.core.process import Gone, Member, ProcessId
from quell.processes.identity import look
from quell.processes.table import Table, member


def members_of(target: Target, table: Table, protected: Sequence[ProcessId] = ()) -> list[Member]:
    """Everything found of the run: its keeper, agent, their trees, its stamp, its sessions.

    Looked for until nothing new appears. Never among them: pid 1, quell and its ancestors, other
    live runs (`protected`) with all below them, and a tmux server that holds others' panes.
    """
    spared = untouchable(table, protected, target)
    via: dict[int, str] = {}
    known: dict[int, ProcessId] = {}
    led: set[int] = set()
    for word, process in seeds(target):
        seen = look(process)
        if not isinstance(seen, Gone) and process.pid in table.rows:
            via.setdefault(process.pid, word)
            known[process.pid] = process
        if not isinstance(seen, Gone) or seen == Gone("exited"):  # else its number is another's
            led.add(process.pid)
    if not target.alone:
        for pid in table.stamps.get(target.run, ()):
            via.setdefault(pid, "stamp")
        for pid in _in_cgroup(target.cgroup):
            via.setdefault(pid, "cgroup")
    via = {pid: word for pid, word in via.items() if pid not in spared}
    _grow(via, led | set(via), target, table, spared)
    return [
        member(table.rows[pid], word, known.get(pid))
        for pid, word in via.items()
        if pid in table.rows
    ]


def seeds(target: Target) -> list[tuple[str, ProcessId]]:
    known = [("ledger", process) for process in target.known]
    if target.process:
        known.insert(0, ("agent", target.process))
    if target.keeper:
        known.insert(0, ("keeper", target.keeper))
    return known


def _grow(
    via: dict[int, str], led: set[int], target: Target, table: Table, spared: set[int]
) -> None:
    """Adds children, and sessions and groups that a member leads or led, to a fixed point.

    A pid that is in use as a session or group id is never given to a new process, so a group
    whose number is a member's pid was made by that member, even if the member has left. But a
    keeper's group was made by the shell: in a pipeline it holds the agent's neighbours.
    """
    keeper = target.keeper.pid if target.keeper else 0
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
            elif row.sid in led:
                word = "session"
            elif row.pgid in led and row.pgid != keeper:
                word = "group"
            else:
                continue
            via[row.pid] = word
            led.add(row.pid)
            grown = True


def _in_cgroup(path: str) -> list[int]:
    if not path:
        return []
    try:
        with open(path + "/cgroup.procs", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def untouchable(table: Table, protected: Sequence[ProcessId], target: Target) -> set[int]:
    """Pids that no ending of this run may signal."""
    mine = {process.pid for _, process in seeds(target)}
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
    return set(_in_cgroup(target.cgroup)) - others


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
