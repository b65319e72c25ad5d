"""Whether an ended run's agent is started again, when, and why not: two tables, without I/O."""

import re
from enum import StrEnum
from typing import NamedTuple

from knell.core.run import Ending, Outcome

MOST = 3  # restarts in a row, unless the agent was given another number
FIRST = 2.0  # seconds before the first restart; each further one waits twice as long
LONGEST = 120.0  # seconds; no restart waits longer
STEADY = 600.0  # seconds; after a run that lived this long, the count of restarts begins again
LONG_AGO = 86_400.0  # seconds; a run that ended longer ago is not started again by the watch

INTERRUPTED = (2, 130)  # Ctrl-C, as a signal and as a shell reports it
CANNOT_RUN = (126, 127)  # what a shell reports for a command that it cannot start


# -- the plan: what was decided about an ended run, and how that may change ----------------------


class PlanState(StrEnum):
    PLANNED = "planned"  # it will be started when it is due
    REFUSED = "refused"
    FAILED = "failed"  # the start was tried and failed
    STARTED = "started"  # a new run took its place: final


LATER: dict[PlanState, tuple[PlanState, ...]] = {
    PlanState.PLANNED: (PlanState.REFUSED, PlanState.FAILED, PlanState.STARTED),
    PlanState.REFUSED: (PlanState.STARTED,),
    PlanState.FAILED: (PlanState.STARTED,),
    PlanState.STARTED: (),
}


class RestartPlan(NamedTuple):
    run: str
    agent: str
    decision: str  # a PlanState
    why: str
    attempt: int = 0  # of the run that would follow
    due_at: str = ""


def supersedes(plan: RestartPlan, known: RestartPlan) -> bool:
    """Whether `plan` may replace `known`: by a later state, or by a later attempt."""
    before = PlanState(known.decision)
    later = PlanState(plan.decision) in LATER[before] or plan.attempt > known.attempt
    return later and before is not PlanState.STARTED


# -- the error that ended it -----------------------------------------------------------------------


class KnownError(NamedTuple):
    """What an agent's last words say about its end."""

    name: str  # the orchestrator's own word
    looks: str = ""  # a regex of what programs write when it happens
    permanent: bool = False
    most: int = MOST


_ERRORS = (
    KnownError("git_conflict", r"\bCONFLICT \(|Automatic merge failed", permanent=True),
    KnownError("syntax_error", r"\bSyntaxError\b", permanent=True),
    KnownError("spec_not_found", r"[Ss]pec(ification)? not found", permanent=True),
    KnownError("invalid_configuration", r"[Ii]nvalid (config|API key)", permanent=True),
    KnownError("database_lock", r"database is locked"),
    KnownError("network_timeout", r"ETIMEDOUT|ECONNRESET|[Cc]onnection (timed out|reset|refused)"),
    KnownError("resource_exhaustion", r"[Oo]ut of memory|ENOMEM|No space left", most=2),
    KnownError("timeout", r"[Tt]imed out", most=2),
)
TEMPORARY = KnownError("temporary_error")


def error_in(words: str) -> KnownError:
    """The first known error in an error message or in the last lines of a screen."""
    found = (one for one in _ERRORS if re.search(rf"\b{one.name}\b|{one.looks}", words))
    return next(found, TEMPORARY)


# -- the decision ----------------------------------------------------------------------------------


class EndedRun(NamedTuple):
    """What the decision needs to know about a run that has ended."""

    ending: Ending
    attempt: int = 0  # restarts in a row that lie behind it
    lived: float = 0.0  # seconds
    words: str = ""  # the last lines of its screen
    ended_ago: float = 0.0  # seconds
    cut_short: bool = False  # the process that started it again died before the agent began


class RestartRules(NamedTuple):
    most: int  # restarts in a row
    first: float = FIRST
    longest: float = LONGEST
    even_on_purpose: bool = False  # the caller names the agent, so that a kill is no obstacle


class RestartRefusal(StrEnum):
    LONG_AGO = "long_ago"
    ON_PURPOSE = "on_purpose"
    CANNOT_START = "cannot_start"
    PERMANENT_ERROR = "permanent_error"
    TOO_OFTEN = "too_often"


class RestartDecision(NamedTuple):
    why: str
    refusal: RestartRefusal | None = None  # None: it is started again
    attempt: int = 0  # of the run that follows
    delay: float = 0.0  # seconds after the end

    @property
    def again(self) -> bool:
        return self.refusal is None


def backoff(attempt: int, first: float = FIRST, longest: float = LONGEST) -> float:
    """Seconds before restart number `attempt`, counted from 1."""
    return min(first * 2.0 ** min(attempt - 1, 60), longest)


def why_on_purpose(ending: Ending) -> str:
    """Why this end was a decision of a person or a program; empty if it was an accident."""
    if ending.reason == "stalled":  # it was ended because it hung, not to have it gone
        return ""
    if ending.outcome is Outcome.COMPLETED:
        return "it finished: exit 0"
    if ending.outcome in (Outcome.STOPPED, Outcome.KILLED, Outcome.ARCHIVED):
        return f"{ending.outcome} on purpose by {ending.by} ({ending.reason})"
    if ending.outcome is Outcome.TERMINATED:
        return "its keeper got a signal: it was ended by hand"
    if ending.exit_signal in INTERRUPTED or ending.exit_code in INTERRUPTED[1:]:
        return "a person pressed Ctrl-C"
    return ""


def decide(run: EndedRun, rules: RestartRules) -> RestartDecision:
    """Whether the agent of `run` is started again: no, by the first row that has a reason."""
    ending = run.ending
    error = error_in(f"{ending.detail}\n{run.words}")
    most = rules.most if error is TEMPORARY else min(rules.most, error.most)
    following = 1 if run.lived >= STEADY else run.attempt + 1  # the restart that would follow
    cannot = ending.exit_code in CANNOT_RUN or ending.reason == "not_started"
    on_purpose = "" if rules.even_on_purpose else why_on_purpose(ending)
    old = "it ended more than a day before the watch looked"
    unable = f"it cannot be started: {ending.detail or 'exit 127'}"
    refusals = (
        (run.ended_ago > LONG_AGO, RestartRefusal.LONG_AGO, old),
        (bool(on_purpose), RestartRefusal.ON_PURPOSE, on_purpose),
        (cannot, RestartRefusal.CANNOT_START, unable),
        (error.permanent, RestartRefusal.PERMANENT_ERROR, f"{error.name} is permanent"),
        (rules.most <= 0, RestartRefusal.TOO_OFTEN, "restarts are not allowed for it"),
        (following > most, RestartRefusal.TOO_OFTEN, f"{error.name}: {most} restarts are enough"),
    )
    # A restart that was cut short says nothing about the agent: only its age counts.
    for holds, refusal, why in refusals[:1] if run.cut_short else refusals:
        if holds:
            return RestartDecision(why, refusal)
    if run.cut_short:
        why = "the process that started it again died before it began"
        return RestartDecision(why, None, run.attempt, rules.first)
    cause = "stalled" if ending.reason == "stalled" else error.name
    why = f"{cause}: restart {following} of {most}"
    return RestartDecision(why, None, following, backoff(following, rules.first, rules.longest))
