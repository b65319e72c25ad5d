"""What the verbs need of the store, one protocol for each subject. The plugs are in stores/.

Each method is one transaction.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from knell.core.agent import Agent
from knell.core.codes import Code
from knell.core.errors import AskerError
from knell.core.process import ProcessId
from knell.core.run import Orphan, Run

if TYPE_CHECKING:
    from knell.core.conversation import KnownConversation
    from knell.core.orchestrator_task import OrchestratorTask
    from knell.core.ports.ending_store import EndingStore
    from knell.core.ports.fleet import FleetStore
    from knell.core.ports.teams import (  # most verbs have nothing to do with teams
        BackendStore,
        MessageStore,
        ShutdownStore,
        TeamStore,
        TeamTaskStore,
    )
    from knell.core.receipt import Receipt
    from knell.core.restart import RestartPlan


BACKUP_EVERY = 86400.0  # seconds between two backups


class NotLive(AskerError):
    """The agent's run has ended: it cannot be given anything, as it would never give it back."""

    code = Code.NOT_RUNNING

    def __init__(self, agent: str) -> None:
        super().__init__(f"Agent '{agent}' is already terminated", f"knell resume {agent}")
        self.agent = agent


class Event(NamedTuple):
    """One line of the audit trail."""

    id: int
    at: str
    type: str
    agent: str
    run: str
    data: dict[str, Any]


class RunRecord(NamedTuple):
    """What a run's directory keeps of it, for the day when the store is lost."""

    agent: Agent
    run: Run
    receipt: "Receipt | None" = None
    token: str = ""  # the digest of the run's token
    lost_env: tuple[str, ...] = ()  # variables of the agent whose values are not kept there


class Restored(NamedTuple):
    """What came back into the store, and what cannot be known any more."""

    agents: tuple[str, ...] = ()
    runs: int = 0
    unknown: tuple[str, ...] = ()  # each in words
    from_backup: bool = False

    @property
    def sentence(self) -> str:
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        count = f"{runs} of {len(self.agents)} agent{'' if len(self.agents) == 1 else 's'}"
        backup = "a backup, and " if self.from_backup else ""
        unknown = "".join(f"; cannot be known: {what}" for what in self.unknown)
        return f"restored {backup}{count} from the run directories{unknown}"

    def tell(self, why: str) -> None:
        from logging import getLogger

        getLogger("knell").warning("%s; %s", why, self.sentence)


class Watcher(NamedTuple):
    """The process that watches over a host, and when it made its last round."""

    process: ProcessId | None
    round_at: str


class Seat(NamedTuple):
    """An agent's place in a team."""

    team: str
    role: str  # `leader` only for the agent that the team names


class LiveRecords(NamedTuple):
    """What is on record of live runs and what is around them, read together."""

    runs: list[Run]
    agents: list[Agent]
    seats: dict[str, Seat]  # by agent
    leaving: frozenset[str]  # runs that were asked to shut down and have not finished doing so
    orphans: list[Orphan]


class WorktreeRow(NamedTuple):
    """One row of `orchestrator_state`."""

    task: str
    path: str
    branch: str
    status: str = "created"  # created, merged, cleaned
    commit: str = ""
    orchestrator: str = ""
    created_at: str = ""


# -- the parts of the store ----------------------------------------------------------------------


class RunStore(Protocol):
    """Agents, their runs, and the processes that outlived a run."""

    def add(self, agent: Agent, run: Run) -> None: ...
    def mark_born(self, run: Run) -> None: ...
    def set_token(self, run: str, digest: str) -> None: ...
    def run_of_token(self, digest: str) -> Run | None: ...
    def agent(self, name: str) -> Agent | None: ...
    def agents(self) -> list[Agent]: ...
    def live_agents(self) -> list[Agent]: ...
    def agent_names(self) -> frozenset[str]: ...
    def set_conversation(self, agent: str, known: "KnownConversation") -> None: ...
    def run(self, run: str) -> Run | None: ...
    def live(self) -> list[Run]: ...
    def live_records(self) -> LiveRecords: ...
    def ids(self) -> frozenset[str]: ...
    def restore(self, record: RunRecord) -> None: ...
    def newest(self) -> dict[str, Run]: ...
    def newest_of(self, agent: str) -> Run | None: ...
    def of(self, agent: str) -> list[Run]: ...
    def outcomes(self) -> dict[str, int]: ...
    def seats(self) -> dict[str, Seat]: ...
    def leaving(self) -> frozenset[str]: ...
    def orphans(self) -> list[Orphan]: ...
    def track_orphans(self, orphans: Sequence[Orphan]) -> None: ...
    def untrack_orphans(self, processes: Sequence[ProcessId]) -> None: ...


class EventStore(Protocol):
    """The audit trail."""

    def read(self, after: int, agent: str, limit: int) -> list[Event]: ...
    def record(self, type: str, agent: str, run: str, data: Mapping[str, Any]) -> None: ...


class WatchStore(Protocol):
    """What the watch remembers of live runs."""

    def memories(self) -> dict[str, str]: ...
    def remember(self, memories: Mapping[str, str], beats: Mapping[str, str]) -> None: ...
    def record_round(self, host: str, process: ProcessId | None) -> None: ...
    def watcher(self, host: str) -> Watcher | None: ...


class RestartStore(Protocol):
    """What was decided about starting ended agents again."""

    def plans(self) -> "list[RestartPlan]": ...
    def record(self, plan: "RestartPlan") -> bool: ...


class PruneStore(Protocol):
    """Ended runs that are older than they are to be kept."""

    def old_runs(self, before: str) -> list[str]: ...
    def forget(self, runs: Sequence[str], before: str) -> None: ...


class OrchestratorStore(Protocol):
    """The tables that an orchestrator shares with knell."""

    def task(self, task: str) -> "OrchestratorTask | None": ...
    def unmet_needs(self, task: str) -> list[str]: ...
    def take_task(self, task: str, agent: str, orchestrator: str) -> bool: ...
    def give_back_task(self, task: str, agent: str) -> bool: ...
    def add_worktree(self, row: WorktreeRow, maker: str = "") -> None: ...
    def worktrees(self) -> list[WorktreeRow]: ...
    def set_worktree_status(self, path: str, status: str) -> None: ...


class Store:
    """All parts, on the same data. A plug inherits from it, and so says the types of its parts."""

    runs: RunStore
    endings: "EndingStore"
    events: EventStore
    watch: WatchStore
    restarts: RestartStore
    pruning: PruneStore
    orchestrator: OrchestratorStore
    teams: "TeamStore"
    team_tasks: "TeamTaskStore"
    messages: "MessageStore"
    shutdowns: "ShutdownStore"
    backends: "BackendStore"
    fleet: "FleetStore"

    def check(self) -> None: ...
    def back_up(self) -> None: ...
    def close(self) -> None: ...
