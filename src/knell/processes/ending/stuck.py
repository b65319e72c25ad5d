"""Which processes that a journal calls stuck are so: an agent can write into it, and would be safe
from every kill if its keeper cannot act either."""

import os

from knell.core.ports.keepers import Journal
from knell.core.ports.processes import Target
from knell.processes.os import system


def as_seen(journal: Journal, target: Target) -> Journal:
    """Only with those below the keeper that a KILL does not end, or that we may not signal."""
    if system.LAYER != "linux" or target.keeper is None:  # there a member may be anywhere
        return journal
    keeper = target.keeper.pid
    found = [one for one in journal.survivors if keeper in system.ancestors_of(one.pid)]
    stuck = tuple(one for one in found if _is_deaf(one.pid) or _is_denied(one.pid))
    return journal._replace(survivors=stuck)


def _is_deaf(pid: int) -> bool:
    """Whether it hangs in the kernel, where no signal ends it."""
    try:
        shown = system.stat_of(pid)
    except OSError:
        return False
    return shown is not None and shown.state == "D"


def _is_denied(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        pass
    return False
