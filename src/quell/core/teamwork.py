"""What the verbs need of the store for teams, and what it can refuse. The plugs are in stores/."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from quell.core.errors import AskerError, BadRequest
from quell.core.message import Message
from quell.core.process import ProcessId
from quell.core.run import Run
from quell.core.shutdown import Move, Request
from quell.core.team import Member, Team
from quell.core.teamtask import TeamTask

# -- what it can refuse ------------------------------------------------------------------------


class NoSuchTeam(AskerError):
    """It never was, or it was dissolved."""

    def __init__(self, team: str) -> None:
        super().__init__(f"Team '{team}' does not exist", "quell team list shows every team")
        self.team = team


class TeamExists(AskerError):
    def __init__(self, team: str) -> None:
        super().__init__(
            f"there is a team '{team}' already", f"use it, or quell team dissolve {team} first"
        )


class InAnotherTeam(AskerError):
    def __init__(self, agent: str, team: str) -> None:
        super().__init__(
            f"'{agent}' belongs to team '{team}'", f"run quell team remove {team} {agent} first"
        )
        self.team = team


class NotLive(AskerError):
    """Its run has ended: nothing is given to it any more, as nobody would take it back."""

    def __init__(self, agent: str) -> None:
        super().__init__(f"Agent '{agent}' is already terminated", f"quell resume {agent}")
        self.agent = agent


class NoSuchTask(AskerError):
    def __init__(self, task: str, team: str = "") -> None:
        where = f" in team '{team}'" if team else ""
        super().__init__(f"there is no task '{task}'{where}", "quell task list shows every task")
        self.task = task


class TaskExists(AskerError):
    def __init__(self, task: str) -> None:
        super().__init__(f"there is a task '{task}' already", "give it another id")


class NotPending(AskerError):
    """Somebody was faster, or it is done."""

    def __init__(self, task: TeamTask, deed: str) -> None:
        super().__init__(
            f"task '{task.id}' is {task.status} and cannot be {deed}",
            f"it is {task.owner}'s" if task.owner else "",
        )
        self.task = task


class NotYours(AskerError):
    """Another's, or the asker's claim is an old one: the task was handed on meanwhile."""

    def __init__(self, task: TeamTask, agent: str) -> None:
        whose = f"belongs to {task.owner}" if task.owner else "waits for somebody to claim it"
        if task.owner == agent:
            whose = "was handed on after that claim"
        super().__init__(
            f"task '{task.id}' {whose}", f"stop working on it; quell task show {task.id}"
        )
        self.task = task


class NeedsCycle(BadRequest):
    def __init__(self, way: Sequence[str]) -> None:
        super().__init__(f"these tasks would wait for each other: {' → '.join(way)}")
        self.way = tuple(way)


class StillNeeded(AskerError):
    def __init__(self, task: TeamTask) -> None:
        super().__init__(
            f"task '{task.id}' is needed by {', '.join(task.blocks)}", "change their needs first"
        )
        self.task = task


class NoSuchRequest(AskerError):
    def __init__(self, id: str) -> None:
        super().__init__(f"nobody asked for a shutdown '{id}'", "it may have been withdrawn")


# -- what it answers ---------------------------------------------------------------------------


class Asked(NamedTuple):
    request: Request
    news: bool  # False: the run had been asked already, and this is that request


class Moved(NamedTuple):
    request: Request
    moved: bool  # False: it could not move so, and is as it was


class Server(NamedTuple):
    """A program that several runs share."""

    id: str
    kind: str
    project: str
    process: ProcessId | None
    port: int
    log: str = ""
    started_at: str = ""
    retired_at: str = ""  # somebody ends it, and nobody may begin to use it
    runs: tuple[str, ...] = ()  # the live ones that use it


class TeamStore(Protocol):
    """Each method is one transaction."""

    def add_team(self, team: Team) -> Team: ...
    def team(self, name: str) -> Team | None: ...
    def teams(self) -> list[Team]: ...
    def set_leader(self, team: str, leader: str) -> Team: ...
    def dissolve(self, team: str) -> list[Member]: ...
    def join(self, team: str, agent: str, role: str = "", run: str = "") -> Member: ...
    def leave(self, agent: str) -> Member | None: ...
    def members(self, team: str) -> list[Member]: ...
    def membership(self, agent: str) -> Member | None: ...

    def add_task(self, task: TeamTask) -> TeamTask: ...
    def set_needs(self, task: str, needs: Sequence[str]) -> TeamTask: ...
    def assign_task(self, task: str, agent: str) -> TeamTask: ...
    def task(self, task: str) -> TeamTask | None: ...
    def tasks(self, team: str = "", status: str = "", owner: str = "") -> list[TeamTask]: ...
    def claim_task(self, task: str, agent: str, run: str = "") -> TeamTask: ...
    def complete_task(self, task: str, agent: str, token: int) -> TeamTask: ...
    def release_task(self, task: str, agent: str, token: int) -> TeamTask: ...
    def delete_task(self, task: str) -> None: ...

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
    def count(self, agent: str) -> int: ...

    def ask(self, request: Request) -> Asked: ...
    def request(self, id: str) -> Request | None: ...
    def open_of(self, run: str) -> Request | None: ...
    def open_ones(self) -> list[Request]: ...
    def requests_of(self, agent: str) -> list[Request]: ...
    def move(self, id: str, move: Move, answer: str = "") -> Moved: ...

    def set_token(self, run: str, digest: str) -> None: ...
    def run_of_token(self, digest: str) -> Run | None: ...

    def add_server(self, server: Server) -> Server: ...
    def servers(self) -> list[Server]: ...
    def unused_servers(self) -> list[Server]: ...
    def use_server(self, server: str, run: str) -> bool: ...
    def retire_server(self, server: str) -> bool: ...
    def drop_server(self, server: str) -> bool: ...
