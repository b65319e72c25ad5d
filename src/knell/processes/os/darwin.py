"""macOS: libproc and kqueue. The same functions as portable_proc.py, with surer identities.

Written from the kernel's source (xnu-11417: bsd/sys/proc_info.h, proc_info_private.h) and not yet
run on a Mac. `p_uniqueid` is never given again within a boot and stays across exec; `p_puniqueid`,
the parent's, stays when the parent dies. A signal by audit token reaches only that version of a
pid, which changes at exec. Each call is looked up; where one is missing, portable_proc.py answers.
Keepers import it too: no import of knell.
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
    from knell.processes.os import portable_proc, proc
    from knell.processes.os.proc import Process
else:  # in a keeper, which has this folder on its path
    import portable_proc
    import proc
    from proc import Process

LAYER, IS_WOKEN = "darwin", True
LIBRARY = portable_proc.LIBRARY
STATES = {1: "S", 2: "R", 3: "S", 4: "T", 5: "Z"}  # SIDL, SRUN, SSLEEP, SSTOP, SZOMB
NO_TERMINAL = 0xFFFFFFFF
TRIES = 5  # to signal a process that execs meanwhile
LOOK_AGAIN = 0.02  # seconds, where an exit cannot be waited for
TICK = 10_000_000  # nanoseconds
# Flavours of proc_pidinfo. The first and the third are told of one's own processes only (of all to
# root), the second of everybody's.
BSDINFO_WITH_UNIQUE, UNIQUE, TASKINFO = 18, 17, 4
ZOMBIES_TOO = 1
# proc_bsdinfo: flags, status, exit, pid, ppid, six ids, one unused; comm and name; files, group,
# jobs, terminal, group in front, nice; start in seconds and microseconds. Then the NUMBERS.
RECORD = struct.Struct("=12I16s32s5IiQQ 16sQQiIQQ")
NUMBERS = struct.Struct("=16sQQiIQQ")  # uuid, unique, parent's unique, version, three unused
TASK = struct.Struct("=6Q12i")  # sizes, user and system time of all threads, of the living, counts
TOKEN = struct.Struct("=8I")  # audit_token_t: the kernel compares the pid [5] and its version [7]
NO_SUCH_CALL = -1

Event = tuple[int, bool, int]  # a pid or a file, whether it can be read, the number of an error

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

    def events(self, pids: "Collection[int]", seconds: float, news: int) -> "list[Event] | None":
        """Waits until one of these ends or there is something to read; None without kqueue. What
        cannot be watched is told as an error, and at once."""
        if sys.platform != "darwin":
            return None
        once, exits = select.KQ_EV_ADD | select.KQ_EV_ONESHOT, select.KQ_NOTE_EXIT
        wanted = [select.kevent(pid, select.KQ_FILTER_PROC, once, exits) for pid in pids]
        if news >= 0:
            wanted.append(select.kevent(news, select.KQ_FILTER_READ, once))
        queue = select.kqueue()
        try:
            told = queue.control(wanted, len(wanted) + 1, max(0.0, seconds))
        finally:
            queue.close()
        reads, error = select.KQ_FILTER_READ, select.KQ_EV_ERROR
        return [
            (one.ident, one.filter == reads, one.data if one.flags & error else 0) for one in told
        ]


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
        # As psutil has it, to the last bit: the same process may be seen by both.
        self.start = round((fields[20] + fields[21] / 1e6) * portable_proc.TICKS)
        self.unique, self.parent_unique, self.version = fields[23], fields[24], fields[25]
        used = TASK.unpack(task) if len(task) == TASK.size else (0,) * 18
        self.ticks = int((used[2] + used[3]) * kernel.nanoseconds / TICK)
        self.childrens_ticks, self.pages = 0, used[1] // portable_proc.PAGE

    command = portable_proc.SeenProcess.command


class OthersProcess(portable_proc.SeenProcess):
    """One of another user: the kernel tells its numbers, and psutil the rest."""

    __slots__ = ("parent_unique", "unique", "version")

    def __init__(self, pid: int, numbers: bytes) -> None:
        super().__init__(pid)
        self.unique, self.parent_unique, self.version = NUMBERS.unpack(numbers)[1:4]


def named(padded: bytes) -> str:
    return os.fsdecode(padded.split(b"\0", 1)[0])


class DarwinLayer(portable_proc.Layer):
    def pids(self) -> list[int]:
        return kernel.pids()

    def stat_of(self, pid: int) -> Process | None:
        record = kernel.told(pid, BSDINFO_WITH_UNIQUE, RECORD.size)
        if record:
            task = kernel.told(pid, TASKINFO, TASK.size)
            return DarwinProcess(record, task, kernel.session(pid))
        size = NUMBERS.size
        while numbers := kernel.told(pid, UNIQUE, size):
            seen = portable_proc.seen(lambda told=numbers: OthersProcess(pid, told))
            if kernel.told(pid, UNIQUE, size) == numbers:
                return seen  # the number has not changed hands between the two looks
        return super().stat_of(pid)  # gone, or proc_pidinfo knows neither flavour

    def is_zombie(self, process: Process) -> bool:
        return process.state in "ZX"

    def since(self, process: Process) -> int:
        """By its unique number, and not by the clock. One whose number is not told may be younger:
        it is not left out."""
        return process.unique

    def boot_id(self) -> str:
        return kernel.text(b"kern.bootsessionuuid")

    def signal_once(self, pid: int, number: int, unique: int) -> str:
        """An exec between look and signal changes the version, not the number: look again."""
        for _ in range(TRIES):
            now = self.live_process(pid)
            if now is None or pid <= 1:
                return ""
            if unique and now.unique and now.unique != unique:
                return ""  # the number is another's by now
            version = now.version if isinstance(now, DarwinProcess | OthersProcess) else None
            answer = NO_SUCH_CALL
            if version is not None and number:  # it takes no 0, which only asks
                answer = kernel.signal(pid, version, number)
            if answer == NO_SUCH_CALL:
                return super().signal_once(pid, number, unique)
            if answer == 0:
                return ""
            if answer != errno.ESRCH:
                return proc.DENIED if answer == errno.EPERM else os.strerror(answer)
        return "it started a new program each time it was to be signalled"


_layer = DarwinLayer()
stat_of, live_process, is_zombie = _layer.stat_of, _layer.live_process, _layer.is_zombie
everybody, since, children = _layer.everybody, _layer.since, _layer.children
line_of, tmux_servers, terminal_of = _layer.line_of, _layer.tmux_servers, _layer.terminal_of
boot_id, here, identity = _layer.boot_id, _layer.here, _layer.identity
send, kill = _layer.send, _layer.kill


def owner_of(pid: int) -> int | None:
    process = live_process(pid)
    return process.owner if isinstance(process, DarwinProcess) else portable_proc.owner_of(pid)


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
    if sys.platform == "darwin":
        for queue in _kept:
            if queue.fileno() == fd:
                queue.control(None, 8, 0)
