"""Hears of new entries in a directory, by inotify."""

import ctypes
import os

IN_CREATE, IN_MOVED_TO = 0x100, 0x80


class Arrivals:
    """Kept open: what arrives between two waits is heard by the second."""

    def __init__(self, folder: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        watched = libc.inotify_add_watch(self.fd, os.fsencode(folder), IN_CREATE | IN_MOVED_TO)
        if self.fd >= 0 and watched < 0:  # no such folder yet, or too many watches
            os.close(self.fd)
            self.fd = -1

    def take(self) -> None:
        """Takes the news, so that the next wait waits again."""
        try:
            while os.read(self.fd, 65_536):
                pass
        except BlockingIOError:
            return
