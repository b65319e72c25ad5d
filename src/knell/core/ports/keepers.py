"""The port to keepers: the order that one is given, the journal that it writes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn, Protocol

from knell.core.process import ProcessId
from knell.core.receipt import Ended, RungRecord, Survivor


class Order(NamedTuple):
    """What a keeper must run."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    grace: float  # for what the agent leaves behind
    keep: tuple[str, ...] = ()  # globs of children that may outlive it
    shared: tuple[tuple[str, str], ...] = ()  # (glob, programs it serves): spared while in use
    seal: str = ""  # a secret for the journal's last line, which the agent never sees
    output_limit: int = 0  # bytes of a headless agent's output that are kept; 0: all
    again: bool = False  # it may be started again, so its environment is kept until it is not


class PreparedRun(NamedTuple):
    """A run directory with an order in it, and the fifo on which its keeper reports the birth."""

    rundir: str
    fifo: int


class Evidence(NamedTuple):
    """One thing that a keeper looked at to explain a death, and what it found."""

    word: str  # oom, oom_run, oom_host, no_oom, fault, looked, or blind for "could not look"
    finding: str


class Journal(NamedTuple):
    """What a keeper wrote down. Fields stay None until it has."""

    keeper: ProcessId | None = None
    version: int = 1  # a keeper may be older or newer than the knell that reads
    process: ProcessId | None = None
    cgroup: str = ""
    failure: str = ""  # why the command could not be started
    cause: str = ""  # what made the run end: exit, asked, hangup, signal
    began: float = 0.0  # when it began to end the run, by the machine's monotonic clock
    exit_code: int | None = None
    exit_signal: int | None = None
    max_rss_kb: int | None = None
    cpu_seconds: float | None = None
    ended: bool = False  # the keeper has finished
    proven: bool = False  # because wait() said that no child is left, and the seal is the keeper's
    at: str = ""
    rungs: tuple[RungRecord, ...] = ()
    processes: tuple[Ended, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    kept: tuple[Survivor, ...] = ()
    kept_ids: tuple[ProcessId, ...] = ()
    left: tuple[int, ...] = ()  # pids that were still there when the agent itself had gone
    evidence: tuple[Evidence, ...] = ()
    run_rss_kb: int | None = None  # of the largest process of the run that was reaped
    run_cpu_seconds: float | None = None  # of all of them


class Keepers(Protocol):
    """Starts keepers and reads their journals. Only `cancel` tells a keeper to end."""

    def prepare(self, rundir: str, order: Order) -> PreparedRun: ...
    def keeper_argv(self, rundir: str, *, detach: bool) -> tuple[str, ...]: ...
    def await_birth(self, prepared: PreparedRun, seconds: float) -> Journal: ...
    def become_keeper(self, rundir: str) -> NoReturn: ...
    def journal(self, rundir: str, seal: str = "") -> Journal: ...
    def cancel(self, rundir: str) -> Journal: ...
    def wake(self, keeper: ProcessId) -> None: ...
    def discard(self, rundir: str) -> None: ...
    def take_back_order(self, rundir: str) -> None: ...
    def undiscarded(self, runs: str) -> list[str]: ...
    def kept_environments(self, runs: str, *, everywhere: bool = False) -> list[str]: ...
    def kept_environment(self, rundir: str) -> dict[str, str] | None: ...
    def forget_environment(self, rundir: str) -> None: ...
    def run_detached(self, command: Sequence[str], env: Mapping[str, str]) -> None: ...
