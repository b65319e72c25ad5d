"""What the options of `stop` and `delete` come to: one plan, decided here and nowhere else."""

from datetime import datetime
from typing import Any, NamedTuple

from knell.core.errors import BadRequest
from knell.core.run import Outcome

MODES = ("graceful", "soft", "hard")
REASON_LIMIT = 200


class StopOptions(NamedTuple):
    mode: str = ""  # empty: the setting decides
    graceful: bool = False
    capture_id: bool = False
    reason: str = ""


class StopPlan(NamedTuple):
    outcome: Outcome
    exit_keys: bool  # type what a person would type, before any signal
    let_go: bool  # no signal at all
    capture_id: bool  # find the conversation's id first and write it down
    reason: str


def stop_plan(options: StopOptions, default_mode: str) -> StopPlan:
    """Any of the three stop options makes a hard ending a deliberate, resumable stop."""
    stops = options.graceful or options.capture_id or bool(options.reason)
    # They ask for a stop: a default that lets go does not keep it from ending.
    usual = "hard" if stops and default_mode == "soft" else default_mode
    mode = options.mode or usual
    if mode not in MODES:
        raise BadRequest(f"'{mode}' is no mode", f"use one of {', '.join(MODES)}")
    reason = options.reason
    if len(reason) > REASON_LIMIT or not reason.isprintable():  # other tools read it as a line
        raise BadRequest(
            f"a reason is one line of at most {REASON_LIMIT} characters",
            "for example user_request, api_error, timeout, crash",
        )
    graceful, soft = mode == "graceful", mode == "soft"
    if soft and options.graceful:
        why = "--mode soft lets the agent run on, so --graceful has no effect"
        raise BadRequest(why, "give one of them")
    hard = Outcome.STOPPED if graceful or stops else Outcome.TERMINATED
    return StopPlan(
        outcome=Outcome.ARCHIVED if soft else hard,
        exit_keys=not soft and (graceful or options.graceful),
        let_go=soft,
        capture_id=graceful or options.capture_id,
        reason=reason or "manual_stop",
    )


def row_end(outcome: Outcome, reason: str, at: str, *, graceful: bool) -> dict[str, Any]:
    """The documented end fields of a row in the registry file."""
    moment = datetime.fromisoformat(at)
    zulu, epoch = moment.strftime("%Y-%m-%dT%H:%M:%SZ"), int(moment.timestamp())
    if outcome is Outcome.ARCHIVED:
        return {"status": "archived", "archived_at": zulu}
    if outcome is Outcome.STOPPED:
        return {
            "status": "stopped",
            "stopped_at": zulu,
            "stopped_at_epoch": epoch,
            "stop_reason": reason,
            "termination_mode": "graceful" if graceful else "stop",
        }
    return {"status": "terminated", "terminated_at": zulu, "terminated_at_epoch": epoch}


RESUMED_DROPS = (
    *("terminated_at", "terminated_at_epoch", "termination_mode", "archived_at"),
    *("stopped_at", "stopped_at_epoch", "stop_reason", "resumable"),
)
