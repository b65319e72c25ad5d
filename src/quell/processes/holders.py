"""Who uses what lies below a path: the files of another process cannot be closed, only counted."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quell.core.worktree import Held, Holding
from quell.processes.identity import Stat
from quell.processes.table import Table, member

_KTHREADD = 2
_LINKS = ("cwd", "root", "exe")


class _Wanted(NamedTuple):
    path: str  # as asked for
    real: str
    node: tuple[int, int]  # so that a directory is known in another mount namespace too


def holders(paths: Sequence[str]) -> Holding:
    """Live processes, without this one, that work, root, run, read, write or map at or below them.

    Whoever runs under another user, or hides from its own (an ssh-agent does), cannot be looked
    into and is counted as unseen: perhaps inside, so worth a word, but no reason to stop.
    """
    wanted = [_wanted(path) for path in dict.fromkeys(paths) if path]
    held: list[Held] = []
    unseen = 0
    table = Table() if wanted else None
    for row in table.rows.values() if table else ():
        if row.pid == os.getpid() or row.state in "ZX" or _kernel_thread(row, table):
            continue
        try:
            found = list(_uses(row, wanted))
        except PermissionError:
            unseen += 1
            continue
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended under our eyes
        held += found
    return Holding(tuple(held), unseen, tuple(_mounts(wanted)))


def _wanted(path: str) -> _Wanted:
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
    except OSError:
        return _Wanted(path, real, (0, 0))
    return _Wanted(path, real, (found.st_dev, found.st_ino))


def _kernel_thread(row: Stat, table: Table | None) -> bool:
    parent = table.rows.get(_KTHREADD) if table else None  # in a container, anybody's number
    return bool(parent and parent.name == "kthreadd" and _KTHREADD in (row.pid, row.ppid))


def _uses(row: Stat, wanted: Sequence[_Wanted]) -> Iterator[Held]:
    """One for each path that the process uses, with the plainest way in which it does."""
    left = list(wanted)
    for how, file in _files(row.pid):
        for one in [one for one in left if _fits(one, row.pid, how, file)]:
            left.remove(one)
            yield Held(one.path, member(row, how), how, file)
        if not left:
            return
    maps = _maps(row.pid)
    for one in left:
        needle = os.fsencode(one.real).replace(b"\n", b"\\012")
        at = maps.find(b" " + needle)
        while at >= 0 and maps[at + 1 + len(needle) : at + 2 + len(needle)] not in (b"/", b"\n"):
            at = maps.find(b" " + needle, at + 1)
        if at >= 0:
            file = os.fsdecode(maps[at + 1 : maps.find(b"\n", at)])
            yield Held(one.path, member(row, "mapped file"), "mapped file", file)


def _mounts(wanted: Sequence[_Wanted]) -> Iterator[tuple[str, str]]:
    with open("/proc/self/mountinfo", "rb") as file:
        points = [_unescaped(line.split(b" ")[4]) for line in file]
    for one in wanted:
        yield from ((one.path, point) for point in points if _below(point, one.real))


def _unescaped(point: bytes) -> str:
    """Blank, tab, newline and backslash are written as octal numbers."""
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), point))


def _below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _fits(wanted: _Wanted, pid: int, how: str, file: str) -> bool:
    if _below(file, wanted.real):
        return True
    if how not in ("cwd", "root") or wanted.node == (0, 0):
        return False
    try:
        found = os.stat(f"/proc/{pid}/{how}")
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == wanted.node


def _files(pid: int) -> Iterator[tuple[str, str]]:
    for how in _LINKS:
        try:
            yield how, os.readlink(f"/proc/{pid}/{how}")
        except FileNotFoundError:
            if how != "exe":  # kernel threads and programs that a package update replaced
                raise
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            yield "open file", os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            continue  # closed meanwhile


def _maps(pid: int) -> bytes:
    with open(f"/proc/{pid}/maps", "rb") as file:
        return file.read()
