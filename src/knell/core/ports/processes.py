"""The port to the processes of this machine: who they are, whose they are, what they use."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from knell.core.ladder import Ladder
from knell.core.process import Alive, Ancestor, FoundProcess, Gone, ProcessId, Unknown
from knell.core.run import Run

if TYPE_CHECKING:
    from knell.core.kind import Kind
    from knell.core.stall.signs import Traffic, Vital

# Whether a command line is that of the agent program itself.
IsProgram: TypeAlias = Callable[[Sequence[str]], bool]


class Target(NamedTuple):
    """One run whose processes are to be found or ended."""

    run: str
    rundir: str
    keeper: ProcessId | None
    process: ProcessId | None
    cgroup: str
    ladder: Ladder
    known: tuple[ProcessId, ...] = ()  # members seen before
    seal: str = ""  # of the run's record; only a journal that ends with what it seals is believed
    # Helpers of its vendor that others may use: (glob over the command line, programs they serve).
    shared: tuple[tuple[str, str], ...] = ()
    alone: bool = False  # only the named processes, not what belongs to the run besides: orphans


class OpenFile(NamedTuple):
    """A live process that uses something at or below a path."""

    path: str  # as asked for
    member: FoundProcess
    how: str  # cwd, root, exe, open file, mapped file
    file: str


class OpenFiles(NamedTuple):
    """Who uses what lies at or below some paths, and what a look could not see."""

    files: tuple[OpenFile, ...] = ()
    unseen: int = 0  # processes, mostly of other users, that could not be looked into
    mounts: tuple[tuple[str, str], ...] = ()  # path as asked for, what is mounted at or below it

    def of(self, path: str) -> tuple[OpenFile, ...]:
        return tuple(one for one in self.files if one.path == path)

    def users(self, path: str, without: Collection[int] = ()) -> tuple[str, ...]:
        """The processes and mounts there, in words: deleting below a mount deletes elsewhere."""
        processes = [
            f"{one.member.command.split(' ')[0]} (pid {one.member.process.pid}, {one.how})"
            for one in self.of(path)
            if one.member.process.pid not in without
        ]
        return (*processes, *(f"a mount at {at}" for asked, at in self.mounts if asked == path))

    @property
    def members(self) -> tuple[FoundProcess, ...]:
        return tuple({one.member.process: one.member for one in self.files}.values())


class Usage(NamedTuple):
    """What a run uses at this moment; None where the kernel does not say."""

    cpu_percent: float | None = None  # of one processor
    memory_mb: float | None = None


class Processes(Protocol):
    """Looks at processes. Nothing here signals or changes one."""

    # This process, its parent, and so on up to init.
    def me(self) -> ProcessId: ...
    def pids(self) -> Sequence[int]: ...
    def identify(self, pid: int) -> ProcessId | None: ...
    def look(self, process: ProcessId) -> Alive | Gone | Unknown: ...
    def command(self, pid: int) -> str: ...
    def argv(self, pid: int) -> tuple[str, ...]: ...
    def lineage(self) -> tuple[Ancestor, ...]: ...
    # The run in whose cgroup this process is, by the cgroup's name; empty: in none.
    def describe(self, pid: int) -> Ancestor | None: ...
    # Whether what it reads may be typed; also where that cannot be seen.
    def reads_terminal(self, pid: int) -> bool: ...
    def cgroup(self, pid: int) -> str | None: ...
    def cgroup_run(self) -> str: ...
    def ancestors(self) -> tuple[int, ...]: ...
    def ancestors_of(self, pid: int) -> tuple[int, ...]: ...
    def cwd(self, pid: int) -> str: ...
    def stamp(self, pid: int) -> str | None: ...
    def variable(self, pid: int, name: str) -> str | None: ...
    def stamped(self) -> dict[str, list[ProcessId]]: ...
    def all_processes(self) -> list[FoundProcess]: ...
    def foreign_leftovers(self, kinds: "Sequence[Kind]") -> list[FoundProcess]: ...
    def foreground(self, pid: int) -> tuple[int, ...]: ...
    def members(
        self, target: Target, protected: Sequence[ProcessId] = ()
    ) -> list[FoundProcess]: ...
    def open_files(self, paths: Sequence[str]) -> OpenFiles: ...
    def connected_from(self, port: int, to: int) -> list[int]: ...
    def written_files(
        self, process: ProcessId, folder: str, is_program: IsProgram
    ) -> list[str] | None: ...
    def vitals(
        self, runs: Sequence[Run], programs: Mapping[str, IsProgram]
    ) -> "dict[str, Vital]": ...
    def traffic(
        self, runs: Sequence[Run], programs: Mapping[str, IsProgram]
    ) -> "dict[str, Traffic]": ...
    def usage(self, runs: Sequence[Run]) -> dict[str, Usage]: ...
    def memory_free_mb(self) -> float | None: ...
    def cpu_free_percent(self) -> float | None: ...
    def abilities(self) -> list[tuple[str, bool, str, str]]: ...
