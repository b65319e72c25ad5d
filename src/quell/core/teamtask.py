"""The work of a team: forward-only states, priorities, dependencies without cycles, claims."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from quell.core.errors import BadRequest, IllegalTransition

LONGEST = 64 * 1024  # characters of a description
LONGEST_TITLE = 500
LONGEST_ID = 200


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class Deed(StrEnum):
    CLAIM = "claim"
    COMPLETE = "complete"
    RELEASE = "release"  # its owner gives it back, or has ended
    FAIL = "fail"


STATES: dict[tuple[Status, Deed], Status] = {
    (Status.PENDING, Deed.CLAIM): Status.IN_PROGRESS,
    (Status.IN_PROGRESS, Deed.COMPLETE): Status.COMPLETED,
    (Status.IN_PROGRESS, Deed.RELEASE): Status.PENDING,
}


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


ORDER = (Priority.HIGH, Priority.NORMAL, Priority.LOW)


class TeamTask(NamedTuple):
    id: str
    team: str
    title: str
    description: str = ""
    priority: str = Priority.NORMAL.value
    status: str = Status.PENDING.value
    owner: str = ""  # the agent
    owner_run: str = ""  # and in which life it claimed
    token: int = 0  # counts claims: an answer with an older number comes from a former owner
    created_at: str = ""
    updated_at: str = ""
    claimed_at: str = ""
    completed_at: str = ""
    warning: str = ""
    needs: tuple[str, ...] = ()  # open tasks that should be done first
    blocks: tuple[str, ...] = ()


def next_status(status: Status, deed: Deed) -> Status:
    """Along the table, or IllegalTransition."""
    try:
        return STATES[status, deed]
    except KeyError:
        raise IllegalTransition(status, deed) from None


def checked_task(task: TeamTask) -> TeamTask:
    """`task`, if it is one that may be added; without an id, it is given one."""
    if (task.id and not task.id.strip()) or not task.title.strip():
        raise BadRequest("a task needs a title, and its id is a word")
    for what, text, most in (
        ("id", task.id, LONGEST_ID),
        ("title", task.title, LONGEST_TITLE),
        ("description", task.description, LONGEST),
    ):
        if len(text) > most:
            raise BadRequest(
                f"the {what} of a task is longer than {most} characters", "put it in a file"
            )
    if task.priority not in set(Priority):
        raise BadRequest(f"'{task.priority}' is no priority", f"use one of {', '.join(Priority)}")
    return task


def unmet(needs: Sequence[str]) -> str:
    """The warning of a task that was claimed before its time; empty if it was not."""
    return f"Unfinished: {', '.join(needs)}" if needs else ""


def reassigned(agent: str) -> str:
    """The warning that a handed-back task carries."""
    return f"Reassigned: previous owner {agent} terminated"


def cycle(task: str, needs: Sequence[str], known: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The way round that these needs would close, from the task to itself; empty if none."""
    came: dict[str, str] = {}
    todo = [(need, task) for need in needs]
    while todo:
        here, before = todo.pop(0)
        if here in came:
            continue
        came[here] = before
        if here == task:
            return _way_back(task, came)
        todo += [(need, here) for need in known.get(here, ())]
    return ()


def _way_back(task: str, came: Mapping[str, str]) -> tuple[str, ...]:
    way = [task]
    while (here := came[way[-1]]) != task:
        way.append(here)
    return (task, *reversed(way[1:]), task)
