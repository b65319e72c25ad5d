"""Making an agent and its process group stand still, so that nobody is born unseen."""

import os
import signal
from collections.abc import Callable

from quell.core.climbing import Target
from quell.processes import identity
from quell.processes.table import Table

WHOLE_GROUP = 1 << 2  # PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9
LOOKS = 20  # a process that is told to stop may be within a fork


def stand_still(pid: int, pidfd: int, look: Callable[[], list[int]]) -> None:
    """Stops a process, and looks until it stands still and nobody new is found."""
    identity.send(pidfd, signal.SIGSTOP)
    try:
        for _ in range(LOOKS):
            now = identity.read_stat(pid)
            if not look() and (now is None or now.state in "TtZX"):
                return
    except BaseException:  # an impatient person's Ctrl-C: it must not be left like that
        identity.send(pidfd, signal.SIGCONT)
        raise


class Group:
    """The process group that an agent leads, if it was alive when its ending began. The pidfd keeps
    naming it after the agent's death, whoever gets the number."""

    def __init__(self, target: Target) -> None:
        wanted = target.process if target.keeper is None and not target.alone else None
        self._number = wanted.pid if wanted else 0
        self._fd = identity.open_verified(wanted) if wanted else None

    @property
    def is_open(self) -> bool:
        return self._fd is not None

    def freeze(self, table: Table, spared: set[int]) -> bool:
        """Stops everybody in it, so that the next scan sees even who hops from pid to pid.

        False if it is empty, unknown, or also holds somebody who is spared."""
        if self._fd is None:
            return False
        if any(row.pgid == self._number and row.pid in spared for row in table.rows.values()):
            return False
        try:
            signal.pidfd_send_signal(self._fd, signal.SIGSTOP, None, WHOLE_GROUP)
        except OSError:
            return False
        return True

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
