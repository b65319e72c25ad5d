"""Stops processes, so that none is born unseen or hops from pid to pid faster than a scan."""

import signal
import time
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager

from knell.core.ports.processes import Target
from knell.processes.os import system

LOOKS = 20  # a process that gets SIGSTOP may be in the middle of a fork
LONGEST = 0.5  # seconds of a chase on an idle machine
QUIET = 100  # looks in a row without a new pid: then nothing on this machine hops
# Seconds without a new pid for each process that waits for the same processor: what hops waits too,
# and on a busy machine a hundred looks may be over before it runs again.
TURN = 0.01
BEHIND = 8  # how many of the newest pids are looked at


class AdoptedGroup:
    """The process group that an adopted agent led: its pidfd names the group also after its death,
    while one is in it."""

    def __init__(self, target: Target) -> None:
        leader = target.process if target.keeper is None and not target.alone else None
        self._number = leader.pid if leader else 0
        self._pidfd = system.open_verified(leader) if leader else None

    @property
    def is_open(self) -> bool:
        return self._pidfd is not None

    def stop(self, rows: Iterable[system.Process], spared: set[int]) -> bool:
        """Stops all processes in it. False if it is empty, or also holds one that is spared."""
        inside = (row.pid for row in rows if row.pgid == self._number)
        if self._pidfd is None or any(pid in spared for pid in inside):
            return False
        return system.stop_group(self._pidfd)

    def close(self) -> None:
        if self._pidfd is not None:
            system.close(self._pidfd)
            self._pidfd = None


def stop_process(pid: int, pidfd: int, look: Callable[[], list[int]]) -> None:
    """Stops a process, and looks until it stands still and no new one is found."""
    system.send(pidfd, signal.SIGSTOP)
    try:
        for _ in range(LOOKS):
            now = system.stat_of(pid)
            if not look() and (now is None or now.state in "TtZX"):
                return
    except BaseException:  # Ctrl-C: the process must not be left stopped
        system.send(pidfd, signal.SIGCONT)
        raise


@contextmanager
def newest_stopped(run: str, spared: set[int], held: Collection[int]) -> Generator[Collection[int]]:
    """The newest processes that bear the run's stamp, stopped. Those that are not `held` at the end
    go on: they are not the run's after all."""
    stopped = _stop_newest(run, spared)
    try:
        yield stopped
    finally:
        for pid, fd in stopped.items():
            if pid not in held:
                system.send(fd, signal.SIGCONT)
            system.close(fd)


def _stop_newest(run: str, spared: set[int]) -> dict[int, int]:
    """Stops each of them until no new one comes: pid → pidfd."""
    stopped: dict[int, int] = {}
    newest = quiet = 0
    now = calm_since = time.monotonic()
    until = now + LONGEST * (1 + system.waiting_to_run())
    while now < until and (quiet < QUIET or now < calm_since + TURN * system.waiting_to_run()):
        seen, newest = newest, system.newest_pid()
        quiet = quiet + 1 if newest == seen else 0
        for pid in range(newest, max(newest - BEHIND, 1), -1):
            fd = _stop(pid, run) if pid not in spared and pid not in stopped else None
            if fd is not None:
                stopped[pid], quiet = fd, 0
        now = time.monotonic()
        calm_since = calm_since if quiet else now
    return stopped


def _stop(pid: int, run: str) -> int | None:
    """A pidfd, if this process bears the stamp and is stopped now."""
    try:
        fd = system.open_process(pid)
    except OSError:
        return None
    # The stamp is read after the open: what is stopped is what bears it.
    stopped = system.stamp_of(pid) == run and not system.send(fd, signal.SIGSTOP)
    if stopped and not system.is_dead(fd):
        return fd
    system.close(fd)
    return None
