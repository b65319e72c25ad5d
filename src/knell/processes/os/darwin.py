"""macOS: libproc and kqueue. The same functions as portable_proc.py, with surer identities.

Written from the kernel's source (xnu-11417) and not yet run on a Mac. `p_uniqueid` is never given
again within a boot and stays across exec; `p_puniqueid`, the parent's, stays when the parent dies.
A signal by audit token reaches only that version of a pid, which changes at exec. Where a call is
missing, portable_proc.py answers. Keepers import it too: no import of knell.
"""

import errno
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

if __package__:
    from knell.processes.os import darwin_calls, panes, portable_proc, proc
    from knell.processes.os.proc import Process, signal
else:  # in a keeper, which has this folder on its path
    import darwin_calls
    import panes
    import portable_proc
    import proc
    from proc import Process, signal

LAYER, IS_WOKEN = "darwin", True
LIBRARY = portable_proc.LIBRARY
STATES = {1: "S", 2: "R", 3: "S", 4: "T", 5: "Z"}  # SIDL, SRUN, SSLEEP, SSTOP, SZOMB
NO_TERMINAL = 0xFFFFFFFF
TRIES = 5  # to signal a process that execs meanwhile
LOOK_AGAIN = 0.02  # seconds, where an exit cannot be waited for
TICK = 10_000_000  # nanoseconds

argv_of, environment_of = portable_proc.argv_of, portable_proc.environment_of
cwd_of, read, pids = portable_proc.cwd_of, proc.read, portable_proc.pids


kernel = darwin_calls.Kernel()
machine_id = kernel.host


class DarwinProcess(Process):
    """One answer of proc_pidinfo."""

    __slots__ = ("owner", "parent_unique", "unique", "version")

    def __init__(self, record: bytes, task: bytes, session: int) -> None:
        fields = darwin_calls.RECORD.unpack(record)
        self.pid, self.ppid, self.owner = fields[3], fields[4], fields[5]
        self.state = STATES.get(fields[1], "?")
        self.name = named(fields[13]) or named(fields[12])
        self.pgid, self.sid = fields[15], session
        self.tty = 0 if fields[17] == NO_TERMINAL else fields[17]
        self.front = fields[18]
        # As psutil has it, to the last bit: the same process may be seen by both.
        self.start = round((fields[20] + fields[21] / 1e6) * portable_proc.TICKS)
        self.unique, self.parent_unique, self.version = fields[23], fields[24], fields[25]
        used = darwin_calls.TASK.unpack(task) if len(task) == darwin_calls.TASK.size else (0,) * 18
        self.ticks = int((used[2] + used[3]) * kernel.nanoseconds / TICK)
        self.childrens_ticks, self.pages = 0, used[1] // portable_proc.PAGE

    def command(self) -> str:
        line = " ".join(argv_of(self.pid)) or f"[{self.name}]"
        return proc.printable(line[: proc.COMMAND_LIMIT])


class OthersProcess(portable_proc.SeenProcess):
    """One of another user: the kernel tells its numbers, and psutil the rest."""

    __slots__ = ("parent_unique", "unique", "version")

    def __init__(self, pid: int, numbers: bytes) -> None:
        super().__init__(pid)
        self.unique, self.parent_unique, self.version = darwin_calls.NUMBERS.unpack(numbers)[1:4]


def named(padded: bytes) -> str:
    return os.fsdecode(padded.split(b"\0", 1)[0])


def stat_of(pid: int) -> Process | None:
    """None when there is no such process; OSError when the look itself failed."""
    record = kernel.told(pid, darwin_calls.BSDINFO_WITH_UNIQUE, darwin_calls.RECORD.size)
    if record:
        task = kernel.told(pid, darwin_calls.TASKINFO, darwin_calls.TASK.size)
        return DarwinProcess(record, task, kernel.session(pid))
    size = darwin_calls.NUMBERS.size
    while numbers := kernel.told(pid, darwin_calls.UNIQUE, size):
        seen = portable_proc.seen(lambda told=numbers: OthersProcess(pid, told))
        if kernel.told(pid, darwin_calls.UNIQUE, size) == numbers:
            return seen  # the number has not changed hands between the two looks
    return portable_proc.stat_of(pid)  # gone, or proc_pidinfo knows neither flavour


def is_zombie(process: Process) -> bool:
    return process.state in "ZX"


def live_process(pid: int) -> Process | None:
    """The process, or None if it is gone, or dead and only waiting to be reaped."""
    try:
        process = stat_of(pid)
    except OSError:
        return None
    return None if process is None or is_zombie(process) else process


def everybody(since: int = 0) -> list[Process]:
    """All that are not dead, the newest first, without those with a smaller unique number. One
    whose number is not told may be younger: it is not left out."""
    found = [live_process(pid) for pid in sorted(kernel.pids(), reverse=True)]
    return [process for process in found if process and not 0 < process.unique < since]


def since(process: Process) -> int:
    """What `everybody` may leave out for the descendants of this one; 0 if it is not known."""
    return process.unique


def children(pid: int) -> list[int]:
    return [process.pid for process in everybody() if process.ppid == pid]


def line_of(pid: int) -> list[Process]:
    """The process and those above it, up to init."""
    line: list[Process] = []
    while pid and (process := stat_of(pid)) and pid not in [one.pid for one in line]:
        line.append(process)
        pid = process.ppid
    return line


def owner_of(pid: int) -> int | None:
    """The user id under which it runs."""
    process = live_process(pid)
    return process.owner if isinstance(process, DarwinProcess) else portable_proc.owner_of(pid)


def terminal_of(pid: int) -> int:
    """The number of its controlling device; 0 without one."""
    process = stat_of(pid)
    return process.tty if process else 0


def tmux_servers() -> list[int]:
    return [process.pid for process in everybody() if panes.is_tmux_server(process)]


def boot_id() -> str:
    return kernel.text(b"kern.bootsessionuuid")


def here() -> str:
    return f"{boot_id()}/0"


def identity(pid: int) -> tuple[int, int, str, int]:
    """Of ourselves or an unreaped child, which has one even if it is dead already."""
    try:
        process = stat_of(pid)
    except OSError:
        process = None
    return (pid, process.start if process else 0, here(), process.unique if process else 0)


# -- signals ---------------------------------------------------------------------------------------


def send(process: Process, number: int) -> str:
    """Signals exactly that process; returns why it could not, or nothing."""
    now = live_process(process.pid)
    if now is None or now.start != process.start or now.unique != process.unique:
        return ""
    return kill(process.pid, number, process.unique)


def kill(pid: int, number: int, unique: int) -> str:
    """Signals the process with this pid if its unique number is this one."""
    why = signal_once(pid, number, unique)
    if not why and number in (signal.SIGTERM, signal.SIGHUP):  # a stopped process takes neither
        return signal_once(pid, signal.SIGCONT, unique)
    return why


def signal_once(pid: int, number: int, unique: int) -> str:
    """An exec between look and signal changes the version, not the unique number: look again."""
    for _ in range(TRIES):
        now = live_process(pid)
        if now is None or pid <= 1:
            return ""
        if unique and now.unique and now.unique != unique:
            return ""  # the number is another's by now
        version = now.version if isinstance(now, DarwinProcess | OthersProcess) else None
        answer = darwin_calls.NO_SUCH_CALL
        if version is not None and number:  # it takes no 0, which only asks
            answer = kernel.signal(pid, version, number)
        if answer == darwin_calls.NO_SUCH_CALL:
            return portable_proc.kill_once(pid, number)
        if answer == 0:
            return ""
        if answer != errno.ESRCH:
            return proc.DENIED if answer == errno.EPERM else os.strerror(answer)
    return "it started a new program each time it was to be signalled"


# -- events ----------------------------------------------------------------------------------------

_kept: "list[Any]" = []  # a queue closes with its object


def nap(pids: "Collection[int]", seconds: float, news: int) -> bool:
    """Waits until one of these may have ended, or there is something to read; whether there is."""
    events = kernel.events(pids, seconds, news)
    blind = events is None or any(error not in (0, errno.ESRCH) for *_, error in events)
    if events is None or blind:  # one cannot be watched: else this would return at once, each time
        return portable_proc.nap(pids, min(seconds, LOOK_AGAIN), news)
    return any(ident == news and read and not error for ident, read, error in events)


def watch_directory(folder: str) -> int:
    """A file descriptor that is readable once something new is in it; -1 if there is none."""
    if sys.platform != "darwin":
        return -1
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
    queue = select.kqueue()
    flags = select.KQ_EV_ADD | select.KQ_EV_CLEAR
    queue.control([select.kevent(fd, select.KQ_FILTER_VNODE, flags, select.KQ_NOTE_WRITE)], 0, 0)
    _kept.append(queue)
    return queue.fileno()


def take_news(fd: int) -> None:
    """Takes what a watched directory has told, so that the next wait waits again."""
    if sys.platform == "darwin":
        for queue in _kept:
            if queue.fileno() == fd:
                queue.control(None, 8, 0)
