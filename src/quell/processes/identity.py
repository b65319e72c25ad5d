"""Which process is this, is it still that one, and a signal that can hit no other."""

import errno
import functools
import os
import select
import signal
from typing import NamedTuple

from quell.core.process import Alive, Gone, ProcessId, Unknown

RESERVED = 300  # pids below are given in the first round only
LONGEST = 4096  # bytes; the kernel writes the line in one piece, of some hundred
FIELDS = 20  # that must follow the name in /proc/PID/stat
DENIED = "permission denied"  # the keeper writes the same words


class Stat(NamedTuple):
    """One line of /proc/PID/stat, as far as we need it."""

    pid: int
    name: str
    state: str
    ppid: int
    pgid: int
    sid: int
    tty: int
    front: int  # the process group in front on its terminal
    start: int
    ticks: int  # of CPU time, with that of its reaped children


@functools.cache
def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def read_stat(pid: int) -> Stat | None:
    """None when there is no such process; OSError when the look itself failed."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)  # half the time of open()
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        text = os.read(fd, LONGEST)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)
    return parse_stat(text)


def parse_stat(text: bytes) -> Stat:
    """The name may hold blanks, brackets and newlines, so it ends at the last bracket.

    ValueError for what is no such line."""
    left, right = text.index(b"("), text.rindex(b")")
    rest = text[right + 2 :].split()
    if len(rest) < FIELDS:
        raise ValueError("too short for a line of /proc/PID/stat")
    return Stat(
        pid=int(text[:left]),
        name=os.fsdecode(text[left + 1 : right]),
        state=rest[0].decode(),
        ppid=int(rest[1]),
        pgid=int(rest[2]),
        sid=int(rest[3]),
        tty=int(rest[4]),
        front=int(rest[5]),
        start=int(rest[19]),
        ticks=int(rest[11]) + int(rest[12]) + int(rest[13]) + int(rest[14]),
    )


def identify(pid: int) -> ProcessId | None:
    """The full identity of whoever has this pid now; None when nobody has."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    try:
        stat = read_stat(pid)
        return ProcessId(pid, stat.start, boot_id(), inode_of(fd)) if stat else None
    finally:
        os.close(fd)


def inode_of(pidfd: int) -> int:
    """Unique among all processes since boot where pidfds live in pidfs (Linux 6.9); else 0."""
    stat = os.fstat(pidfd)
    return stat.st_ino if stat.st_dev != _anonymous_device() else 0


def inode_at(pid: int) -> int:
    """Of whoever has this pid now; 0 when nobody has, or the kernel tells none."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return 0
    try:
        return inode_of(fd)
    finally:
        os.close(fd)


def numbers_in_turn() -> int:
    """How many pids are given before one comes again; 0 if that cannot be read."""
    try:
        with open("/proc/sys/kernel/pid_max", "rb") as file:
            return max(0, int(file.read()) - RESERVED)
    except (OSError, ValueError):
        return 0


@functools.cache
def _anonymous_device() -> int:
    fd = os.eventfd(0, os.EFD_CLOEXEC)
    try:
        return os.fstat(fd).st_dev
    finally:
        os.close(fd)


def look(process: ProcessId) -> Alive | Gone | Unknown:
    """Whether exactly that process lives. A zombie is dead, whoever should have reaped it."""
    if process.boot != boot_id():
        return Gone("rebooted")
    try:
        stat = read_stat(process.pid)
    except OSError as error:
        return Unknown(error.strerror or "cannot read /proc")
    if stat is None:
        return Gone()
    if stat.start != process.start:
        return Gone("reused")
    if process.inode or stat.state in "ZX":
        return _look_closely(process, stat.state)
    return Alive(process, stat.state)


def _look_closely(process: ProcessId, state: str) -> Alive | Gone | Unknown:
    """The pidfd tells a reuse within one clock tick, and a Z that is only a main thread's."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return Gone()
    except OSError as error:
        return Unknown(error.strerror or "cannot open a pidfd")
    try:
        if process.inode and inode_of(fd) not in (0, process.inode):
            return Gone("reused")
        return Gone() if state in "ZX" and is_dead(fd) else Alive(process, state)
    finally:
        os.close(fd)


def is_dead(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def open_verified(process: ProcessId) -> int | None:
    """A pidfd of exactly that process, or None: gone, or another by now.

    The identity is read after the open, so no reuse can slip in between.
    """
    if process.boot != boot_id() or process.pid <= 1:
        return None
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return None
    stat = read_stat(process.pid)
    now = ProcessId(process.pid, stat.start if stat else -1, process.boot, inode_of(fd))
    if process.same_as(now):
        return fd
    os.close(fd)
    return None


def send(pidfd: int, number: int) -> str:
    """Signals through the pidfd; returns "", or why the kernel refused."""
    try:
        signal.pidfd_send_signal(pidfd, number)
        if number == signal.SIGTERM:
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)  # a stopped process takes no TERM
    except ProcessLookupError:
        return ""
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            return DENIED
        return error.strerror or "refused"
    return ""


def obeys_hangup_only(pid: int) -> bool:
    """Whether it leads a session and ignores TERM but not HUP: the shell of a pane does."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            # The kernel escapes a newline in the name, the one field that a program chooses.
            ignored = int(file.read().partition(b"\nSigIgn:")[2].split()[0], 16)
        stat = read_stat(pid)
    except (OSError, ValueError, IndexError):
        return False
    term, hangup = 1 << signal.SIGTERM - 1, 1 << signal.SIGHUP - 1
    return stat is not None and stat.sid == pid and bool(ignored & term) and not ignored & hangup


def argv_of(pid: int) -> tuple[str, ...]:
    """Its command line; empty for kernel threads, zombies and whatever cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            text = file.read(65_536)
    except OSError:
        return ()
    return tuple(os.fsdecode(part) for part in text.rstrip(b"\0").split(b"\0")) if text else ()


def command_of(pid: int, name: str = "") -> str:
    """Its command line for people: one line, printable, not too long."""
    line = " ".join(argv_of(pid))
    if not line:
        if not name:
            try:
                stat = read_stat(pid)
            except OSError:
                stat = None
            name = stat.name if stat else ""
        line = f"[{name or '?'}]"
    return "".join(c if c.isprintable() else "?" for c in line[:400])


def stamp_of(pid: int) -> str | None:
    """The run id in its environment; None without one, or where we may not look."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read()
    except OSError:
        return None
    if not text.startswith(b"QUELL_RUN="):
        at = text.find(b"\0QUELL_RUN=")
        if at < 0:
            return None
        text = text[at + 1 :]
    return os.fsdecode(text[len("QUELL_RUN=") :].split(b"\0", 1)[0])
