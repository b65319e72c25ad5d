"""Signs of life that the kernel shows, and what runs use: one scan of the machine for all runs."""

import os
from collections.abc import Iterable, Mapping, Sequence

from knell.core.ports.processes import IsProgram, Usage
from knell.core.process import Alive, Gone, ProcessId
from knell.core.run import Run
from knell.core.stall.signs import Connection, Traffic, Vital
from knell.processes.os import system
from knell.processes.os.use import use
from knell.processes.table import Table
from knell.processes.waiting import Waiter

_STOPPED = {"T": "is stopped", "D": "is stuck in the kernel (state D)"}
_NOTED = {"t": "is held by a debugger", "Z": "has ended and was not reaped"}
SAMPLE = 0.2  # seconds between the two readings of a share of a processor
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
MEGABYTE = 1024 * 1024

memory_free_mb = use.memory_free_mb


def vitals(runs: Sequence[Run], programs: Mapping[str, IsProgram]) -> dict[str, Vital]:
    """What can be seen of each of them, whose processes must be this machine's.

    `programs`: by run, which command lines are the agent program itself. It draws as long as it
    runs, so that its own processor time tells nothing; that of its tools does."""
    table = Table()
    members = _members(runs, table)
    hung_up = _hung_up(members)
    found: dict[str, Vital] = {}
    for run in runs:
        drawing = _own_processes(run, members[run.id], table, programs.get(run.id))
        found[run.id] = _vital(run, members[run.id], table, hung_up[run.id])._replace(
            cpu=_used_by_others(members[run.id], drawing, table)
        )
    return found


def traffic(runs: Sequence[Run], programs: Mapping[str, IsProgram]) -> dict[str, Traffic]:
    """What each run exchanges with others over the network, and what its tools read and write.

    A connection between two processes of one run carries no news. None where that is unknown."""
    table, everybody = Table(), use.tcp_connections()
    by_inode = {one.inode: one for one in everybody or ()}
    members, found = _members(runs, table), dict[str, Traffic]()
    for run in runs:
        pids = members[run.id]
        inodes = {os.fsdecode(inode) for pid in pids for inode in use.sockets_of(pid)}
        held = [by_inode[inode] for inode in sorted(inodes) if inode in by_inode]
        ports = {one.ports for one in held}
        outer = [one for one in held if one.ports[::-1] not in ports]
        carried = tuple(Connection(one.inode, one.received, one.sent) for one in outer)
        drawing = _own_processes(run, pids, table, programs.get(run.id))
        keeper = {run.keeper.pid} if run.keeper else set[int]()
        tools = [use.bytes_moved(pid) for pid in pids if pid not in drawing | keeper]
        known = None if everybody is None else carried
        found[run.id] = Traffic(known, sum(one for one in tools if one is not None))
    return found


def usage(runs: Sequence[Run]) -> dict[str, Usage]:
    """What each run uses with every process below it. None, and not zero, if nothing is seen."""
    before = Table()
    Waiter()([], SAMPLE)
    after = Table()
    return {run: _used(pids, before, after) for run, pids in _members(runs, after).items()}


def cpu_free_percent() -> float | None:
    """The idle share of all processors together, measured over the next SAMPLE seconds."""
    idle, all_ticks = use.machine_ticks()
    Waiter()([], SAMPLE)
    idle_now, all_now = use.machine_ticks()
    return 100.0 * (idle_now - idle) / (all_now - all_ticks) if all_now > all_ticks else None


def _members(runs: Sequence[Run], table: Table) -> dict[str, list[int]]:
    """Each run's keeper and agent and all below them, without the runs that live below as well."""
    roots = {
        run.id: [p.pid for p in (run.keeper, run.process) if p and table.row(p)] for run in runs
    }
    taken = {pid for pids in roots.values() for pid in pids}
    return {run: table.family(pids, taken) for run, pids in roots.items()}


def _used(members: Sequence[int], before: Table, after: Table) -> Usage:
    if not members:
        return Usage()
    rows = [after.rows[pid] for pid in members]
    spent = sum(
        row.ticks - before.rows[row.pid].ticks for row in rows if before.start(row.pid) == row.start
    )
    return Usage(round(100.0 * spent / TICKS / SAMPLE, 1), _megabytes(rows))


def _megabytes(rows: Sequence[system.Process]) -> float:
    return round(sum(row.pages for row in rows) * PAGE / MEGABYTE, 1)


def _own_processes(
    run: Run, members: Sequence[int], table: Table, is_program: IsProgram | None
) -> set[int]:
    """The agent's process, and those below it that run the same program: a launcher's child. What
    a tool starts is a tool, also if it is the same program once more."""
    if is_program is None or run.process is None:
        return set()
    own = {run.process.pid}
    for pid in members:  # parents stand before their children
        if table.rows[pid].ppid in own and is_program(system.argv_of(pid)):
            own.add(pid)
    return own


def _used_by_others(members: Sequence[int], drawing: set[int], table: Table) -> float | None:
    """Seconds of processor time, without what these processes used themselves."""
    rows = [table.rows[pid] for pid in members]
    ticks = sum(row.childrens_ticks + (0 if row.pid in drawing else row.ticks) for row in rows)
    return ticks / TICKS if rows else None


def _vital(run: Run, members: Sequence[int], table: Table, hung_up: int) -> Vital:
    if run.process is None:
        return Vital()
    rows = [table.rows[pid] for pid in members]
    keeper = run.keeper.pid if run.keeper else 0
    own = {process.pid for process in (run.keeper, run.process) if process}
    children = [row for row in rows if row.pid not in own]
    alive, state = _pulse(run.process, table)
    return Vital(
        alive=alive,
        state=state,
        stopped=_sentences(children, _STOPPED),
        hung_up=hung_up,
        notes=_sentences(children, _NOTED),
        cpu_total=sum(row.ticks + row.childrens_ticks for row in rows) / TICKS if rows else None,
        memory_mb=_megabytes(rows) if rows else None,
        processes=sum(row.pid != keeper for row in rows) if rows else None,
    )


def _pulse(process: ProcessId, table: Table) -> tuple[bool | None, str]:
    """A zombie may be a main thread's only, and a process that is not listed may be hidden."""
    row = table.row(process)
    if row and row.state not in "ZX":
        return True, row.state
    seen = system.look(process)
    if isinstance(seen, Alive):
        return True, seen.state
    return (False, "?") if isinstance(seen, Gone) else (None, "?")


def _sentences(rows: Iterable[system.Process], words: dict[str, str]) -> tuple[str, ...]:
    shown = sorted((row for row in rows if row.state in words), key=lambda row: row.pid)
    named = [(row, system.printable(row.name)) for row in shown]
    return tuple(f"PID {row.pid} ({name}) {words[row.state]}" for row, name in named)


def _hung_up(members: dict[str, list[int]]) -> dict[str, int]:
    """How many connections each run holds whose other side has closed. Files are only looked
    through if the machine has any such connection.

    One that also holds an open connection counts as none: it may hear from its model there, and a
    pool of connections keeps closed ones until it needs them."""
    sockets: dict[bytes, set[bytes]] = {use.CLOSE_WAIT: set(), use.ESTABLISHED: set()}
    for state, _, inode in use.tcp_sockets():
        if state in sockets and inode != b"0":
            sockets[state].add(inode)
    closed, connected = sockets.values()
    found: dict[str, int] = {}
    for run, pids in members.items():
        held = set[bytes]().union(*map(use.sockets_of, pids if closed else ()))
        found[run] = 0 if held & connected else len(held & closed)
    return found
