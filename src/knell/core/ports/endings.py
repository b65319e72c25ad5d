"""The port to the endings of processes: signals by a ladder, until nothing of a run is left."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from knell.core.codes import Notice
from knell.core.ports.keepers import Journal
from knell.core.ports.processes import Target
from knell.core.process import ProcessId
from knell.core.receipt import Ended, Proof, RungRecord, Survivor


class Callbacks(NamedTuple):
    """What ending processes needs from its caller."""

    protected: Callable[[], Sequence[ProcessId]]  # which no ending may touch; read when needed
    # (run, rung), before it is taken.
    record: Callable[[Sequence[tuple[str, str]]], None] = lambda _: None
    # Types the exit keys of runs; by run, why they were not typed, or None.
    ask: Callable[[Sequence[str]], Mapping[str, Notice | None]] = dict.fromkeys
    # The target with what only an ending without a keeper needs to know.
    whole: Callable[[Target], Target] = lambda target: target


class EndReport(NamedTuple):
    """What came of ending the processes of one run."""

    run: str
    proof: Proof
    rungs: tuple[RungRecord, ...]
    journal: Journal
    millis: int
    warnings: tuple[Notice, ...] = ()
    began: bool = True  # something was alive when we started
    denied: bool = False  # the kernel refused every signal
    processes: tuple[Ended, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    survivor_ids: tuple[ProcessId, ...] = ()


class ProcessEndings(Protocol):
    def end(self, targets: Sequence[Target], callbacks: Callbacks) -> dict[str, EndReport]: ...


class Enclosures(Protocol):
    """A cgroup around a running tree, which nothing it starts can leave. A system that has none
    gives no path for one, and that is all that a verb needs to know."""

    def path_for(self, process: ProcessId, run: str) -> str: ...
    def enclose(self, target: Target, protected: Sequence[ProcessId]) -> bool: ...
    def release(self, path: str) -> None: ...
