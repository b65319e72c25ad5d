"""What the verbs need of the store for teams, and what it can refuse. The plugs are in stores/.

Each method is one transaction.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from knell.core.codes import Code
from knell.core.errors import AskerError
from knell.core.process import ProcessId
from knell.core.shutdown import Move, ShutdownRequest
from knell.core.teams import Message, Team, TeamMember, TeamTask

# -- what it can refuse ------------------------------------------------------------------------


class NoSuchTeam(AskerError):
    """The team never existed, or it was dissolved."""

    code = Code.TEAM_NOT_FOUND

    def __init__(self, team: str, teams: Sequence[Team] = ()) -> None:
        """`teams`: those among which the one that was meant may be."""
        import difflib

        names = [one.name for one in teams if not one.dissolved_at]
        close = difflib.get_close_matches(team, names, 1)
        hint = f"did you mean {close[0]}?" if close else "knell team list shows every team"
        super().__init__(f"Team '{team}' does not exist", hint)


class TeamExists(AskerError):
    code = Code.TEAM_EXISTS

    def __init__(self, team: str) -> None:
        super().__init__(
            f"there is a team '{team}' already", f"use it, or knell team dissolve {team} first"
        )


class InAnotherTeam(AskerError):
    code = Code.IN_ANOTHER_TEAM

    def __init__(self, agent: str, team: str) -> None:
        super().__init__(
            f"'{agent}' belongs to team '{team}'", f"run knell team remove {team} {agent} first"
        )


class NoSuchTask(AskerError):
    code = Code.TASK_NOT_FOUND

    def __init__(self, task: str, team: str = "") -> None:
        where = f" in team '{team}'" if team else ""
        super().__init__(f"there is no task '{task}'{where}", "knell task list shows every task")


class NotPending(AskerError):
    """Another agent was faster, or the task is done."""

    code = Code.TASK_TAKEN

    def __init__(self, task: TeamTask, deed: str) -> None:
        super().__init__(
            f"task '{task.id}' is {task.status} and cannot be {deed}",
            f"it is {task.owner}'s" if task.owner else "",
        )


class NotYours(AskerError):
    """The task is another agent's, or was handed on since this agent claimed it."""

    code = Code.TASK_NOT_YOURS

    def __init__(self, task: TeamTask, agent: str) -> None:
        whose = f"belongs to {task.owner}" if task.owner else "waits for an agent to claim it"
        if task.owner == agent:
            whose = "was handed on after that claim"
        super().__init__(
            f"task '{task.id}' {whose}", f"stop working on it; knell task show {task.id}"
        )


class NoSuchRequest(AskerError):
    code = Code.REQUEST_NOT_FOUND

    def __init__(self, id: str) -> None:
        super().__init__(f"there is no shutdown request '{id}'", "it may have been withdrawn")


# -- what it answers ---------------------------------------------------------------------------


class AskedShutdown(NamedTuple):
    request: ShutdownRequest
    news: bool  # False: the run had been asked already, and this is that request


class MovedShutdown(NamedTuple):
    request: ShutdownRequest
    moved: bool  # False: the table does not allow that move, and the request is unchanged


class Backend(NamedTuple):
    """A server program that several runs share."""

    id: str
    kind: str
    project: str
    process: ProcessId | None
    port: int
    log: str = ""
    started_at: str = ""
    retired_at: str = ""  # when a process began to end it: no run may begin to use it any more
    runs: tuple[str, ...] = ()  # the live runs that use it


# -- the parts of the store --------------------------------------------------------------------


class TeamStore(Protocol):
    def add(self, team: Team) -> Team: ...
    def team(self, name: str) -> Team | None: ...
    def teams(self) -> list[Team]: ...
    def dissolve(self, team: str) -> list[TeamMember]: ...
    def join(self, team: str, agent: str, role: str = "", run: str = "") -> TeamMember: ...
    def leave(self, agent: str) -> TeamMember | None: ...
    def members(self, team: str) -> list[TeamMember]: ...
    def membership(self, agent: str) -> TeamMember | None: ...


class TeamTaskStore(Protocol):
    def add(self, task: TeamTask) -> TeamTask: ...
    def task(self, task: str) -> TeamTask | None: ...
    def tasks(self, team: str = "", status: str = "", owner: str = "") -> list[TeamTask]: ...
    def claim(self, task: str, agent: str, run: str = "") -> TeamTask: ...
    def complete(self, task: str, agent: str, token: int) -> TeamTask: ...
    def release(self, task: str, agent: str, token: int) -> TeamTask: ...
    def take_back(self, task: str, token: int) -> bool: ...
    def delete(self, task: str) -> None: ...


class MessageStore(Protocol):
    def send(
        self,
        team: str,
        sender: str,
        recipients: Sequence[str],
        type: str,
        body: str,
        summary: str = "",
    ) -> list[Message]: ...
    def take(self, agent: str, limit: int) -> list[Message]: ...
    def peek(self, agent: str, limit: int) -> list[Message]: ...


class ShutdownStore(Protocol):
    def ask(self, request: ShutdownRequest) -> AskedShutdown: ...
    def request(self, id: str) -> ShutdownRequest | None: ...
    def open_of(self, run: str) -> ShutdownRequest | None: ...
    def open_requests(self) -> list[ShutdownRequest]: ...
    def of(self, agent: str) -> list[ShutdownRequest]: ...
    # `deadline_at`: of an approval; empty: the agent is ready.
    def move(
        self, id: str, move: Move, answer: str = "", deadline_at: str = ""
    ) -> MovedShutdown: ...


class BackendStore(Protocol):
    def add(self, backend: Backend) -> Backend: ...
    def all(self) -> list[Backend]: ...
    def use(self, server: str, run: str) -> bool: ...
    def retire(self, server: str) -> bool: ...
    def drop(self, server: str) -> bool: ...
