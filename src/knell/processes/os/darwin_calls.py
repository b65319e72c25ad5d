"""macOS: what its kernel is asked, and how its answers are laid out in bytes, for darwin.py.

Written from the headers of xnu-11417 (bsd/sys/proc_info.h, proc_info_private.h) and not yet run on
a Mac. Each call is looked up, and gives nothing where it is missing. Keepers import it too: no
import of knell.
"""

import ctypes
import os
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

if __package__:
    from knell.processes.os import portable_proc
else:  # in a keeper, which has this folder on its path
    import portable_proc

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
        return [
            (one.ident, one.filter == select.KQ_FILTER_READ, one.data)
            if one.flags & select.KQ_EV_ERROR
            else (one.ident, one.filter == select.KQ_FILTER_READ, 0)
            for one in told
        ]
