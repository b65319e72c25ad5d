"""macOS: libproc and kqueue. The same functions as portable_proc.py, with surer identities.

Written from the kernel's source (xnu-11417) and not yet run on a Mac. `p_uniqueid` is never given
again within a boot and stays across exec; `p_puniqueid`, the parent's, stays when the parent dies.
A signal by audit token reaches only that version of a pid, which changes at exec. Where a call is
missing, portable_proc.py answers. Keepers import it too: no import of knell.
"""

import ctypes
import errno
import os
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

if __package__:
    from knell.processes.os import panes, portable_proc, proc
    from knell.processes.os.proc import Process, signal
else:  # in a keeper, which has this folder on its path
    import panes
    import portable_proc
    import proc
    from proc import Process, signal

LAYER, IS_WOKEN = "darwin", True
LIBRARY = portable_proc.LIBRARY
BSDINFO_WITH_UNIQUE, TASKINFO = 18, 4  # flavours of proc_pidinfo
ZOMBIES_TOO = 1
# proc_bsdinfo: flags, status, exit, pid, ppid, six ids, one unused; comm and name; files, group,
# jobs, terminal, group in front, nice; start in seconds and microseconds. Then
# proc_uniqidentifierinfo: uuid, unique, parent's unique, version, three unused.
RECORD = struct.Struct("=12I16s32s5IiQQ 16sQQiIQQ")
TASK = struct.Struct("=6Q12i")  # sizes, user and system time of all threads, of the living, counts
TOKEN = struct.Struct("=8I")  # audit_token_t: the kernel compares the pid [5] and its version [7]
STATES = {1: "S", 2: "R", 3: "S", 4: "T", 5: "Z"}  # SIDL, SRUN, SSLEEP, SSTOP, SZOMB
NO_TERMINAL = 0xFFFFFFFF
TRIES = 5  # to signal a process that execs meanwhile
NO_SUCH_CALL = -1
TICK = 10_000_000  # nanoseconds

argv_of, environment_of = portable_proc.argv_of, portable_proc.environment_of
cwd_of, read, pids = portable_proc.cwd_of, proc.read, portable_proc.pids


class Kernel:
    """The calls themselves. Each gives nothing if this system does not have it."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None, use_errno=True)
        self.info = getattr(self.library, "proc_pidinfo", None)
        self.signal_token = getattr(self.library, "proc_signal_with_audittoken", None)
        self.nanoseconds = self.timebase()

    def timebase(self) -> float:
        """Nanoseconds in a unit of time of the processor."""
        ask, pair = getattr(self.library, "mach_timebase_info", None), (ctypes.c_uint32 * 2)()
        if ask is None or ask(ctypes.byref(pair)) or not pair[1]:
            return 1.0
        return pair[0] / pair[1]

    def pids(self) -> list[int]:
        return portable_proc.pids()

    def told(self, pid: int, flavour: int, size: int) -> bytes:
        """What proc_pidinfo answers; nothing if there is no such process, or it is not told."""
        if self.info is None:
            return b""
        room = ctypes.create_string_buffer(size)
        ask = ctypes.c_uint64(ZOMBIES_TOO)
        got = self.info(ctypes.c_int(pid), ctypes.c_int(flavour), ask, room, ctypes.c_int(size))
        return room.raw if got == size else b""

    def session(self, pid: int) -> int:
        return portable_proc.number(os.getsid, pid)

    def signal(self, pid: int, version: int, number: int) -> int:
        """Signals that version of a pid: 0, an error's number, or NO_SUCH_CALL."""
        if self.signal_token is None:
            return NO_SUCH_CALL
        token = TOKEN.pack(0, 0, 0, 0, 0, pid, 0, version & 0xFFFFFFFF)
        answer: int = self.signal_token(token, ctypes.c_int(number))
        return ctypes.get_errno() if answer == NO_SUCH_CALL else answer

    def text(self, name: bytes) -> str:
        """A string of sysctl; empty if there is none."""
        ask, room, size = getattr(self.library, "sysctlbyname", None), None, ctypes.c_size_t(256)
        if ask is None:
            return ""
        room = ctypes.create_string_buffer(size.value)
        failed = ask(name, room, ctypes.byref(size), None, ctypes.c_size_t(0))
        return "" if failed else room.value.decode(errors="replace")

    def host(self) -> str:
        """The number of this machine, the same at each boot; empty if it is not told."""
        ask, room = getattr(self.library, "gethostuuid", None), ctypes.create_string_buffer(16)
        soon = struct.pack("=qq", 1, 0)  # a second, as struct timespec
        return room.raw.hex() if ask is not None and not ask(room, soon) else ""


kernel = Kernel()
machine_id = kernel.host


class DarwinProcess(Process):
    """One answer of proc_pidinfo."""

    __slots__ = ("owner", "parent_unique", "unique", "version")

    def __init__(self, record: bytes, task: bytes, session: int) -> None:
        fields = RECORD.unpack(record)
        self.pid, self.ppid, self.owner = fields[3], fields[4], fields[5]
        self.state = STATES.get(fields[1], "?")
        self.name = named(fields[13]) or named(fields[12])
        self.pgid, self.sid = fields[15], session
        self.tty = 0 if fields[17] == NO_TERMINAL else fields[17]
        self.front = fields[18]
        self.start = fields[20] * 100 + fields[21] // 10_000
        self.unique, self.parent_unique, self.version = fields[23], fields[24], fields[25]
        used = TASK.unpack(task) if len(task) == TASK.size else (0,) * 18
        self.ticks = int((used[2] + used[3]) * kernel.nanoseconds / TICK)
        self.childrens_ticks, self.pages = 0, used[1] // portable_proc.PAGE

    def command(self) -> str:
        line = " ".join(argv_of(self.pid)) or f"[{self.name}]"
        return proc.printable(line[: proc.COMMAND_LIMIT])


def named(padded: bytes) -> str:
    return os.fsdecode(padded.split(b"\0", 1)[0])


def stat_of(pid: int) -> Process | None:
    """None when there is no such process; OSError when the look itself failed."""
    record = kernel.told(pid, BSDINFO_WITH_UNIQUE, RECORD.size)
    if record:
        return DarwinProcess(record, kernel.told(pid, TASKINFO, TASK.size), kernel.session(pid))
    return portable_proc.stat_of(pid)  # gone, or proc_pidinfo does not know the flavour


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
    """All that are not dead, the newest first, without those with a smaller unique number."""
    found = [live_process(pid) for pid in sorted(kernel.pids(), reverse=True)]
    return [process for process in found if process and process.unique >= since]


def since(process: Process) -> int:
    """What `everybody` may leave out for the descendants of this one."""
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
        version = now.version if isinstance(now, DarwinProcess) else 0
        answer = kernel.signal(pid, version, number) if now.unique else NO_SUCH_CALL
        if answer == NO_SUCH_CALL:
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
    if sys.platform != "darwin":
        return portable_proc.nap(pids, seconds, news)
    queue = select.kqueue()
    try:
        once = select.KQ_EV_ADD | select.KQ_EV_ONESHOT
        wanted = [
            select.kevent(pid, select.KQ_FILTER_PROC, once, select.KQ_NOTE_EXIT) for pid in pids
        ]
        if news >= 0:
            wanted.append(select.kevent(news, select.KQ_FILTER_READ, once))
        events = queue.control(wanted, len(wanted) + 1, max(0.0, seconds))
    except ProcessLookupError:
        return False  # one has ended before it could be watched
    finally:
        queue.close()
    return any(event.ident == news and event.filter == select.KQ_FILTER_READ for event in events)


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
