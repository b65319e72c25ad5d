"""How this process knows what is left of an agent: the kernel says so, not a scan.

Every process of a watched agent holds a shared lock on one file, through a descriptor that forks
and execs inherit and that no habit drops. While one of them lives, nobody gets that lock alone. So
a process that hops from pid to pid is not missed, and a way's own daemons are not counted.
"""

import contextlib
import fcntl
import os
import signal
import threading
import time
from pathlib import Path

from house import pause, pids, state_and_parent

HELD = 97  # the descriptor, high enough to be nobody else's
_FIRST = "import os, signal, sys, time\n"


class Witness:
    """One agent's lock file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def mark(self, source: str) -> str:
        """The source of a habit whose every process holds the lock."""
        if _FIRST not in source:
            raise ValueError("not the source of a habit")
        lines = (
            "import fcntl",
            f"os.dup2(os.open({str(self.path)!r}, os.O_RDONLY), {HELD})",
            f"fcntl.flock({HELD}, fcntl.LOCK_SH)",
        )
        return source.replace(_FIRST, _FIRST + "\n".join(lines) + "\n", 1)

    def none_left(self) -> bool:
        with self.path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def left(self) -> int:
        """How many are alive: at least one if the lock is held, however fast it hops."""
        if self.none_left():
            return 0
        return max(1, *(len(self.holders()) for _ in range(3)))

    def holders(self) -> list[int]:
        return [pid for pid in pids() if self.holds(pid)]

    def holds(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{pid}/fd/{HELD}") == str(self.path)
        return False

    def end(self, seconds: float = 20) -> None:
        """KILL to whoever holds the lock, and to nobody else, until nobody does."""
        until = time.monotonic() + seconds
        groups: set[int] = set()
        while not self.none_left():
            if time.monotonic() > until:
                raise RuntimeError(f"cannot be ended: {self.holders()}")
            reap()
            for pid in self.holders():
                self._kill(pid)
            for pid in children_of_ours():
                groups |= self._group(pid)
            for group in groups:
                self._kill_group(group)
            pause(0.002)

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            watch = os.pidfd_open(pid)
            try:
                if self.holds(pid):
                    signal.pidfd_send_signal(watch, signal.SIGKILL)
            finally:
                os.close(watch)

    def _group(self, pid: int) -> set[int]:
        """What hops too fast to be met keeps its group, and each hop makes it a child of ours."""
        with contextlib.suppress(OSError):
            group = os.getpgid(pid)
            if self.holds(pid) and group != os.getpgid(0):
                return {group}
        return set()

    def _kill_group(self, group: int) -> None:
        """Only if all of it is the agent's."""
        if not any(self._alien(pid, group) for pid in pids()):
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)

    def _alien(self, pid: int, group: int) -> bool:
        try:
            if os.getpgid(pid) != group or self.holds(pid):
                return False
        except OSError:
            return False
        return state_and_parent(pid)[0] not in "ZX"


def reap() -> None:
    """A hopper leaves us a thousand dead a second, and each makes the next look slower."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def children_of_ours() -> list[int]:
    """As the kernel lists them, without a scan; we are the subreaper of all that we start."""
    with contextlib.suppress(OSError):
        path = f"/proc/self/task/{threading.get_native_id()}/children"
        return [int(pid) for pid in Path(path).read_text().split()]
    return []
