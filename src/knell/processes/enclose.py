"""Puts a running tree into a cgroup of its own, so that what it starts can no longer escape."""

import os
from collections.abc import Sequence

from knell.core.ports.processes import Target
from knell.core.process import FoundProcess, ProcessId
from knell.processes.members import members_of
from knell.processes.os import cgroup, system
from knell.processes.os.cgroup import release
from knell.processes.table import Table

__all__ = ["release"]

PASSES = 20  # each finds what a process that was not inside yet started during the last one


def path_for(process: ProcessId, run: str) -> str:
    return cgroup.leaf_for(process.pid, run)


def enclose(target: Target, protected: Sequence[ProcessId]) -> bool:
    """Moves the agent into the target's leaf, which then holds whatever it starts from now on.

    The run's other processes follow, except those in another cgroup, which has limits of its own.
    False if the kernel refuses; then no leaf is left, and every process is where it was."""
    if not target.cgroup or target.process is None or not cgroup.make(target.cgroup):
        return False
    if not _move(target.process, target.cgroup):
        release(target.cgroup)
        return False
    tried: set[tuple[int, int]] = set()
    for _ in range(PASSES):
        fresh = _outside(target, protected, tried)
        if not fresh:
            break
        for member in fresh:
            tried.add((member.process.pid, member.process.start))
            _move(member.process, target.cgroup)
    return True


def _outside(
    target: Target, protected: Sequence[ProcessId], tried: set[tuple[int, int]]
) -> list[FoundProcess]:
    table = Table()
    inside = cgroup.pids(target.cgroup)  # after the scan: a child of these is in it from birth
    home = os.path.dirname(target.cgroup)
    return [
        member
        for member in members_of(target, table, protected)
        if member.process.pid not in inside
        and (member.process.pid, member.process.start) not in tried
        and member.state not in "ZX"
        and cgroup.home_of(member.process.pid) == home
    ]


def _move(process: ProcessId, leaf: str) -> bool:
    """Moves exactly that process; whether it is inside. A cgroup takes numbers only: if the
    process died on the way, a stranger may have its number, and is moved out again."""
    fd = system.open_verified(process)
    if fd is None:
        return False
    try:
        entered = cgroup.enter(leaf, process.pid)
        if entered and system.is_dead(fd):
            cgroup.enter(os.path.dirname(leaf), process.pid)
            return False
        return entered
    finally:
        system.close(fd)
