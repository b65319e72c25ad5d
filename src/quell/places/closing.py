"""What became of closing a pane, in the same words for every terminal."""

import time
from collections.abc import Callable

from quell.core.panes import Absent, Closing, PaneSighting, Present
from quell.core.process import Unknown
from quell.core.run import Place
from quell.places.commands import pause


def until_absent(look: Callable[[], PaneSighting], timeout: float) -> PaneSighting:
    """The last look: a closed pane stays listed for a moment, and its server may end with it."""
    deadline = time.monotonic() + timeout
    while not isinstance(seen := look(), Absent) and time.monotonic() < deadline:
        pause(0.01)
    return seen


def closing(place: Place, seen: PaneSighting, retry: tuple[str, ...], refusal: str = "") -> Closing:
    """The verdict on what was seen afterwards; `retry` is what a person can run by hand."""
    match seen:
        case Absent(why="not ours"):  # no retry: it would close somebody else's
            return Closing(closed=False, why=f"{place.name} pane {place.pane} is not this run's")
        case Absent():
            return Closing(closed=True)
        case Present():
            why = refusal or f"{place.name} kept the pane {place.pane}"
        case Unknown():
            why = refusal or seen.why
    import shlex

    return Closing(closed=False, retry=shlex.join(retry), why=why)
