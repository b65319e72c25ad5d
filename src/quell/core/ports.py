"""What the verbs need of the world, cut at the domain. The plugs are elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from quell.core.agent import Agent
from quell.core.kind import Kind
from quell.core.ladder import Ladder
from quell.core.process import Alive, Gone, Member, ProcessId, Unknown
from quell.core.receipt import Climbed, Ended, Proof, Receipt, Survivor
from quell.core.run import Ending, Orphan, Place, Run
from quell.core.settings import Settings

# -- the store ---------------------------------------------------------------------------------


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


class Store(Protocol):
    def add_run(self, agent: Agent, run: Run) -> None: ...
    def born(self, run: Run) -> None: ...
    def claim(
        self, run: str, ending: Ending, owner: ProcessId, dead: ProcessId | None
    ) -> Claim: ...
    def climbing(self, rungs: Sequence[tuple[str, str]]) -> None: ...
    def spare(self, run: str, receipt: Receipt) -> None: ...
    def end(self, run: Run, receipt: Receipt, orphans: Sequence[Orphan]) -> None: ...
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
    def events(self, after: int, agent: str, limit: int) -> list[Happened]: ...
    def close(self) -> None: ...


# -- the kernel --------------------------------------------------------------------------------


class Target(NamedTuple):
    """One run to be ended, as far as the kernel is concerned."""

    run: str
    rundir: str
    keeper: ProcessId | None
    process: ProcessId | None
    cgroup: str
    ladder: Ladder
    known: tuple[ProcessId, ...] = ()  # members seen before
    keep: tuple[str, ...] = ()
    alone: bool = False  # only the named processes, not what belongs to the run besides: orphans


class Journal(NamedTuple):
    """What a keeper wrote down. Fields stay None until it has."""

    keeper: ProcessId | None = None
    process: ProcessId | None = None
    cgroup: str = ""
    failure: str = ""  # why the command could not be started
    cause: str = ""  # what made the run end: exit, asked, hangup, signal
    exit_code: int | None = None
    exit_signal: int | None = None
    max_rss_kb: int | None = None
    cpu_seconds: float | None = None
    ended: bool = False  # the keeper has finished
    proven: bool = False  # because wait() said that no child is left
    at: str = ""
    rungs: tuple[Climbed, ...] = ()
    processes: tuple[Ended, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    kept: tuple[Survivor, ...] = ()
    kept_ids: tuple[ProcessId, ...] = ()


class Fall(NamedTuple):
    """What came of climbing one ladder."""

    run: str
    proof: Proof
    began: bool  # something was alive when we started
    denied: bool  # the kernel refused every signal
    rungs: tuple[Climbed, ...]
    processes: tuple[Ended, ...]
    survivors: tuple[Survivor, ...]
    survivor_ids: tuple[ProcessId, ...]
    journal: Journal
    millis: int
    warnings: tuple[str, ...] = ()


class Order(NamedTuple):
    """What a keeper is told to run."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    grace: float  # for what the agent leaves behind
    keep: tuple[str, ...] = ()  # globs of children that may outlive it
    shared: tuple[tuple[str, str], ...] = ()  # (glob, programs it serves): spared while in use


class Cradle(NamedTuple):
    """Where a keeper will report its birth."""

    rundir: str
    fifo: int


class Kernel(Protocol):
    def me(self) -> ProcessId: ...
    def identify(self, pid: int) -> ProcessId | None: ...
    def look(self, process: ProcessId) -> Alive | Gone | Unknown: ...
    def command(self, pid: int) -> str: ...
    def argv(self, pid: int) -> tuple[str, ...]: ...
    def parent(self, pid: int) -> int: ...
    def above(self, pid: int) -> tuple[int, ...]: ...
    def ancestors(self) -> tuple[int, ...]: ...
    def cwd(self, pid: int) -> str: ...
    def stamp(self, pid: int) -> str | None: ...
    def foreign(self) -> list[Member]: ...
    def abilities(self) -> list[tuple[str, bool, str, str]]: ...
    def stamps(self) -> dict[str, list[Member]]: ...
    def everybody(self) -> list[Member]: ...
    def members(self, target: Target, protected: Sequence[ProcessId] = ()) -> list[Member]: ...
    def prepare(self, rundir: str, order: Order) -> Cradle: ...
    def keeper_argv(self, rundir: str, *, detach: bool) -> tuple[str, ...]: ...
    def await_birth(self, cradle: Cradle, seconds: float) -> Journal: ...
    def become_keeper(self, rundir: str) -> None: ...
    def discard(self, rundir: str) -> None: ...
    def journal(self, rundir: str) -> Journal: ...
    def front(self, pid: int) -> tuple[int, ...]: ...
    def cancel(self, rundir: str) -> None: ...
    def detach(self, command: Sequence[str], env: Mapping[str, str]) -> None: ...
    def wait(self, processes: Sequence[ProcessId], seconds: float) -> None: ...
    def climb(
        self,
        targets: Sequence[Target],
        protected: Sequence[ProcessId],
        record: Callable[[Sequence[tuple[str, str]]], None],
        ask: Callable[[str], str],
    ) -> dict[str, Fall]: ...


# -- places ------------------------------------------------------------------------------------


class Launch(NamedTuple):
    """What a place needs to start a keeper."""

    run: str
    name: str
    argv: tuple[str, ...]
    cwd: str
    server: str = ""
    session: str = ""
    rundir: str = ""


class Present(NamedTuple):
    """The pane is there and is the run's own."""

    pid: int
    command: str = ""


class Absent(NamedTuple):
    why: str = "closed"  # or: somebody else's


PaneSighting = Present | Absent | Unknown


class Closing(NamedTuple):
    closed: bool
    retry: str = ""
    why: str = ""


class Terminal(Protocol):
    """A way to show agents: tmux, kitty, wezterm, or none."""

    name: str
    has_panes: bool

    def open(self, launch: Launch) -> Place: ...
    def look(self, place: Place, run: str) -> PaneSighting: ...
    def screen(self, place: Place) -> str: ...
    def type_line(
        self, place: Place, clear: tuple[str, ...], line: str, shown: str = ""
    ) -> None: ...
    def close(self, place: Place, run: str) -> Closing: ...
    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]: ...


class Sessions(Protocol):
    """What only tmux has: names that rows of the registry file speak of."""

    def has_session(self, name: str, server: str) -> bool: ...
    def panes(self, name: str, server: str) -> list[tuple[str, int]]: ...


# -- the registry file -------------------------------------------------------------------------


class Row(NamedTuple):
    """One session in `.hermes/agent-sessions.yaml`, as far as quell reads it."""

    name: str
    status: str  # running, stopped, terminated, archived, or "unknown" when it is missing
    agent: str = ""  # claude or agy, as far as the row tells
    tmux_server: str = ""
    start_command: str = ""
    pane_id: str = ""
    pane_pid: int = 0
    cwd: str = ""
    conversation: str = ""  # claude_session_id_own or agy_conversation_id_own; empty for null
    delegate_job: str = ""
    role: str = ""
    terminated_at: str = ""
    stopped_at: str = ""


class Registry(Protocol):
    """The file that other tools read and write too. Every write keeps what it does not know."""

    @property
    def path(self) -> str: ...
    def rows(self) -> list[Row]: ...
    def row(self, name: str) -> Row | None: ...
    def update(self, name: str, changes: Mapping[str, Any], drop: Sequence[str] = ()) -> None: ...
    def add(self, name: str, fields: Mapping[str, Any]) -> None: ...
    def cached_conversation(self, agent: str, cwd: str) -> str: ...
    def fingerprint(self) -> str: ...
    def publish(self, job: str, event: str, detail: str, data: Mapping[str, Any]) -> None: ...


# -- files of other programs -------------------------------------------------------------------


class Purging(Protocol):
    @property
    def removed(self) -> tuple[str, ...]: ...
    @property
    def refused(self) -> tuple[str, ...]: ...


class Disk(Protocol):
    """None from a reader means "could not look", never "nothing there"."""

    def glob(self, pattern: str) -> list[str]: ...
    def is_directory(self, path: str) -> bool: ...
    def real(self, path: str) -> str: ...
    def touched_at(self, path: str) -> float | None: ...
    def head(self, path: str) -> bytes | None: ...
    def tail(self, path: str) -> bytes | None: ...
    def query(self, path: str, sql: str, values: dict[str, str]) -> list[str] | None: ...
    def purge(self, root: str, paths: list[str]) -> Purging: ...


# -- all of it ---------------------------------------------------------------------------------


class World(Protocol):
    """Everything a verb may touch."""

    @property
    def store(self) -> Store: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def disk(self) -> Disk: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def host(self) -> str: ...
    @property
    def home(self) -> str: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def cwd(self) -> str: ...
    def now(self) -> str: ...
    def seconds(self) -> float: ...
    def leave_receipt(self, run: str, receipt: Receipt) -> bool: ...
    def left_receipt(self, run: str) -> Receipt | None: ...
    def new_id(self) -> str: ...
    def new_uuid(self) -> str: ...
    def rundir(self, run: str) -> str: ...
    def registry(self, near: str) -> Registry | None: ...
    def sessions(self) -> Sessions: ...
    def place(self, name: str) -> Terminal: ...
    def kind(self, name: str) -> Kind: ...
    def kind_names(self) -> tuple[str, ...]: ...
    def recognise(self, argv: Sequence[str]) -> str: ...
    def programs(self) -> list[tuple[str, bool, str, str]]: ...
