"""Which processes use what lies below a path, and which files there a program is writing."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from knell.core.paths import is_below
from knell.core.ports.processes import IsProgram, OpenFile, OpenFiles
from knell.core.process import ProcessId
from knell.processes.os import system
from knell.processes.os.use import use
from knell.processes.table import Table, member

_KTHREADD = 2


class _Wanted(NamedTuple):
    path: str  # as asked for
    real: str
    node: tuple[int, int]  # so that a directory is known in another mount namespace too


def open_files(paths: Sequence[str]) -> OpenFiles:
    """Live processes, without this one, that work, root, run, read, write or map at or below them.

    A process of another user, or one that hides from its own (an ssh-agent does), cannot be looked
    into and is counted as unseen: it may be inside, so it is reported, but it stops nothing.
    """
    wanted = [_wanted(path) for path in dict.fromkeys(paths) if path]
    held: list[OpenFile] = []
    unseen = 0
    rows = Table().rows if wanted else {}
    for row in rows.values():
        if row.pid == os.getpid() or _kernel_thread(row, rows):
            continue
        try:
            found = list(_uses(row, wanted))
        except PermissionError:
            unseen += 1
            continue
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since the scan
        held += found
    return OpenFiles(tuple(held), unseen, tuple(_mounts(wanted, rows)))


def _wanted(path: str) -> _Wanted:
    real = os.path.realpath(path)
    return _Wanted(path, real, _node(real))


def _node(path: str) -> tuple[int, int]:
    """Device and inode: the same in every mount namespace. (0, 0) if unknown."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _kernel_thread(row: system.Process, rows: Mapping[int, system.Process]) -> bool:
    parent = rows.get(_KTHREADD)  # in a container, any process may have this number
    return bool(parent and parent.name == "kthreadd" and _KTHREADD in (row.pid, row.ppid))


def _uses(row: system.Process, wanted: Sequence[_Wanted]) -> Iterator[OpenFile]:
    """One for each path that the process uses, with the plainest way in which it does."""
    left = list(wanted)
    for how, file in use.files_of(row.pid):
        for one in [one for one in left if _fits(one, row.pid, how, file)]:
            left.remove(one)
            yield OpenFile(one.path, member(row, how), how, file)
        if not left:
            return
    maps = use.mapped_files(row.pid)
    for one in left:
        needle = os.fsencode(one.real).replace(b"\n", b"\\012")
        at = maps.find(b" " + needle)
        while at >= 0 and maps[at + 1 + len(needle) : at + 2 + len(needle)] not in (b"/", b"\n"):
            at = maps.find(b" " + needle, at + 1)
        if at >= 0:
            file = os.fsdecode(maps[at + 1 : maps.find(b"\n", at)])
            yield OpenFile(one.path, member(row, "mapped file"), "mapped file", file)


def _mounts(wanted: Sequence[_Wanted], pids: Collection[int]) -> Iterator[tuple[str, str]]:
    points = use.mount_points()
    for one in wanted:
        inside = (point for point in points if is_below(point, one.real))
        yield from ((one.path, point) for point in (*inside, *use.mounts_of(one.real, pids)))


def _fits(wanted: _Wanted, pid: int, how: str, file: str) -> bool:
    if is_below(file, wanted.real):
        return True
    if how not in ("cwd", "root") or wanted.node == (0, 0):
        return False
    return _node(use.directory_of(pid, how)) == wanted.node


def written_files(process: ProcessId, folder: str, is_program: IsProgram) -> list[str] | None:
    """Open for writing by the program that `process` is, or that is the first below it: a script
    of node is not the program itself. None: could not look.

    What the program has started is not asked, as it may be another of its kind."""
    table = Table()
    if table.row(process) is None:
        return []
    found: list[str] = []
    to_ask = [process.pid]
    for pid in to_ask:  # grows while it is walked
        try:
            files = use.written_below(pid, folder)
        except PermissionError:
            return None
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since the scan
        found += files
        if not files and not is_program(system.argv_of(pid)):
            to_ask += table.children.get(pid, ())
    return found


# -- connections -------------------------------------------------------------------------------


def connected_from(port: int, to: int) -> list[int]:
    """The processes that hold the TCP connection from that local port to the other one. None are
    found where the kernel does not tell, and for what this user may not look into."""
    open_now = use.tcp_connections() or ()
    ends = {os.fsencode(one.inode) for one in open_now if one.ports == (port, to)}
    holders = (row.pid for row in Table().rows.values()) if ends else ()
    return [pid for pid in holders if not ends.isdisjoint(use.sockets_of(pid))]
