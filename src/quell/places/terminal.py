"""The terminal that `quell run` was started in: somebody else's, never opened, never closed."""

import re
from collections.abc import Mapping, Sequence

from quell.core.errors import PlaceFailed
from quell.core.panes import Absent, Closing, Launch, PaneSighting
from quell.core.run import Place
from quell.core.signs import Sign


def here(env: Mapping[str, str]) -> Place:
    """The surrounding terminal. Inside tmux it knows its pane, for the last screen only."""
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

    def open(self, launch: Launch) -> Place:
        raise PlaceFailed("only quell run uses the terminal it was started in")

    def look(self, place: Place, run: str) -> PaneSighting:
        return Absent("this terminal is not quell's")

    def screen(self, place: Place) -> str:
        """What tmux shows there; empty in a terminal that cannot be read."""
        if not place.pane:
            return ""
        from quell.places.tmux import Tmux

        return Tmux(self._env, self._timeout).screen(place)

    def stirred(self, places: Sequence[Place]) -> dict[Place, Sign]:
        """As tmux tells it; nothing of a terminal that cannot be read."""
        inside = [place for place in places if place.pane]
        if not inside:
            return {}
        from quell.places.tmux import Tmux

        return Tmux(self._env, self._timeout).stirred(inside)

    def type_line(self, place: Place, clear: tuple[str, ...], line: str, shown: str = "") -> None:
        raise PlaceFailed("quell does not type into the terminal it was started in")

    def close(self, place: Place, run: str) -> Closing:
        return Closing(closed=False, why="the terminal is not quell's to close")

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        raise PlaceFailed("a terminal cannot be adopted", "adopt the agent by its PID")
