"""What goes to the kernel and what comes back: orders and targets, journals and falls."""

from collections.abc import Mapping
from typing import NamedTuple

from quell.core.ladder import Ladder
from quell.core.process import ProcessId
from quell.core.receipt import Climbed, Ended, Proof, Survivor


class Target(NamedTuple):
    """One run to be ended, as far as the kernel is concerned."""

    run: str
    rundir: str
    keeper: ProcessId | None
    process: ProcessId | None
    cgroup: str
    ladder: Ladder
    known: tuple[ProcessId, ...] = ()  # members seen before
    alone: bool = False  # only the named processes, not what belongs to the run besides: orphans


class Order(NamedTuple):
    """What a keeper is told to run."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    grace: float  # for what the agent leaves behind
    keep: tuple[str, ...] = ()  # globs of children that may outlive it
    shared: tuple[tuple[str, str], ...] = ()  # (glob, programs it serves): spared while in use
    again: bool = False  # it may be started again, so its environment is kept until it is not


class Cradle(NamedTuple):
    """Where a keeper will report its birth."""

    rundir: str
    fifo: int


class Sight(NamedTuple):
    """One thing that a keeper looked at to explain a death, and what it said."""

    word: str  # oom, oom_run, oom_host, no_oom, fault, looked, or blind for "could not look"
    told: str


class Journal(NamedTuple):
    """What a keeper wrote down. Fields stay None until it has."""

    keeper: ProcessId | None = None
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
    proven: bool = False  # because wait() said that no child is left
    at: str = ""
    rungs: tuple[Climbed, ...] = ()
    processes: tuple[Ended, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    kept: tuple[Survivor, ...] = ()
    kept_ids: tuple[ProcessId, ...] = ()
    left: tuple[int, ...] = ()  # who was still there when the agent itself had gone
    sights: tuple[Sight, ...] = ()
    run_rss_kb: int | None = None  # of the largest process of the run that was reaped
    run_cpu_seconds: float | None = None  # of all of them


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
