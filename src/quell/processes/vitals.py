"""Signs of life that the kernel shows, for all runs from one scan of /proc."""

import os
from collections.abc import Iterable, Sequence

from quell.core.process import Alive, Gone, ProcessId
from quell.core.run import Run
from quell.core.signs import Vital
from quell.processes.identity import Stat, boot_id, look
from quell.processes.table import Table

ESTABLISHED, CLOSE_WAIT = b"01", b"08"
_STATE, _INODE = 3, 9  # columns of /proc/net/tcp
_TOLD = {
    "T": "is stopped",
    "D": "is stuck in the kernel (state D)",
}
_NOTED = {
    "t": "is held by a debugger",
    "Z": "has ended and nobody has reaped it",
}


def vitals(runs: Sequence[Run]) -> dict[str, Vital]:
    """What can be seen of each of them, whose processes must be this machine's."""
    table = Table()
    roots = {run.id: _roots(run, table) for run in runs}
    taken = {pid for pids in roots.values() for pid in pids}
    members = {run: _family(pids, table, taken) for run, pids in roots.items()}
    hung_up = _hung_up(members)
    return {run.id: _vital(run, members[run.id], table, hung_up[run.id]) for run in runs}


def _roots(run: Run, table: Table) -> list[int]:
    return [p.pid for p in (run.keeper, run.process) if p and _row(p, table)]


def _row(process: ProcessId, table: Table) -> Stat | None:
    row = table.rows.get(process.pid)
    same = row and (row.start, boot_id()) == (process.start, process.boot)
    return row if same else None


def _family(roots: Sequence[int], table: Table, taken: set[int]) -> list[int]:
    """Those and all below, without the runs that live below them as well."""
    found = list(dict.fromkeys(roots))
    for pid in found:  # grows while it is walked
        below = (child for child in table.children.get(pid, ()) if child not in taken)
        found.extend(below)
    return found


def _vital(run: Run, members: Sequence[int], table: Table, hung_up: int) -> Vital:
    if run.process is None:
        return Vital()
    rows = [table.rows[pid] for pid in members]
    own = {process.pid for process in (run.keeper, run.process) if process}
    children = [row for row in rows if row.pid not in own]
    alive, state = _pulse(run.process, table)
    return Vital(
        alive=alive,
        state=state,
        cpu=sum(row.ticks for row in rows) / os.sysconf("SC_CLK_TCK") if rows else None,
        stopped=_sentences(children, _TOLD),
        hung_up=hung_up,
        notes=_sentences(children, _NOTED),
    )


def _pulse(process: ProcessId, table: Table) -> tuple[bool | None, str]:
    """A zombie may be a main thread's only, and a process that is not listed may be hidden."""
    row = _row(process, table)
    if row and row.state not in "ZX":
        return True, row.state
    seen = look(process)
    if isinstance(seen, Alive):
        return True, seen.state
    return (False, "?") if isinstance(seen, Gone) else (None, "?")


def _sentences(rows: Iterable[Stat], words: dict[str, str]) -> tuple[str, ...]:
    told = [row for row in rows if row.state in words]
    return tuple(
        f"PID {row.pid} ({_plain(row.name)}) {words[row.state]}"
        for row in sorted(told, key=lambda row: row.pid)
    )


def _plain(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)


# -- connections that the other side has closed ------------------------------------------------


def _hung_up(members: dict[str, list[int]]) -> dict[str, int]:
    """How many each run holds. Files are only looked through if the machine has any at all.

    One that also holds an open connection counts as none: it may hear from its model there, and a
    pool of connections keeps closed ones until it needs them."""
    closed, open_ones = _connections()
    if not closed:
        return dict.fromkeys(members, 0)
    found: dict[str, int] = {}
    for run, pids in members.items():
        held = set[bytes]().union(*map(_sockets, pids))
        found[run] = 0 if held & open_ones else len(held & closed)
    return found


def _connections() -> tuple[set[bytes], set[bytes]]:
    """The machine's sockets whose other side has closed, and those that are open both ways."""
    found: dict[bytes, set[bytes]] = {CLOSE_WAIT: set(), ESTABLISHED: set()}
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", "rb") as file:
                lines = file.read().splitlines()[1:]
        except OSError:
            continue  # no IPv6, or no network at all
        for line in lines:
            row = line.split(None, _INODE + 1)
            if len(row) > _INODE and row[_STATE] in found:
                found[row[_STATE]].add(row[_INODE])
    return found[CLOSE_WAIT] - {b"0"}, found[ESTABLISHED] - {b"0"}


def _sockets(pid: int) -> set[bytes]:
    """The inodes of those that it holds; none where we may not look."""
    folder = f"/proc/{pid}/fd".encode()
    held: set[bytes] = set()
    try:
        for fd in os.listdir(folder):
            try:
                target = os.readlink(folder + b"/" + fd)
            except OSError:
                continue  # closed meanwhile
            if target.startswith(b"socket:["):
                held.add(target[8:-1])
    except OSError:
        return set()
    return held
