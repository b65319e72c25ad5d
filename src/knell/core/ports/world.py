"""Everything a verb may touch: the sum of the ports, with the clock, the settings and the host."""

from __future__ import annotations  # every verb loads this file: it must not load all the others

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knell.core.authority import Caller
    from knell.core.kind import Kind
    from knell.core.ports.archive import Archive
    from knell.core.ports.disk import Disk
    from knell.core.ports.endings import Enclosures, ProcessEndings
    from knell.core.ports.git import Worktrees
    from knell.core.ports.keepers import Keepers
    from knell.core.ports.kinds import Kinds
    from knell.core.ports.loopback import Loopback
    from knell.core.ports.processes import Processes
    from knell.core.ports.registry import Registry
    from knell.core.ports.steps import Steps
    from knell.core.ports.store import Restored, Store
    from knell.core.ports.terminal import Sessions, Terminal
    from knell.core.ports.trees import Trees
    from knell.core.process import ProcessId
    from knell.core.receipt import Receipt
    from knell.core.run import Place
    from knell.core.settings import Settings
    from knell.core.stall.signs import Clock


class Wait(Protocol):
    """Returns when a process exits, when something in the folder changes, or after that time."""

    def __call__(
        self, processes: Sequence[ProcessId], seconds: float, folder: str = ""
    ) -> None: ...


class Locks(Protocol):
    """Locks that only one process can hold; False if another one holds it."""

    def take(self, path: str) -> bool: ...


class World(Protocol):
    """Everything a verb may touch."""

    env: Mapping[str, str]
    home: str
    acting_as: Caller | None
    restored: Restored | None
    processes: Processes
    keepers: Keepers
    endings: ProcessEndings
    enclosures: Enclosures
    loopback: Loopback
    locks: Locks
    wait: Wait
    disk: Disk
    trees: Trees

    @property
    def store(self) -> Store: ...
    def reconnect(self) -> None: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def host(self) -> str: ...
    @property
    def cwd(self) -> str: ...
    def now(self) -> str: ...
    def seconds(self) -> float: ...
    def clock(self) -> Clock: ...
    def moment(self, seconds: float) -> str: ...
    def leave_receipt(self, run: str, receipt: Receipt) -> bool: ...
    def left_receipt(self, run: str) -> Receipt | None: ...
    def new_id(self) -> str: ...
    def new_uuid(self) -> str: ...
    def new_token(self) -> str: ...
    def rundir(self, run: str) -> str: ...
    @property
    def archive(self) -> Archive: ...
    def set_aside_store(self) -> None: ...
    def registry(self, near: str, *, new: bool = False) -> Registry | None: ...
    def sessions(self) -> Sessions: ...
    def worktrees(self) -> Worktrees: ...
    # One that cannot be used does not answer, as for a run on record; `usable` refuses it instead.
    def place(self, name: str, *, usable: bool = False) -> Terminal: ...
    def place_names(self) -> tuple[str, ...]: ...
    def default_place(self) -> str: ...
    def here(self) -> Place: ...
    @property
    def kinds(self) -> Kinds: ...
    def kind(self, name: str) -> Kind: ...
