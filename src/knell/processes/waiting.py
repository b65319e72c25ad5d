"""Waiting for processes, directories and time, locks and clocks: fulfils `Wait` and `Locks`."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from knell.processes.os import system

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from knell.core.process import ProcessId
    from knell.core.stall.signs import Clock


FEW = 16  # processes that can be watched without a look at the limit of open files
SPARE = 16  # files that stay free while a process watches others
TURN = 0.25  # seconds for one part of the processes, where not all can be watched at once


class Waiter:
    """Fulfils the port `Wait`."""

    def __init__(self) -> None:
        self._watched: dict[str, int] = {}  # kept open: what arrives between two waits is seen

    def __call__(self, processes: Sequence[ProcessId], seconds: float, folder: str = "") -> None:
        """Returns when one of them ends, something new is in the folder, or after `seconds`.

        Each process takes an open file. Where the limit of open files does not allow all, they are
        watched in turns."""
        until = time.monotonic() + seconds
        with _room_for(len(processes)) as room:
            if len(processes) <= room:
                self._wait(processes, seconds, folder)
                return
            first = 0
            while (left := until - time.monotonic()) > 0:
                if self._wait(processes[first : first + room], min(left, TURN), folder):
                    return
                first = first + room if first + room < len(processes) else 0

    def _wait(self, processes: Sequence[ProcessId], seconds: float, folder: str) -> bool:
        """Whether something happened."""
        news = self._watch(folder) if folder else -1
        fds = [fd for process in processes if (fd := system.open_verified(process)) is not None]
        if processes and len(fds) < len(processes):
            seconds = 0.0
        woken = system.Exits().wait(fds, seconds, news)
        if news in woken:
            from knell.processes.os.use import use

            use.take_news(news)
        for fd in fds:
            system.close(fd)
        return bool(woken) or len(fds) < len(processes)

    def _watch(self, folder: str) -> int:
        if self._watched.get(folder, -1) < 0:
            from knell.processes.os.use import use

            self._watched[folder] = use.watch_directory(folder)
        return self._watched[folder]


@contextmanager
def _room_for(processes: int) -> Generator[int]:
    """How many processes can be watched at once. For many, the limit of open files is raised while
    they are watched; not for longer, because agents that are started inherit it."""
    if processes <= FEW:
        yield FEW
        return
    import resource

    from knell.processes.os.use import use

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = use.open_descriptors()
    wanted = used + SPARE + processes
    limit = max(soft, min(hard, wanted)) if hard != resource.RLIM_INFINITY else max(soft, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield max(1, limit - used - SPARE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def allow_many_files() -> None:
    """For the ending of a fleet: the usual soft limit of 1024 open files is too low for that."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def take(path: str) -> bool:
    """Takes a lock, and says whether it got it. The end of this process gives it back."""
    import fcntl

    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return False
    return True  # kept open on purpose


def clock() -> Clock:
    """This moment by every clock that matters to the age of a run."""
    from knell.core.stall.signs import Clock

    up = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    awake = time.clock_gettime(time.CLOCK_MONOTONIC)
    return Clock(time.time(), awake, time.clock_gettime(up), system.boot_id())
