"""How long a terminal is waited for: not at length again and again for one that has fallen silent.

A frozen server with fifty panes would else hold up the first signal of `kill all` for minutes.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager

from quell.places.commands import NoAnswer

HURRY = 30.0  # seconds after a wait in vain in which the next one is short
MOMENT = 0.3


class Patience:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._hurried: dict[str, float] = {}  # server → until when

    @contextmanager
    def waiting(self, server: str) -> Generator[float]:
        """How many seconds to wait for that server; a NoAnswer inside is remembered."""
        hurried = time.monotonic() < self._hurried.get(server, 0.0)
        try:
            yield min(self._seconds, MOMENT) if hurried else self._seconds
        except NoAnswer:
            self._hurried[server] = time.monotonic() + HURRY
            raise
        self._hurried.pop(server, None)
