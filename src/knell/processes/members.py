"""Finds the processes that belong to a run from outside, by what the machine shows of them."""

import os
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from knell.core.environment import window_mark
from knell.core.ports.processes import Target
from knell.core.process import FoundProcess, Gone, ProcessId
from knell.core.receipt import Survivor
from knell.processes.os import cgroup, panes, system
from knell.processes.table import Table, environments, identity_of, member


def members(target: Target, protected: Sequence[ProcessId] = ()) -> list[FoundProcess]:
    return members_of(target, Table(), protected)


def members_of(
    target: Target,
    table: Table,
    protected: Sequence[ProcessId] = (),
    known: Sequence[ProcessId] = (),
    numbers_led: Collection[int] = (),
) -> list[FoundProcess]:
    """Everything found of the run: its keeper, agent, their trees, its stamp, its sessions.

    Looked for until nothing new appears. An ending passes what it has learned: members that were
    `known` before, and the numbers of those that led a session or group and died meanwhile.
    Never among them: pid 1, knell and its ancestors, other live runs (`protected`) with all below
    them, a vendor's helper that other sessions use, and a tmux server that holds others' panes.
    """
    spared = untouchable(table, protected, target)
    via: dict[int, str] = {}
    named: dict[int, ProcessId] = {}
    led = _Led(set(numbers_led))
    for word, process in seeds(target):
        seen = system.look(process)
        if not isinstance(seen, Gone):
            if table.row(process):
                via.setdefault(process.pid, word)
                named[process.pid] = process
        elif seen == Gone("exited"):  # else its number is another's
            kept = table.row(process) or not _may_be_reused(process, table)
            numbers = led.sure if kept else led.left  # a zombie keeps it
            numbers.add(process.pid)
    for process in known:
        if table.row(process):
            via.setdefault(process.pid, "ledger")
    for pid, word in _bearing_its_marks(target, table):
        via.setdefault(pid, word)
    via = {pid: word for pid, word in via.items() if pid not in spared}
    _grow(via, led, target, table, spared)
    return [
        member(table.rows[pid], word, named.get(pid))
        for pid, word in via.items()
        if pid in table.rows and not _is_zombie(table.rows[pid])
    ]


def _bearing_its_marks(target: Target, table: Table) -> list[tuple[int, str]]:
    """Processes with the run's stamp, in its cgroup, or in a tmux pane that it opened."""
    if target.alone:
        return []
    found = [(pid, "stamp") for pid in table.stamps.get(target.run, ())]
    found += [(pid, "cgroup") for pid in sorted(cgroup.pids(target.cgroup))]
    for server in table.tmux_servers():
        judged = _judged_panes(target, server, table, is_own_server=False)
        found += [(pid, "pane") for pid, own in judged.items() if own]
    if any(word == "pane" for _, word in found):  # what these have let go of bears their mark
        mark, rest = window_mark(target.run), table.rows.keys() - {pid for pid, _ in found}
        marked = [pid for pid in rest if system.variable_of(pid, "WINDOWID") == mark]
        envs = {pid: table.opener(system.environment_of(pid)) for pid in marked}
        found += [(pid, "pane") for pid in marked if envs[pid].get("WINDOWID") == mark]
    return found


def _is_zombie(row: system.Process) -> bool:
    """Whether all of it is dead, and not only its main thread."""
    return row.state in "ZX" and isinstance(system.look(identity_of(row)), Gone)


def seeds(target: Target) -> list[tuple[str, ProcessId]]:
    named = (("keeper", target.keeper), ("agent", target.process))
    known = (("ledger", process) for process in target.known)
    return [(word, process) for word, process in (*named, *known) if process]


class _Led:
    """Numbers of sessions and groups that are the run's.

    A number that is in use as a session or group is never given to a new process, so one that a
    living member has was made by that member. One that only a dead process had is the run's if
    a member is in it; else it may have been a stranger's since, who left it as well.
    """

    def __init__(self, sure: set[int]) -> None:
        self.sure = sure
        self.left: set[int] = set()  # by the dead

    def join(self, row: system.Process) -> None:
        self.sure |= {row.pid} | ({row.sid, row.pgid} & self.left)


def _may_be_reused(process: ProcessId, table: Table) -> bool:
    """Whether a dead process's number may have been another's since. Numbers are given in turn, and
    each process gets the next inode: half a round is too little for that, also if some fail."""
    newest = max(table.rows.values(), key=lambda row: row.start, default=None)
    known = (system.me(), system.identify(newest.pid) if newest else None)
    now = max(one.inode for one in known if one)
    if not process.inode or not now:
        return True
    return now - process.inode >= (system.numbers_in_turn() - len(table.rows)) // 2


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
    mine = {process.pid for _, process in seeds(target) if table.row(process)}
    stamped = () if target.alone else table.stamps.get(target.run, ())
    named = mine.union(stamped)
    claimed = named | _held(target, table)
    spared = {0, 1, 2, os.getpid(), *table.ancestors(os.getpid())}
    for process in protected:
        if table.row(process) and process.pid not in mine:
            spared.update(table.family([process.pid], claimed))
    if target.shared:
        spared |= _helpers_in_use(target, table, mine, claimed)
    if target.process and not target.keeper:
        table.remember_adopted(target.process, target.run)
    servers = table.tmux_servers()
    own = {*claimed, *table.family(list(mine), spared)} if servers else set[int]()
    for server in servers:
        if server in own:
            table.remember_own(server, target.run)
        judged = _judged_panes(target, server, table, is_own_server=server in own)
        # A pane whose opener is not known belongs to whoever has the other panes.
        untold = {pid for pid, ours in judged.items() if ours is None} - named
        others = {pid for pid, ours in judged.items() if ours is False} - named
        others |= judged.keys() & spared
        shown = not others and server in own and _shows_dead_of_others(target, server)
        if others or shown or (untold and server not in own):
            spared |= {server, *table.family([*others, *untold], named)}
    return spared | set(table.family(_orphans_of_others(target, table, claimed, mine), named))


def _orphans_of_others(
    target: Target, table: Table, claimed: set[int], mine: set[int]
) -> list[int]:
    """Processes without a parent that others started in their panes of the run's tmux server."""
    rows = [table.rows[pid] for pid in claimed - mine if pid in table.rows]
    tops = [row.pid for row in rows if row.ppid not in claimed]
    return [pid for pid in tops if table.is_from_others(pid, target.run, claimed)]


def _helpers_in_use(
    target: Target, table: Table, mine: Collection[int], held: Collection[int]
) -> set[int]:
    """The vendor's helpers that a session of others uses, with all below them: the same rule as the
    keeper's (keeper/descendants.py), which cannot import this.

    `mine` are the agent and its keeper, `held` what else is surely the run's."""
    rest = table.rows.keys() - set(mine)
    helpers = {pid: programs for pid in rest if (programs := _served_by(target, table, pid))}
    if not helpers:
        return set()
    inside = set(table.family(list(helpers), set(mine)))
    above = {pid for one in mine for pid in table.ancestors(one)}
    own = {*table.family(list(mine), inside), *above, *held, *inside}
    others = {name for pid in set(table.rows) - own for name in _names(pid)}
    used = [pid for pid, programs in helpers.items() if programs & others]
    return set(table.family(used, set(mine)))


def _served_by(target: Target, table: Table, pid: int) -> set[str]:
    """The programs that this process serves; none if it is no helper."""
    command = table.command(pid)
    served = [programs for pattern, programs in target.shared if fnmatchcase(command, pattern)]
    return {program for programs in served for program in programs.split(",")}


def _names(pid: int) -> set[str]:
    """What the process may be called: an interpreter runs its second word."""
    return {os.path.basename(word) for word in system.argv_of(pid)[:2]}


def _held(target: Target, table: Table) -> set[int]:
    """The processes in the run's cgroup, even if another run's keeper has inherited them."""
    if target.alone:
        return set()
    others = {pid for run, pids in table.stamps.items() if run != target.run for pid in pids}
    return set(cgroup.pids(target.cgroup)) - others


def _judged_panes(
    target: Target, server: int, table: Table, *, is_own_server: bool
) -> dict[int, bool | None]:
    """Whether the run opened each pane of this server; None if that is unknown."""
    mark, below = window_mark(target.run), table.children.get(server, ())
    env = system.environment_of(server) if below else {}
    is_own_server = is_own_server or env.get("KNELL_RUN") == target.run  # it has stamped them all
    judged: dict[int, bool | None] = dict.fromkeys(below)
    for pane, openers in table.openers(server).items():
        judged[pane] = all(
            panes.owns_pane(target.run, mark, env, one, is_own_server=is_own_server)
            for one in openers
        )
    return judged


def _shows_dead_of_others(target: Target, server: int) -> bool:
    """Whether it still shows a pane of others whose program has exited (remain-on-exit)."""
    mark, env = window_mark(target.run), system.environment_of(server)
    return any(
        not panes.owns_pane(target.run, mark, env, dead, is_own_server=True)
        for dead in environments.of_dead(server)
    )


def spared_servers(target: Target, table: Table, spared: set[int]) -> tuple[Survivor, ...]:
    """The tmux servers in the run's cgroup that stay, because they hold panes of others as well,
    and what these have let go of."""
    held = cgroup.pids(target.cgroup) & spared & table.rows.keys()
    servers = held.intersection(table.tmux_servers())
    orphans = _orphans_of_others(target, table, held, set())
    why = dict.fromkeys(orphans, panes.FROM_OTHERS) | dict.fromkeys(servers, panes.SERVES_OTHERS)
    rows = [(table.rows[pid], reason) for pid, reason in why.items()]
    return tuple(Survivor(row.pid, row.command(), row.state, reason) for row, reason in rows)
