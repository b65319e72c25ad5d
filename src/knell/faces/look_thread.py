"""The thread that looks for `top` and `web`: until it is told to stop, and while it is wanted."""

import threading
from collections.abc import Callable

from knell.api import Knell


class LookThread(threading.Thread):
    """Calls `look_on` again and again, except while it rests: each call looks, and returns."""

    def __init__(
        self, name: str, open_knell: Callable[[], Knell], *, resting: bool = False
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._open = open_knell
        self._wake = threading.Event()
        self._over = False
        self._resting = resting  # no viewer is there, so it does not look

    def stop(self) -> None:
        self._over = True
        self._wake.set()

    def begin(self) -> None:
        """Looks from now on: a first viewer has come."""
        self._resting = False
        self._wake.set()

    def rest(self) -> None:
        """Stops looking: the last viewer has left."""
        self._resting = True
        self._wake.set()

    def refresh(self) -> None:
        """Looks at once, because something was done."""
        self._wake.set()

    def run(self) -> None:
        with self._open() as knell:
            while not self._over:
                if self._resting:
                    self.pause()
                    self.rested()
                else:
                    self.look_on(knell)

    def pause(self, seconds: float | None = None) -> bool:
        """Waits that long, or until it is woken; whether it was."""
        woken = self._wake.wait(seconds)
        self._wake.clear()
        return woken

    def rested(self) -> None:
        """Called after each rest, for what must know that no look was made meanwhile."""

    def look_on(self, knell: Knell) -> None:
        raise NotImplementedError
