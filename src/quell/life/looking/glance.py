"""One sign of one run as a glance shows it, and how to read a time that others wrote."""

from datetime import UTC, datetime
from typing import NamedTuple

from quell.core.signs import Sign, Turn

FUTURE = 5.0  # seconds by which a sign may be ahead of our clock before it is not believed


class Glance(NamedTuple):
    """The sign, or why there is none; `unseen` where one may be and could not be looked at."""

    sign: Sign | None = None
    odd: tuple[str, ...] = ()
    unseen: bool = False
    turn: Turn = Turn.UNKNOWN
    asks: str = ""
    limited: str = ""
    busy: bool | None = None  # whether the screen says that a turn runs; None: it does not tell


def seconds_of(time: str) -> float | None:
    """Since 1970; a time without a zone is UTC, as SQLite writes it. None if it is no time."""
    try:
        at = datetime.fromisoformat(time)
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
