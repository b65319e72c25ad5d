"""Teams, their tasks and messages: what they are, and what each role may do."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from knell.core.errors import BadRequest, IllegalTransition
from knell.core.receipt import Receipt

LONGEST = 64 * 1024  # characters of one message, and of the description of a task
LONGEST_TITLE = 500
LONGEST_ID = 200
LONGEST_POLL = 30.0  # seconds that one poll of an inbox may wait

# -- teams ---------------------------------------------------------------------------------------

# The colours of the contract; in a larger team, the longest-held ones are shared.
COLOURS = (
    *("#FF6B6B", "#4ECDC4", "#45B7D1", "#96CEB4", "#FFEAA7"),
    *("#DDA0DD", "#98D8C8", "#F7DC6F", "#BB8FCE", "#85C1E9"),
)


class Role(StrEnum):
    LEADER = "leader"
    WORKER = "worker"
    REVIEWER = "reviewer"
    TASK_MANAGER = "task-manager"


class Topology(StrEnum):
    FLAT = "flat"  # every member claims tasks
    HIERARCHICAL = "hierarchical"  # only the leader and task managers hand them out


class Team(NamedTuple):
    name: str
    leader: str  # the agent's name; empty: only the operator leads
    created_at: str = ""
    topology: str = Topology.FLAT.value
    description: str = ""
    dissolved_at: str = ""


class TeamMember(NamedTuple):
    """An agent that belongs to a team until its run is proven to be over."""

    team: str
    agent: str
    role: str
    colour: str
    joined_at: str
    run: str = ""  # empty: the agent was added before it was started


# tool or verb → roles that must not use it; all other roles may
DENIED = {
    "kill-agent": (Role.WORKER, Role.REVIEWER, Role.TASK_MANAGER),
    "spawn-agent": (Role.WORKER, Role.REVIEWER, Role.TASK_MANAGER),
    "dissolve-team": (Role.WORKER, Role.REVIEWER, Role.TASK_MANAGER),
    "claim-task": (Role.LEADER,),
}


def may(role: str, what: str) -> bool:
    """Whether that role may do that. An unknown role counts as a worker."""
    known = role if role in set(Role) else Role.WORKER
    return known not in DENIED.get(what, ())


def next_colour(held: Sequence[str]) -> str:
    """The first that no live member holds; else the one held longest (`held`: oldest first)."""
    latest = {colour: place for place, colour in enumerate(held)}
    return min(COLOURS, key=lambda colour: latest.get(colour, -1))


# -- tasks ---------------------------------------------------------------------------------------


class TaskStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class TaskDeed(StrEnum):
    CLAIM = "claim"
    COMPLETE = "complete"
    RELEASE = "release"  # its owner gives it back, or has ended


STATES: dict[tuple[TaskStatus, TaskDeed], TaskStatus] = {
    (TaskStatus.PENDING, TaskDeed.CLAIM): TaskStatus.IN_PROGRESS,
    (TaskStatus.IN_PROGRESS, TaskDeed.COMPLETE): TaskStatus.COMPLETED,
    (TaskStatus.IN_PROGRESS, TaskDeed.RELEASE): TaskStatus.PENDING,
}


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class TeamTask(NamedTuple):
    id: str
    team: str
    title: str
    description: str = ""
    priority: str = Priority.NORMAL.value
    status: str = TaskStatus.PENDING.value
    owner: str = ""  # the agent
    owner_run: str = ""  # the run of the owner that claimed it
    token: int = 0  # counts claims: a caller with an older number is a former owner
    created_at: str = ""
    updated_at: str = ""
    claimed_at: str = ""
    completed_at: str = ""
    warning: str = ""
    needs: tuple[str, ...] = ()  # open tasks that should be done first
    blocks: tuple[str, ...] = ()


def next_status(status: TaskStatus, deed: TaskDeed) -> TaskStatus:
    """The next state by the table, or IllegalTransition."""
    if (status, deed) not in STATES:
        raise IllegalTransition(status, deed)
    return STATES[status, deed]


def checked_task(task: TeamTask) -> TeamTask:
    """`task`, if it may be added; an empty id is allowed."""
    if (task.id and not task.id.strip()) or not task.title.strip():
        raise BadRequest("a task needs a title, and its id is a word", "knell task add TITLE")
    for what, text, most in (
        ("id", task.id, LONGEST_ID),
        ("title", task.title, LONGEST_TITLE),
        ("description", task.description, LONGEST),
    ):
        if len(text) > most:
            why = f"the {what} of a task is longer than {most} characters"
            raise BadRequest(why, "put it in a file")
    if task.priority not in set(Priority):
        raise BadRequest(f"'{task.priority}' is no priority", f"use one of {', '.join(Priority)}")
    return task


def reassigned_tasks(receipts: Iterable[Receipt]) -> list[str]:
    """The team tasks that ended runs were working on, which other members can claim now. Tasks that
    were only assigned to them are in the receipts."""
    tasks = (task for receipt in receipts for task in receipt.tasks if task.get("kind") == "team")
    return [task["id"] for task in tasks if task["was"] == TaskStatus.IN_PROGRESS]


# -- messages ------------------------------------------------------------------------------------

EVERYBODY = "*"


class MessageType(StrEnum):
    PLAIN = "plain"
    IDLE = "idle"
    TASK_ASSIGNMENT = "task_assignment"
    SHUTDOWN_REQUEST = "shutdown_request"
    SHUTDOWN_APPROVED = "shutdown_approved"  # an answer; its body says whether it approves
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


def checked_message(body: str, type: str) -> str:
    """The type, if it is known and the body is not too long."""
    if len(body) > LONGEST:
        why = f"a message of {len(body)} characters is longer than {LONGEST}"
        raise BadRequest(why, "put it in a file")
    if type not in set(MessageType):
        raise BadRequest(f"'{type}' is no type of message", f"use one of {', '.join(MessageType)}")
    return type
