"""One process, as /proc shows it: for the keeper, and for processes/os/linux.py.

The keeper imports it too: standard library only, no import of knell.
Importing `signal` loads enum, and ctypes many types: together half of the keeper's start.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    try:
        import _signal as signal  # the same functions, and plain numbers
    except ImportError:  # only CPython has it
        import signal

COMMAND_LIMIT = 400  # characters
PIECE = 65536  # bytes that are read at once
LONGEST = 4096  # bytes; the kernel writes the line in one piece, of some hundred
FIELDS = 22  # that must follow the name in /proc/PID/stat
DENIED = "permission denied"
FIRST_PID_NAMESPACE = 4026531836  # its inode, on every Linux: all others are inside it
FIRST_TIME_NAMESPACE = 4026531834
TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # nanoseconds


class Process:
    """One line of /proc/PID/stat, as it was when it was read; a zombie has one too."""

    __slots__ = (
        *("pid", "name", "state", "ppid", "pgid", "sid", "tty"),
        "front",  # the process group in front on its terminal
        "start",  # clock ticks after boot, also in a time namespace
        "ticks",  # of CPU time
        "childrens_ticks",  # of CPU time, of its reaped children
        "pages",  # of memory
        "number",  # as number_of gives it, where a pidfd was looked at; else 0
    )

    unique = parent_unique = 0  # numbers that are never given again; macOS has them

    def __init__(self, line: bytes) -> None:
        """The name may hold blanks, brackets and newlines, so it ends at the last bracket.

        ValueError for what is no such line."""
        left, right = line.index(b"("), line.rindex(b")")
        rest = line[right + 2 :].split(None, FIELDS)
        if len(rest) < FIELDS:
            raise ValueError("too short for a line of /proc/PID/stat")
        self.pid, self.name = int(line[:left]), os.fsdecode(line[left + 1 : right])
        self.state = rest[0].decode()
        self.ppid, self.pgid, self.sid = int(rest[1]), int(rest[2]), int(rest[3])
        self.tty, self.front = int(rest[4]), int(rest[5])
        self.ticks = int(rest[11]) + int(rest[12])
        self.childrens_ticks = int(rest[13]) + int(rest[14])
        self.start, self.pages = int(rest[19]) - time_shift() // TICK, int(rest[21])
        self.number = 0

    def command(self) -> str:
        """Its command line for people: one line, printable, not too long."""
        line = " ".join(argv_of(self.pid)) or f"[{self.name}]"
        return printable(line[:COMMAND_LIMIT])


def printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def stat_of(pid: int, pidfd: int = -1) -> Process | None:
    """None when there is no such process; OSError when the look failed. `pidfd`: see `number`."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)  # half the time of open()
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        process = Process(os.read(fd, LONGEST))
        process.number = number_of(pidfd) if pidfd >= 0 else 0
        return process
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)


def command_of(pid: int, look: "Callable[[int], Process | None]" = stat_of) -> str:
    """The command line of whoever has that number; `[?]` if it cannot be looked at."""
    try:
        process = look(pid)
    except OSError:
        process = None
    return process.command() if process else "[?]"


def is_hidden(pid: int) -> bool:
    """Whether a process has that number although /proc does not show it: mounted with hidepid,
    it hides what the caller may not trace, which in a user namespace is all that is outside."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return stat_of(pid) is None  # else it has just got that number


def line_of(pid: int, look: "Callable[[int], Process | None]" = stat_of) -> list[Process]:
    """The process and those above it, up to init."""
    line: list[Process] = []
    while pid and (process := look(pid)) and pid not in [one.pid for one in line]:
        line.append(process)
        pid = process.ppid
    return line


def read(path: str) -> bytes:
    """What the file holds; nothing if it is gone or may not be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return b"".join(iter(lambda: os.read(fd, PIECE), b""))
    except OSError:
        return b""
    finally:
        os.close(fd)


def argv_of(pid: int) -> tuple[str, ...]:
    """Its command line; empty for kernel threads, zombies and whatever cannot be read."""
    text = read(f"/proc/{pid}/cmdline") or read(f"{shown_at(pid)}/cmdline")
    return tuple(os.fsdecode(text).rstrip("\0").split("\0")) if text else ()


def environ_of(pid: int) -> bytes:
    """NAME=value pairs with NULs between them; empty where we may not look."""
    return read(f"/proc/{pid}/environ") or read(f"{shown_at(pid)}/environ")


def shown_at(pid: int) -> str:
    """Where /proc shows what a process is made of: at its pid; but once its main thread has
    exited, only at another thread."""
    try:
        os.readlink(f"/proc/{pid}/cwd")
    except FileNotFoundError:
        threads = [task for task in tasks_of(pid) if task != str(pid)]
        if threads:
            return f"/proc/{pid}/task/{threads[0]}"
    except OSError:
        pass  # another user's
    return f"/proc/{pid}"


def tasks_of(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def environment_of(pid: int) -> dict[str, str]:
    """As it was when its program started; empty where we may not look."""
    words = os.fsdecode(environ_of(pid)).split("\0")
    return {name: value for name, found, value in (w.partition("=") for w in words) if found}


def terminal_of(pid: int) -> int:
    """The device number of its terminal, as stat() shows it."""
    process = stat_of(pid)
    number = process.tty if process else 0
    return os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00)


def boot_id() -> str:
    return read("/proc/sys/kernel/random/boot_id").strip().decode()


def machine_id() -> str:
    """The same at each boot; empty if it has none."""
    return read("/etc/machine-id").strip().decode(errors="replace")


def here(boot: str = "") -> str:
    """The boot, and our PID namespace: only within both a pid always means the same process."""
    return f"{boot or boot_id()}/{os.stat('/proc/self/ns/pid').st_ino}"


def time_shift(cache: list[int] = []) -> int:  # noqa: B006 - looked up once
    """Nanoseconds by which our time namespace moves each start that it shows us."""
    if not cache:
        try:
            first = os.stat("/proc/self/ns/time").st_ino == FIRST_TIME_NAMESPACE
        except OSError:  # the kernel has none
            first = True
        told = b"" if first else read("/proc/self/timens_offsets").partition(b"boottime")[2]
        seconds, nanoseconds = (int(number) for number in (told or b"0 0").split()[:2])
        cache.append(seconds * 1_000_000_000 + nanoseconds)
    return cache[0]


def live_process(pid: int) -> Process | None:
    """The process, or None if it is gone, or dead and only waiting to be reaped."""
    try:
        process = stat_of(pid)
    except (OSError, ValueError):
        return None
    # A process whose main thread has exited shows Z while its other threads run on.
    dead = process and process.state in "ZX" and len(tasks_of(pid)) <= 1
    return None if dead else process


def pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def everybody(since: int = 0) -> list[Process]:
    """All that are not dead, by one scan, without those that began before."""
    found = [live_process(pid) for pid in pids()]
    return [process for process in found if process and process.start >= since]


def since(process: Process) -> int:
    """What `everybody` may leave out for the descendants of this one."""
    return process.start


def children(pid: int) -> list[int]:
    """Direct children, from the kernel's own list or, where it keeps none, by a scan."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found.extend(int(child) for child in file.read().split())
    except FileNotFoundError:  # the process has gone, one of its threads has, or no list is kept
        if not os.path.exists(f"/proc/{pid}/stat"):
            return []
        return [process.pid for process in everybody() if process.ppid == pid]
    except OSError:
        pass
    return found


def number_of(pidfd: int) -> int:
    """A number that no other process has until the next boot, where pidfds live in pidfs
    (Linux 6.9); else 0."""
    stat = os.fstat(pidfd)
    return stat.st_ino if stat.st_dev != anonymous_device() else 0


def anonymous_device(cache: list[int] = []) -> int:  # noqa: B006 - looked up once
    """Where pidfds live on kernels without pidfs."""
    if not cache:
        fd = os.eventfd(0, os.EFD_CLOEXEC)
        cache.append(os.fstat(fd).st_dev)
        os.close(fd)
    return cache[0]


def identity(pid: int) -> tuple[int, int, str, int]:
    """Of ourselves or an unreaped child, which has one even if it is dead already."""
    try:
        process = stat_of(pid)
        fd = os.pidfd_open(pid)
    except (OSError, AttributeError):
        process, fd = None, -1
    number = number_of(fd) if fd >= 0 else 0
    if fd >= 0:
        os.close(fd)
    return (pid, process.start if process else 0, here(), number)


def send(process: Process, number: int) -> str:
    """Signals exactly that process; returns why it could not, or nothing."""
    try:
        fd = os.pidfd_open(process.pid)
    except (OSError, AttributeError):
        return ""
    try:
        now = live_process(process.pid)
        return send_through(fd, number) if now and now.start == process.start else ""
    finally:
        os.close(fd)


def send_through(pidfd: int, number: int) -> str:
    """Signals the process of a pidfd; returns "", or why the kernel refused."""
    try:
        signal.pidfd_send_signal(pidfd, number)
        if number in (signal.SIGTERM, signal.SIGHUP):  # a stopped process takes neither
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)
    except ProcessLookupError:
        return ""  # gone in the meantime
    except PermissionError:
        return DENIED
    except OSError as error:
        return error.strerror or "refused"
    return ""
