"""The terminal that `knell run` was started in. Knell did not open it and never closes it."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from knell.core.errors import PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch, PaneSighting
from knell.core.run import Place
from knell.core.stall.signs import Sign

if TYPE_CHECKING:
    from knell.places.tmux import Tmux


def here(env: Mapping[str, str]) -> Place:
    """The surrounding terminal. Inside tmux it knows its pane, for its screen and exit keys."""
    pane = env.get("TMUX_PANE", "")
    tmux = re.fullmatch(r"(/.*),(\d+),\d+", env.get("TMUX", ""))
    if tmux is None or not pane:
        return Place("terminal")
    return Place("terminal", pane, tmux[1], int(tmux[2]))


class ThisTerminal:
    name = "terminal"
    has_panes = False

    def __init__(self, env: Mapping[str, str], timeout: float = 5.0) -> None:
        self._env = env
        self._timeout = timeout

    def _tmux(self) -> "Tmux":
        from knell.places.tmux import Tmux

        return Tmux(self._env, self._timeout)

    def open(self, launch: Launch) -> Place:
        raise PlaceFailed("only knell run uses the terminal it was started in")

    def look(self, place: Place, run: str) -> PaneSighting:
        return Absent("this terminal is not knell's")

    def screen(self, place: Place) -> str:
        """What tmux shows there; empty in a terminal that cannot be read."""
        return self._tmux().screen(place) if place.pane else ""

    def stirred(self, places: Sequence[Place]) -> dict[Place, Sign]:
        """What tmux says of its panes; a terminal that cannot be read gives nothing."""
        inside = [place for place in places if place.pane]
        return self._tmux().stirred(inside) if inside else {}

    def keyboard(self, place: Place, run: str) -> PaneSighting:
        """The tmux pane around it. It is a person's, so that it does not bear the run's tag."""
        if not place.pane:
            return Absent("knell cannot type into the terminal that it runs in")
        return self._tmux().look(place, None)

    def press(self, place: Place, key: str) -> None:
        self._tmux().press(place, key)

    def type_text(self, place: Place, text: str) -> None:
        self._tmux().type_text(place, text)

    def close(self, place: Place, run: str) -> Closing:
        return Closing(closed=False, why="the terminal is not knell's to close")

    def attach_command(self, place: Place) -> tuple[str, ...]:
        if not place.pane:
            raise PlaceFailed("it runs in a terminal that knell cannot bring up")
        return self._tmux().attach_command(place)

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        raise PlaceFailed("a terminal cannot be adopted", "adopt the agent by its PID")
