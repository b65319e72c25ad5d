"""One process, as psutil and POSIX show it: for portable.py, and for keepers of that layer. The
same functions as proc.py; a docstring says what is different.

Keepers import it too: the standard library, psutil and proc.py, no import of knell.
Only this file, portable_use.py and tests import psutil.
"""

import os
import select
import sys

import psutil
from psutil import _psposix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

if __package__:
    from knell.processes.os import panes, proc
    from knell.processes.os.proc import Process, signal
else:  # in a keeper, which has this folder on its path
    import panes
    import proc
    from proc import Process, signal

LAYER = "portable"
IS_WOKEN: bool = False  # whether an exit ends a nap
LIBRARY = os.path.dirname(os.path.dirname(psutil.__file__))  # where a keeper finds psutil
STATES = {
    psutil.STATUS_RUNNING: "R",
    psutil.STATUS_SLEEPING: "S",
    psutil.STATUS_IDLE: "I",
    psutil.STATUS_DISK_SLEEP: "D",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_TRACING_STOP: "t",
    psutil.STATUS_ZOMBIE: "Z",
    psutil.STATUS_DEAD: "X",
}
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
UNSEEN = (psutil.Error, OSError)
# What is below psutil.Process, which looks at a process once more to tell its reuse.
INSIDE: "Any" = getattr(psutil, "_psplatform").Process  # noqa: B009 - it has no public name
# Where the start of a process can be had by a clock that nobody sets, psutil compares by that one.
STEADY = {"monotonic": True} if sys.platform.startswith(("linux", "darwin", "netbsd")) else {}

pids, read, machine_id = psutil.pids, proc.read, proc.machine_id


class SeenProcess(Process):
    """What `Process` is on Linux. What is seldom asked for is looked up when it is."""

    __slots__ = ()

    def __init__(self, pid: int) -> None:
        """By one look, and not by one for each field. psutil.NoSuchProcess, if it has gone."""
        itself = INSIDE(pid)
        itself.oneshot_enter()
        self.pid, self.ppid = pid, int(itself.ppid())
        self.state = STATES.get(itself.status(), "?")
        self.start = start_of(itself)
        try:
            self.name = itself.name()
            used = itself.cpu_times()
            self.ticks = round((used.user + used.system) * TICKS)
            below = getattr(used, "children_user", 0.0) + getattr(used, "children_system", 0.0)
            self.childrens_ticks = round(below * TICKS)
        except (psutil.AccessDenied, psutil.ZombieProcess):
            self.name, self.ticks, self.childrens_ticks = "?", 0, 0
        self.pgid, self.sid = number(os.getpgid, pid), number(os.getsid, pid)

    @property
    def tty(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - asked for seldom
        return device_of(self.pid)

    @property
    def front(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - the same
        return front_of(self.pid)

    @property
    def pages(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - the same
        try:
            return psutil.Process(self.pid).memory_info().rss // PAGE
        except UNSEEN:
            return 0

    def command(self) -> str:
        line = " ".join(argv_of(self.pid)) or f"[{self.name}]"
        return proc.printable(line[: proc.COMMAND_LIMIT])


def number(ask: "Callable[[int], int]", pid: int) -> int:
    """Its group or session; 0 if the system does not tell, as macOS of a zombie."""
    try:
        return ask(pid)
    except OSError:
        return 0


def start_of(itself: "Any") -> int:
    """When it began, in clock ticks; 0 if that is not told. On Linux the same number as in
    `Process`: what psutil shows to everybody moves with the clock."""
    shift = proc.time_shift() // proc.TICK if sys.platform == "linux" else 0
    try:
        return round(itself.create_time(**STEADY) * TICKS) - shift
    except (psutil.AccessDenied, psutil.ZombieProcess):
        return 0


def seen(look: "Callable[[], Process]") -> Process | None:
    """What a look shows, with the errors of psutil as those of the system."""
    try:
        return look()
    except (psutil.NoSuchProcess, OverflowError):  # no system has a number that large
        return None
    except psutil.Error as error:
        raise PermissionError(str(error)) from error


class Layer:
    """Looks at processes and signals them. darwin.py looks and signals more surely; what follows
    from that is the same."""

    def pids(self) -> list[int]:
        return pids()

    def stat_of(self, pid: int) -> Process | None:
        """None when there is no such process; OSError when the look itself failed."""
        return seen(lambda: SeenProcess(pid))

    def is_zombie(self, process: Process) -> bool:
        """Whether all of it is dead, and not only its main thread."""
        if process.state not in "ZX":
            return False
        try:
            return psutil.Process(process.pid).num_threads() <= 1
        except UNSEEN:
            return True

    def since(self, process: Process) -> int:
        """What `everybody` may leave out for the descendants of this one: where a start is counted
        from the clock, which may be put back, nothing."""
        return process.start if sys.platform == "linux" else 0

    def boot_id(self) -> str:
        """Of this boot, where the system has one. Else nothing: a process is then told from those
        of another boot by its pid and its start."""
        return proc.boot_id()

    def here(self) -> str:
        """The boot and, on Linux, our PID namespace: within both a pid means one process."""
        return proc.here() if sys.platform == "linux" else f"{self.boot_id()}/0"

    def signal_once(self, pid: int, number: int, unique: int) -> str:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return ""  # gone in the meantime
        except PermissionError:
            return proc.DENIED
        except OSError as error:
            return error.strerror or "refused"
        return ""

    # -- what follows -------------------------------------------------------------------------

    def live_process(self, pid: int) -> Process | None:
        try:
            process = self.stat_of(pid)
        except OSError:
            return None
        return None if process is None or self.is_zombie(process) else process

    def everybody(self, since: int = 0) -> list[Process]:
        """All that are not dead, by one scan, without those that are known to have begun before:
        the newest first, because one that hops from pid to pid must be looked at as soon as it is
        listed."""
        found = [self.live_process(pid) for pid in sorted(self.pids(), reverse=True)]
        return [process for process in found if process and not 0 < self.since(process) < since]

    def children(self, pid: int) -> list[int]:
        return [process.pid for process in self.everybody() if process.ppid == pid]

    def tmux_servers(self) -> list[int]:
        return [process.pid for process in self.everybody() if panes.is_tmux_server(process)]

    def line_of(self, pid: int) -> list[Process]:
        return proc.line_of(pid, self.stat_of)

    def terminal_of(self, pid: int) -> int:
        """The number of its controlling device; 0 without one."""
        process = self.stat_of(pid)
        return process.tty if process else 0

    def identity(self, pid: int) -> tuple[int, int, str, int]:
        try:
            process = self.stat_of(pid)
        except OSError:
            process = None
        start, unique = (process.start, process.unique) if process else (0, 0)
        return (pid, start, self.here(), unique)

    def send(self, process: Process, number: int) -> str:
        """Signals that process; returns why it could not, or nothing.

        It is looked at just before. A pid that changed hands within these microseconds would be
        hit: without a pidfd no program can do better, but on macOS the kernel itself compares."""
        now = self.live_process(process.pid)
        if now is None or (now.start, now.unique) != (process.start, process.unique):
            return ""
        return self.kill(process.pid, number, process.unique) if process.pid > 1 else ""

    def kill(self, pid: int, number: int, unique: int) -> str:
        """Signals whoever has this pid, on macOS only if its unique number is this one."""
        why = self.signal_once(pid, number, unique)
        if not why and number in (signal.SIGTERM, signal.SIGHUP):  # a stopped process takes neither
            return self.signal_once(pid, signal.SIGCONT, unique)
        return why


def argv_of(pid: int) -> tuple[str, ...]:
    try:
        return tuple(INSIDE(pid).cmdline())
    except UNSEEN:
        return ()


def environment_of(pid: int) -> dict[str, str]:
    try:
        return INSIDE(pid).environ()
    except UNSEEN:
        return {}


def cwd_of(pid: int) -> str:
    try:
        return psutil.Process(pid).cwd()
    except UNSEEN:
        return ""


def owner_of(pid: int) -> int | None:
    try:
        return psutil.Process(pid).uids().effective
    except UNSEEN:
        return None


def device_of(pid: int) -> int:
    """The number of its controlling device; 0 without one. psutil knows only the terminals that
    were there when it was asked first."""
    forget: Any = getattr(_psposix.get_terminal_map, "cache_clear", tuple)
    forget()
    try:
        path = psutil.Process(pid).terminal()
        return os.stat(path).st_rdev if path else 0
    except UNSEEN:
        return 0


def front_of(pid: int) -> int:
    """The process group in front on its terminal; 0 if `ps` does not tell."""
    import subprocess

    argv = ["ps", "-o", "tpgid=", "-p", str(pid)]
    try:
        told = subprocess.run(argv, capture_output=True, check=False, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return 0
    return max(0, int(told)) if told.lstrip(b"-").isdigit() else 0


def nap(_pids: "Collection[int]", seconds: float, news: int) -> bool:
    """Waits, but not if there is something to read; whether there is. No exit ends it."""
    return bool(select.select([news] if news >= 0 else [], [], [], seconds)[0])


_layer = Layer()
stat_of, live_process, is_zombie = _layer.stat_of, _layer.live_process, _layer.is_zombie
everybody, since, children = _layer.everybody, _layer.since, _layer.children
line_of, tmux_servers, terminal_of = _layer.line_of, _layer.tmux_servers, _layer.terminal_of
boot_id, here, identity = _layer.boot_id, _layer.here, _layer.identity
send, kill = _layer.send, _layer.kill
