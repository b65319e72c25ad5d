"""Puts a running tree into a cgroup of its own, so that what it starts can no longer escape."""

import os
from collections.abc import Sequence

from quell.core.climbing import Target
from quell.core.process import Member, ProcessId
from quell.processes import cgroup, identity
from quell.processes.members import members_of
from quell.processes.table import Table

PASSES = 20  # each finds what was started during the one before by somebody not inside yet


def hold(target: Target, protected: Sequence[ProcessId]) -> bool:
    """Whether the agent is in the target's leaf now, and with it whatever it starts from now on.

    Everybody found of the run follows, except who is in another cgroup: its limits are its own.
    False where the kernel refuses; then no leaf is left, and everybody is where they were."""
    if not target.cgroup or target.process is None or not cgroup.make(target.cgroup):
        return False
    if not _moved(target.process, target.cgroup):
        cgroup.release(target.cgroup)
        return False
    tried: set[tuple[int, int]] = set()
    for _ in range(PASSES):
        fresh = _outside(target, protected, tried)
        if not fresh:
            break
        for member in fresh:
            tried.add((member.process.pid, member.process.start))
            _moved(member.process, target.cgroup)
    return True


def _outside(
    target: Target, protected: Sequence[ProcessId], tried: set[tuple[int, int]]
) -> list[Member]:
    table = Table()
    inside = cgroup.pids(target.cgroup)  # after the scan: a child of theirs is in it from birth
    home = os.path.dirname(target.cgroup)
    return [
        member
        for member in members_of(target, table, protected)
        if member.process.pid not in inside
        and (member.process.pid, member.process.start) not in tried
        and member.state not in "ZX"
        and cgroup.home_of(member.process.pid) == home
    ]


def _moved(process: ProcessId, leaf: str) -> bool:
    """Whether exactly that process is inside. A cgroup takes numbers only, so whoever died on the
    way may have left its number to a stranger, who is let out again."""
    fd = identity.open_verified(process)
    if fd is None:
        return False
    try:
        entered = cgroup.enter(leaf, process.pid)
        if entered and identity.is_dead(fd):
            cgroup.enter(os.path.dirname(leaf), process.pid)
            return False
        return entered
    finally:
        os.close(fd)
