"""What terminals with panes share: reading, typing into and closing a pane, and patience."""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from knell.core.errors import PlaceFailed
from knell.core.ports.terminal import Absent, Closing, PaneSighting, Present
from knell.core.process import Unknown
from knell.core.run import Place
from knell.places.commands import NoAnswer, key_text, pause

if TYPE_CHECKING:
    from knell.core.stall.signs import Sign

HURRY = 30.0  # seconds for which the waits stay short after a server has not answered
SHORT_WAIT = 0.3  # seconds


class AnswerTimeout:
    """How long to wait for an answer: only shortly if the server has just failed to answer.

    Otherwise a frozen server with fifty panes would delay `kill all` by minutes."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._hurried: dict[str, float] = {}  # server → until when

    @contextmanager
    def waiting(self, server: str) -> Generator[float]:
        """How many seconds to wait for that server; a NoAnswer inside is remembered."""
        hurried = time.monotonic() < self._hurried.get(server, 0.0)
        try:
            yield min(self._seconds, SHORT_WAIT) if hurried else self._seconds
        except NoAnswer:
            self._hurried[server] = time.monotonic() + HURRY
            raise
        self._hurried.pop(server, None)


class Panes(ABC):
    """A terminal that takes what is typed as text and does not tell when it drew."""

    name: str
    show_pane: str  # the terminal's own commands
    kill_pane: str
    has_panes = True

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._patience = AnswerTimeout(timeout)

    @abstractmethod
    def _find(self, place: Place) -> PaneSighting:
        """The pane, whichever run has it."""

    @abstractmethod
    def _text(self, place: Place) -> str: ...
    @abstractmethod
    def _send(self, place: Place, text: str) -> None: ...
    @abstractmethod
    def _kill(self, place: Place) -> None: ...
    @abstractmethod
    def _by_hand(self, place: Place, command: str) -> tuple[str, ...]:
        """What a person can run to give the terminal that command for the pane."""

    def look(self, place: Place, run: str) -> PaneSighting:
        return self._find(place)

    def attach_command(self, place: Place) -> tuple[str, ...]:
        return self._by_hand(place, self.show_pane)

    def screen(self, place: Place) -> str:
        """The pane's last lines; empty if it is gone, PlaceFailed if there is no answer."""
        seen = self._find(place)
        if isinstance(seen, Unknown):
            raise PlaceFailed(seen.why)
        return self._text(place) if isinstance(seen, Present) else ""

    def stirred(self, places: Sequence[Place]) -> dict[Place, "Sign"]:
        """No sign of when it drew: only the screen itself shows it."""
        from knell.core.stall.signs import Sign  # an ending needs none

        return {place: Sign("") for place in places}

    def keyboard(self, place: Place, run: str) -> PaneSighting:
        return self.look(place, run)

    def press(self, place: Place, key: str) -> None:
        self.type_text(place, key_text(key))

    def type_text(self, place: Place, text: str) -> None:
        seen = self._find(place)
        if not isinstance(seen, Present):
            why = f"the {self.name} pane {place.pane} cannot be typed into: {seen.why}"
            raise PlaceFailed(why)
        self._send(place, text)

    def close(self, place: Place, run: str) -> Closing:
        """Kill that one pane; done means that the terminal no longer has it."""
        seen, refusal = self.look(place, run), ""
        if isinstance(seen, Present):
            try:
                self._kill(place)
            except PlaceFailed as error:  # a terminal whose last pane goes may not answer any more
                refusal = str(error)
            # A closed pane stays listed for a moment, and its server may end with it.
            deadline = time.monotonic() + self._timeout
            seen = self.look(place, run)
            while not isinstance(seen, Absent) and time.monotonic() < deadline:
                pause(0.01)
                seen = self.look(place, run)
        return closing(place, seen, self._by_hand(place, self.kill_pane), refusal)


def closing(place: Place, seen: PaneSighting, retry: tuple[str, ...], refusal: str = "") -> Closing:
    """The verdict on what was seen afterwards; `retry` is what a person can run by hand."""
    match seen:
        case Absent(why="not ours"):  # no retry: it would close a pane of another program
            return Closing(closed=False, why=f"{place.name} pane {place.pane} is not this run's")
        case Absent():
            return Closing(closed=True)
        case Present():
            why = refusal or f"{place.name} kept the pane {place.pane}"
        case Unknown():
            why = refusal or seen.why
    import shlex

    return Closing(closed=False, retry=shlex.join(retry), why=why)
