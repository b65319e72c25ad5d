"""Requests that an agent shut down: a table of phases, and how an agent's answer is read."""

from enum import StrEnum
from typing import Any, NamedTuple, cast

from knell.core.errors import BadRequest, IllegalTransition
from knell.core.teams import MessageType


class Phase(StrEnum):
    REQUESTED = "requested"
    APPROVED = "approved"  # the agent agrees, finishes its work, and then confirms
    REJECTED = "rejected"  # the agent goes on as before, and may be asked again
    CONFIRMED = "confirmed"  # the end of its run is proven
    FORCE_KILLED = "force_killed"
    WITHDRAWN = "withdrawn"  # the asker withdrew it, or the run was let go of


class Move(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    CONFIRM = "confirm"  # the agent has finished its work: its run is ended now
    FORCE = "force"
    GONE = "gone"  # the run's end is proven
    WITHDRAW = "withdraw"
    LET_GO = "let go"  # knell let go of the run, which may live on


PHASES: dict[tuple[Phase, Move], Phase] = {
    (Phase.REQUESTED, Move.APPROVE): Phase.APPROVED,
    (Phase.REQUESTED, Move.REJECT): Phase.REJECTED,
    (Phase.REQUESTED, Move.FORCE): Phase.FORCE_KILLED,
    (Phase.REQUESTED, Move.GONE): Phase.CONFIRMED,  # it ended instead of answering
    (Phase.REQUESTED, Move.WITHDRAW): Phase.WITHDRAWN,
    (Phase.REQUESTED, Move.LET_GO): Phase.WITHDRAWN,
    (Phase.APPROVED, Move.CONFIRM): Phase.APPROVED,  # until the end of the run is proven
    (Phase.APPROVED, Move.FORCE): Phase.FORCE_KILLED,
    (Phase.APPROVED, Move.GONE): Phase.CONFIRMED,
    (Phase.APPROVED, Move.LET_GO): Phase.WITHDRAWN,
}
OPEN = (Phase.REQUESTED, Phase.APPROVED)  # while one is open, its agent is shutting down


class Overdue(StrEnum):
    """What the watch does about an agent that does not answer in time."""

    FORCE = "force"
    REPORT = "report"


class ShutdownRequest(NamedTuple):
    id: str
    team: str
    agent: str  # the agent that is asked
    run: str  # the run that is meant: a later run of the agent is not bound by it
    by: str  # the caller that asks
    phase: str
    reason: str = ""
    force: bool = False
    requested_at: str = ""
    responded_at: str = ""
    completed_at: str = ""
    answer: str = ""  # the reason that the agent gave with its answer
    # While it is requested: until when the agent may answer; empty: for ever. Once it is approved:
    # until when the agent may finish its work; empty: it is ready.
    deadline_at: str = ""
    overdue: str = Overdue.FORCE.value


def next_phase(phase: Phase, move: Move) -> Phase:
    """The next phase, or IllegalTransition."""
    if (phase, move) not in PHASES:
        raise IllegalTransition(phase, move)
    return PHASES[phase, move]


class ShutdownAnswer(NamedTuple):
    """An agent's answer to a request that it shut down."""

    request: str  # the id of the request; empty: the one that is open
    approved: bool
    reason: str = ""
    needs: float | None = None  # seconds to finish its work; None: as configured
    confirmed: bool = False  # it approved before, and is ready now


def answer_from(kind: str, body: str) -> ShutdownAnswer:
    """The answer in a message. Its body is JSON, or only words, which are then the reason.

    A body of unclear JSON is refused, so that a typing error never ends a run."""
    import json

    approving = kind == MessageType.SHUTDOWN_APPROVED
    text = body.strip()
    if not text.startswith("{"):
        return ShutdownAnswer("", approving, text)
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRequest("the answer is not JSON", 'for example {"approved": true}') from None
    parts = cast("dict[str, Any]", parsed)
    approved = parts.get("approved", approving)
    request = parts.get("requestId", parts.get("id", ""))
    reason = parts.get("reason", parts.get("responseReason", ""))
    needs, phase = parts.get("needs"), parts.get("phase", "")
    timed = needs is None or (type(needs) in (int, float) and approving)
    if [type(one) for one in (approved, request, reason)] != [bool, str, str] or not timed:
        why = "the answer does not say whether it approves"
        raise BadRequest(why, 'for example {"approved": true}')
    confirmed = approved and approving and phase == Phase.CONFIRMED
    return ShutdownAnswer(request, approved and approving, reason, needs, confirmed)
