"""Asking an agent to leave, as a table: code may only move along it."""

from enum import StrEnum
from typing import NamedTuple

from quell.core.errors import IllegalTransition


class Phase(StrEnum):
    REQUESTED = "requested"
    APPROVED = "approved"  # it agrees; its run is being ended
    REJECTED = "rejected"  # it goes on as before, and may be asked again
    CONFIRMED = "confirmed"  # its end is proven
    FORCE_KILLED = "force_killed"
    WITHDRAWN = "withdrawn"  # it ended in another way, or the asker thought better of it


class Move(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    FORCE = "force"
    GONE = "gone"  # the run's end is proven
    WITHDRAW = "withdraw"
    LET_GO = "let go"  # nobody watches over the run any more, and it may live on


class Overdue(StrEnum):
    """What the watch does about somebody who does not answer in time."""

    FORCE = "force"
    REPORT = "report"


PHASES: dict[tuple[Phase, Move], Phase] = {
    (Phase.REQUESTED, Move.APPROVE): Phase.APPROVED,
    (Phase.REQUESTED, Move.REJECT): Phase.REJECTED,
    (Phase.REQUESTED, Move.FORCE): Phase.FORCE_KILLED,
    (Phase.REQUESTED, Move.GONE): Phase.CONFIRMED,  # it left instead of answering
    (Phase.REQUESTED, Move.WITHDRAW): Phase.WITHDRAWN,
    (Phase.REQUESTED, Move.LET_GO): Phase.WITHDRAWN,
    (Phase.APPROVED, Move.FORCE): Phase.FORCE_KILLED,
    (Phase.APPROVED, Move.GONE): Phase.CONFIRMED,
    (Phase.APPROVED, Move.LET_GO): Phase.WITHDRAWN,
}
OPEN = (Phase.REQUESTED, Phase.APPROVED)  # while one is open, its agent is shutting down


class Request(NamedTuple):
    id: str
    team: str
    agent: str  # whom it asks
    run: str  # the life that is meant: a later one is not bound by it
    by: str  # who asks
    phase: str
    reason: str = ""
    force: bool = False
    requested_at: str = ""
    responded_at: str = ""
    completed_at: str = ""
    answer: str = ""  # the reason that was given with the answer
    deadline_at: str = ""  # empty: it may take for ever
    overdue: str = Overdue.FORCE.value


def moved(phase: Phase, move: Move) -> Phase:
    """The next phase, or IllegalTransition."""
    try:
        return PHASES[phase, move]
    except KeyError:
        raise IllegalTransition(phase, move) from None


def is_open(request: Request) -> bool:
    return request.phase in OPEN
