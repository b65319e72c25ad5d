"""The thread that looks for `top` and `web`: until it is told to stop, and while it is wanted."""

import threading
from collections.abc import Callable

from knell.api import Knell


class LookThread(threading.Thread):
    """`look_on` looks; it comes back when it should be asked whether to go on."""

    def __init__(
        self, name: str, open_knell: Callable[[], Knell], *, resting: bool = False
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._open = open_knell
        self._wake = threading.Event()
        self._over = False
        self._resting = resting  # nobody is there to be told

    def stop(self) -> None:
        self._over = True
        self._wake.set()

    def begin(self) -> None:
        """Somebody has come who wants to know."""
        self._resting = False
        self._wake.set()

    def rest(self) -> None:
        """The last one has left."""
        self._resting = True
        self._wake.set()

    def refresh(self) -> None:
        """Something was done: the next look is now."""
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
        """Nothing was asked meanwhile."""

    def look_on(self, knell: Knell) -> None:
        raise NotImplementedError
