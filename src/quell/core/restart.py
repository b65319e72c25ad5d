"""Whether an agent that ended unasked is started again, when, and why not."""

import re
from typing import NamedTuple

from quell.core.lifecycle import Outcome
from quell.core.run import Ending

MOST = 3  # restarts in a row, unless the agent was given another number
FIRST = 2.0  # seconds before the first restart; each further one waits twice as long
LONGEST = 120.0
STEADY = 600.0  # a run that lived this long starts the count anew
LONG_AGO = 86_400.0  # what ended more than a day before the watch looked is not brought back

INTERRUPTED = (2, 130)  # Ctrl-C, as a signal and as a shell tells it
CANNOT_RUN = (126, 127)


class Trouble(NamedTuple):
    """What an agent's last words say about its end."""

    name: str
    permanent: bool
    most: int = MOST


# The orchestrator's own words, and what programs write when it happens.
_TROUBLES = (
    (Trouble("git_conflict", permanent=True), r"git_conflict|\bCONFLICT \(|Automatic merge failed"),
    (Trouble("syntax_error", permanent=True), r"syntax_error|\bSyntaxError\b"),
    (Trouble("spec_not_found", permanent=True), r"spec_not_found|[Ss]pec(ification)? not found"),
    (
        Trouble("invalid_configuration", permanent=True),
        r"invalid_configuration|[Ii]nvalid config|[Ii]nvalid API key",
    ),
    (Trouble("database_lock", permanent=False), r"database_lock|database is locked"),
    (
        Trouble("network_timeout", permanent=False),
        r"network_timeout|ETIMEDOUT|ECONNRESET|[Cc]onnection (timed out|reset|refused)",
    ),
    (
        Trouble("resource_exhaustion", permanent=False, most=2),
        r"resource_exhaustion|[Oo]ut of memory|ENOMEM|No space left",
    ),
    (Trouble("timeout", permanent=False, most=2), r"\btimeout\b|[Tt]imed out"),
)
TEMPORARY = Trouble("temporary_error", permanent=False)


class Decision(NamedTuple):
    again: bool
    why: str
    attempt: int = 0  # of the run that follows
    delay: float = 0.0


def backoff(attempt: int, first: float = FIRST, longest: float = LONGEST) -> float:
    """Seconds before restart number `attempt`, counted from 1."""
    return min(first * 2.0 ** min(attempt - 1, 60), longest)


def trouble_in(words: str) -> Trouble:
    """The first known trouble in an error message or in the last lines of a screen."""
    return next((told for told, looks in _TROUBLES if re.search(looks, words)), TEMPORARY)


def planned_end(ending: Ending) -> str:
    """Why this end was somebody's decision; empty for an accident."""
    if ending.reason == "stalled":  # ended because it no longer worked, not to have it gone
        return ""
    if ending.outcome is Outcome.COMPLETED:
        return "it finished: exit 0"
    if ending.outcome in (Outcome.STOPPED, Outcome.KILLED, Outcome.ARCHIVED):
        return f"{ending.outcome} on purpose by {ending.by} ({ending.reason})"
    if ending.outcome is Outcome.TERMINATED:
        return "somebody signalled its keeper: an end by hand"
    if ending.exit_signal in INTERRUPTED or ending.exit_code in INTERRUPTED[1:]:
        return "somebody pressed Ctrl-C"
    return ""


def decide(ending: Ending, *, wanted: int, attempt: int, lived: float, words: str = "") -> Decision:
    """`wanted` restarts at most, `attempt` of them lie behind; `words` are its last ones."""
    if wanted <= 0:
        return Decision(again=False, why="nobody asked for restarts")
    planned = planned_end(ending)
    if planned:
        return Decision(again=False, why=planned)
    if ending.exit_code in CANNOT_RUN or ending.reason == "not_started":
        return Decision(again=False, why=f"it cannot be started: {ending.detail or 'exit 127'}")
    trouble = trouble_in(f"{ending.detail}\n{words}")
    if trouble.permanent:
        return Decision(again=False, why=f"{trouble.name} is permanent")
    following = 1 if lived >= STEADY else attempt + 1
    most = min(wanted, trouble.most) if trouble is not TEMPORARY else wanted
    if following > most:
        return Decision(again=False, why=f"{trouble.name}: {most} restarts are enough")
    cause = ending.reason if ending.reason == "stalled" else trouble.name
    why = f"{cause}: restart {following} of {most}"
    return Decision(again=True, why=why, attempt=following, delay=backoff(following))
