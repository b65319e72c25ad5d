"""The rungs by which a run is ended, as data. Who climbs them is in processes/ending/loop.py."""

from enum import StrEnum
from typing import NamedTuple

from knell.core.errors import BadRequest

LONGEST_WAIT = 86_400.0  # a day: more is a typing error, and must not be a hang


class Rung(StrEnum):
    EXIT_KEYS = "exit_keys"  # type what a person would type to leave
    TERM = "term"  # SIGTERM, then SIGCONT: a stopped process takes no TERM
    KILL = "kill"


class Step(NamedTuple):
    rung: Rung
    wait: float  # seconds until the next rung; every wait ends the moment the last process does


Ladder = tuple[Step, ...]

VERIFY = 2.0  # after KILL: freeing 2 GB takes 56 ms, so this much silence means stuck

KILL: Ladder = (Step(Rung.TERM, 2.0), Step(Rung.KILL, VERIFY))
FORCE: Ladder = (Step(Rung.KILL, VERIFY),)
KILL_STALLED: Ladder = (Step(Rung.TERM, 10.0), Step(Rung.KILL, VERIFY))
STOP: Ladder = (Step(Rung.EXIT_KEYS, 3.0), Step(Rung.TERM, 5.0), Step(Rung.KILL, VERIFY))


def with_grace(ladder: Ladder, grace: float | None) -> Ladder:
    """The same ladder with another wait after TERM; 0 climbs straight on to KILL."""
    if grace is None:
        return ladder
    seconds = checked_wait(grace)
    return tuple(step._replace(wait=seconds) if step.rung is Rung.TERM else step for step in ladder)


def checked_wait(seconds: float) -> float:
    """`seconds` if a person can mean it."""
    hint = "give the grace in seconds, for example --grace 5"
    return checked_seconds("a wait", seconds, (0, LONGEST_WAIT), hint)


def checked_seconds(what: str, seconds: float, bounds: tuple[float, float], hint: str) -> float:
    """`seconds` if they lie within the bounds, which NaN never does."""
    least, most = bounds
    if not least <= seconds <= most:
        raise BadRequest(f"{what} of {seconds} seconds is not between {least} and {most:.0f}", hint)
    return seconds


def check_waits(*all_seconds: float | None) -> None:
    """Refuses what no start can wait; None is left to the settings."""
    for seconds in all_seconds:
        checked_seconds("a wait", seconds or 0.0, (0, LONGEST_WAIT), "give it in seconds")


def grace_of(ladder: Ladder) -> float:
    """Seconds between TERM and KILL; 0 for a ladder without TERM."""
    return next((step.wait for step in ladder if step.rung is Rung.TERM), 0.0)
