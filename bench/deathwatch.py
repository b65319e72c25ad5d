"""Sees processes die by their pidfds, so that nobody's word has to be taken for it."""

import os
import resource
import select
import signal
import threading
import time
from types import TracebackType

from house import pids, state_and_parent


def family(tops: list[int]) -> list[int]:
    """These and everything below them that lives."""
    below: dict[int, list[int]] = {}
    for pid in pids():
        state, parent = state_and_parent(pid)
        if state not in "ZX":
            below.setdefault(parent, []).append(pid)
    found, todo = [], list(tops)
    while todo:
        one = todo.pop()
        found.append(one)
        todo += below.get(one, [])
    return found


class Deathwatch:
    """Of the processes that live when it is opened; what they start later is not in it."""

    def __init__(self, tops: list[int]) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))
        self._open: set[int] = set()
        for pid in family(tops):
            try:
                self._open.add(os.pidfd_open(pid))
            except ProcessLookupError:
                continue  # it was on its way out, which is all we want to know
        self._at = time.perf_counter()
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Deathwatch":
        self._looking.start()
        return self

    def last_death(self, until: float) -> float | None:
        """When the last of them died, on the clock of time.perf_counter; None if never by then."""
        self._looking.join(max(0.0, until - time.perf_counter()))
        return None if self._looking.is_alive() else self._at

    def _look(self) -> None:
        poll = select.poll()
        for fd in self._open:
            poll.register(fd, select.POLLIN)
        alive = len(self._open)
        while alive and not self._over.is_set():
            for fd, _ in poll.poll(50):
                poll.unregister(fd)
                alive -= 1
                self._at = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends whoever is left."""
        self._over.set()
        self._looking.join()
        for fd in self._open:
            try:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            except ProcessLookupError:
                pass  # as it should be
            os.close(fd)
