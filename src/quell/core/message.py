"""Letters between agents: what one may hold, and how an answer to a shutdown request reads."""

import json
from enum import StrEnum
from typing import Any, NamedTuple, cast

from quell.core.errors import BadRequest

LONGEST = 64 * 1024  # characters of one letter
EVERYBODY = "*"
LONGEST_POLL = 30.0  # seconds that one question to an inbox may wait


class Letter(StrEnum):
    PLAIN = "plain"
    IDLE = "idle"
    TASK_ASSIGNMENT = "task_assignment"
    SHUTDOWN_REQUEST = "shutdown_request"
    SHUTDOWN_APPROVED = "shutdown_approved"  # the answer; its body says whether
    SHUTDOWN_REJECTED = "shutdown_rejected"


class Message(NamedTuple):
    id: int
    team: str
    sender: str
    to: str
    type: str
    body: str
    at: str
    read_at: str = ""
    summary: str = ""


class Answer(NamedTuple):
    """What an agent said to being asked to leave."""

    request: str  # the request's id; empty: the one that is open
    approved: bool
    reason: str = ""


def checked_letter(body: str, type: str) -> str:
    """The type, if it and the body are such as may be sent."""
    if len(body) > LONGEST:
        raise BadRequest(
            f"a message of {len(body)} characters is longer than {LONGEST}", "put it in a file"
        )
    if type not in set(Letter):
        raise BadRequest(f"'{type}' is no type of message", f"use one of {', '.join(Letter)}")
    return type


def answer_from(type: str, body: str) -> Answer:
    """The answer in a letter. Its body is JSON, or only words, which are then the reason.

    A body that is JSON and does not say plainly what it means is refused: nobody dies of a typo."""
    approving = type == Letter.SHUTDOWN_APPROVED
    text = body.strip()
    if not text.startswith("{"):
        return Answer("", approving, text)
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRequest("the answer is not JSON", 'for example {"approved": true}') from None
    parts = cast("dict[str, Any]", told)
    approved = parts.get("approved", approving)
    request = parts.get("requestId", parts.get("id", ""))
    reason = parts.get("reason", parts.get("responseReason", ""))
    if (
        not isinstance(approved, bool)
        or not isinstance(request, str)
        or not isinstance(reason, str)
    ):
        raise BadRequest(
            "the answer does not say whether it approves", 'for example {"approved": true}'
        )
    return Answer(request, approved and approving, reason)
