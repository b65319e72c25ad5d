"""One writer at a time. The kernel releases the lock of a process that dies."""

import fcntl
import os
import select
import time
from collections.abc import Generator
from contextlib import contextmanager

from quell.core.errors import RegistryFailed
from quell.mirrors.files import UNTOUCHED, translated

PATIENCE = 10.0  # seconds to wait for another writer


@contextmanager
def locked(lock: str, what: str) -> Generator[None]:
    """Hold the lock file `lock`, which stands for `what`; RegistryFailed if somebody keeps it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with translated(lock):
        fd = os.open(lock, flags, 0o600)
    try:
        with translated(lock):
            _take(fd, what)
            _sign(fd, str(os.getpid()))
        try:
            yield
        finally:
            _sign(fd, "")
    finally:
        os.close(fd)


def _take(fd: int, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    pause = 0.005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        if time.monotonic() > deadline:
            raise _kept(fd, what)
        # flock can wait, but not with an end; a lock is held for milliseconds.
        select.select([], [], [], pause)
        pause = min(pause * 1.5, 0.05)


def _kept(fd: int, what: str) -> RegistryFailed:
    holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
    who = f"process {holder}" if holder.isdigit() else "another process"
    return RegistryFailed(
        f"{who} kept {what} locked for {PATIENCE:.0f} seconds",
        f"{UNTOUCHED}; run the command again when it is done",
    )


def _sign(fd: int, pid: str) -> None:
    """Who holds it, for the one who waits in vain. The text means nothing without the lock."""
    os.ftruncate(fd, 0)
    os.pwrite(fd, pid.encode(), 0)
