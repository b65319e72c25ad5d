"""What becomes of an orchestrator's task when the agent that works on it ends."""

from enum import StrEnum
from typing import NamedTuple

from knell.core.run import Outcome


class Fate(StrEnum):
    FAIL = "fail"
    RETRY = "retry"  # ready again, and counted as one more try
    REQUEUE = "requeue"  # ready again, as if no agent had begun it
    LEAVE = "leave"


OPEN = ("pending", "spawned", "running", "in_progress")  # the others never change
READY = "spawned"  # the orchestrator's word for a task that waits for an agent
FAILED = "failed"

_USUAL = {
    Outcome.COMPLETED: Fate.REQUEUE,  # leaving is not finishing: a finished task is closed already
    Outcome.STOPPED: Fate.LEAVE,  # resumable, with its task
    Outcome.ARCHIVED: Fate.LEAVE,  # the agent runs on
}


class OrchestratorTask(NamedTuple):
    """One row of `orchestrator_task`."""

    id: str
    status: str
    agent: str = ""
    retries: int = 0
    error: str = ""


class ReturnedTask(NamedTuple):
    """A task whose agent ended, and what it is now."""

    id: str
    now: str
    was: str


def fate_of(asked: str, outcome: Outcome, *, comes_back: bool) -> Fate:
    """The fate that was asked for; else one that fits how the run ended, and whether the watch
    will start the agent again."""
    if asked:
        return Fate(asked)
    usual = _USUAL.get(outcome, Fate.FAIL)
    return Fate.RETRY if usual is Fate.FAIL and comes_back else usual


def returned(task: OrchestratorTask, fate: Fate) -> ReturnedTask | None:
    """What the task turns into; None if it does not change. A closed task never changes."""
    if task.status not in OPEN or fate is Fate.LEAVE:
        return None
    return ReturnedTask(task.id, FAILED if fate is Fate.FAIL else READY, task.status)
