"""What the verbs need of the store, cut at the domain. The plugs are in stores/."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from quell.core.agent import Agent
from quell.core.process import ProcessId
from quell.core.receipt import Receipt
from quell.core.run import Ending, Orphan, Run
from quell.core.task import Task

if TYPE_CHECKING:
    from quell.core.teamwork import TeamStore  # most verbs have nothing to do with teams


class Won(NamedTuple):
    """This caller, and nobody else, may end the run."""

    run: Run


class Held(NamedTuple):
    """Somebody else is spawning or ending it."""

    run: Run


class Over(NamedTuple):
    run: Run


Claim = Won | Held | Over


class Happened(NamedTuple):
    """One line of the audit trail."""

    id: int
    at: str
    type: str
    agent: str
    run: str
    data: dict[str, Any]


class Plan(NamedTuple):
    """What was decided about starting an ended run's agent again."""

    run: str
    agent: str
    decision: str  # planned, refused, started, failed
    why: str
    attempt: int = 0  # of the run that would follow
    due_at: str = ""


class Watcher(NamedTuple):
    process: ProcessId | None
    round_at: str


class Seat(NamedTuple):
    """An agent's place in a team."""

    team: str
    role: str  # `leader` for the one whom the team names, and nobody else


class WorktreeRow(NamedTuple):
    """One row of `orchestrator_state`."""

    task: str
    path: str
    branch: str
    status: str = "created"  # created, merged, cleaned
    commit: str = ""
    orchestrator: str = ""
    created_at: str = ""


class Store(Protocol):
    def add_run(self, agent: Agent, run: Run) -> None: ...
    def born(self, run: Run) -> None: ...
    def claim(
        self, run: str, ending: Ending, owner: ProcessId, dead: ProcessId | None
    ) -> Claim: ...
    def climbing(self, rungs: Sequence[tuple[str, str]]) -> None: ...
    def spare(self, run: str, receipt: Receipt) -> None: ...
    def end(self, run: Run, receipt: Receipt, orphans: Sequence[Orphan]) -> Receipt: ...
    def agent(self, name: str) -> Agent | None: ...
    def agents(self) -> list[Agent]: ...
    def set_conversation(self, agent: str, conversation: str) -> None: ...
    def run(self, run: str) -> Run | None: ...
    def live_runs(self) -> list[Run]: ...
    def last_runs(self) -> dict[str, Run]: ...
    def runs_of(self, agent: str) -> list[Run]: ...
    def receipt(self, run: str) -> Receipt | None: ...
    def orphans(self) -> list[Orphan]: ...
    def track(self, orphans: Sequence[Orphan]) -> None: ...
    def untrack(self, processes: Sequence[ProcessId]) -> None: ...
    def note(self, type: str, agent: str, run: str, data: Mapping[str, Any]) -> None: ...
    def memories(self) -> dict[str, str]: ...
    def remember(self, memories: Mapping[str, str], beats: Mapping[str, str]) -> None: ...
    def watching(self, host: str, process: ProcessId | None) -> None: ...
    def watcher(self, host: str) -> Watcher | None: ...
    def plan(self, plan: Plan) -> bool: ...
    def plans(self) -> list[Plan]: ...
    def task(self, task: str) -> Task | None: ...
    def waits_for(self, task: str) -> list[str]: ...
    def take_task(self, task: str, agent: str, orchestrator: str) -> bool: ...
    def give_back(self, task: str, agent: str) -> bool: ...
    def add_worktree(self, row: WorktreeRow) -> None: ...
    def worktrees(self) -> list[WorktreeRow]: ...
    def set_worktree(self, path: str, status: str) -> None: ...
    def events(self, after: int, agent: str, limit: int) -> list[Happened]: ...
    def seats(self) -> dict[str, Seat]: ...
    def leaving(self) -> frozenset[str]: ...
    @property
    def teamwork(self) -> "TeamStore": ...
    def close(self) -> None: ...
