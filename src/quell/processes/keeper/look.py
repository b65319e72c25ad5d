"""The keeper's eyes and its hand: one process seen, one process signalled.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os

from quick import prctl, signal

PR_SET_CHILD_SUBREAPER = 36
PR_SET_NAME = 15
COMMAND_LIMIT = 400


class Process:
    """One line of /proc/PID/stat, as it was when it was read; a zombie has one too."""

    __slots__ = ("pgid", "pid", "ppid", "sid", "start", "state")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
        fields = text[text.rindex(b")") + 2 :].split()  # the name may hold blanks and brackets
        self.state = fields[0].decode()
        self.ppid, self.pgid, self.sid = int(fields[1]), int(fields[2]), int(fields[3])
        self.start = int(fields[19])

    def argv(self) -> list[str]:
        return [os.fsdecode(part) for part in read(f"/proc/{self.pid}/cmdline").split(b"\0")[:-1]]

    def command(self) -> str:
        line = " ".join(self.argv()) or "[" + self.name() + "]"
        return "".join(c if c.isprintable() else "?" for c in line[:COMMAND_LIMIT])

    def name(self) -> str:
        return os.fsdecode(read(f"/proc/{self.pid}/comm").strip())


def read(path: str) -> bytes:
    """What the file holds; nothing if it is gone or closed to us."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def seen(pid: int) -> Process | None:
    """The process, or None if it is gone, or dead and only waiting to be reaped."""
    try:
        process = Process(pid)
    except (OSError, ValueError):
        return None
    return None if process.state in "ZX" and not threads_live(pid) else process


def threads_live(pid: int) -> bool:
    """A process whose main thread has exited shows Z while its other threads run on."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Direct children, from the kernel's own list or, where it keeps none, by a scan."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found.extend(int(child) for child in file.read().split())
    except FileNotFoundError:  # the process has gone, one of its threads has, or no list is kept
        return children_by_scan(pid) if os.path.exists(f"/proc/{pid}/stat") else []
    except OSError:
        pass
    return found


def children_by_scan(pid: int) -> list[int]:
    found: list[int] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            process = seen(int(entry))
            if process and process.ppid == pid:
                found.append(process.pid)
    return found


def pidfd_inode(pid: int) -> int:
    """A number that no other process ever has, on kernels with pidfs; else 0."""
    if not hasattr(os, "pidfd_open"):
        return 0
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return 0
    try:
        here, there = os.stat(fd), os.stat(anonymous())
        return here.st_ino if here.st_dev != there.st_dev else 0
    finally:
        os.close(fd)


def anonymous(cache: list[int] = []) -> int:  # noqa: B006 - one eventfd for the keeper's whole life
    if not cache:
        cache.append(os.eventfd(0, os.EFD_CLOEXEC))
    return cache[0]


def identity(pid: int) -> tuple[int, int, str, int]:
    """Of ourselves or an unreaped child, which has one even if it is dead already."""
    boot = read("/proc/sys/kernel/random/boot_id").strip().decode()
    try:
        start = Process(pid).start
    except (OSError, ValueError):
        start = 0
    return (pid, start, boot, pidfd_inode(pid))


def send(process: Process, number: int) -> str:
    """Signals exactly that process; returns why it could not, or nothing."""
    try:
        fd = os.pidfd_open(process.pid)
    except (OSError, AttributeError):
        return ""
    try:
        now = seen(process.pid)
        if now and now.start == process.start:
            signal.pidfd_send_signal(fd, number)
            if number in (signal.SIGTERM, signal.SIGHUP):  # a stopped process takes neither
                signal.pidfd_send_signal(fd, signal.SIGCONT)
    except PermissionError:
        return "permission denied"
    except OSError:
        pass  # gone in the meantime
    finally:
        os.close(fd)
    return ""


def become_subreaper() -> None:
    """From here on even a double-forked daemon stays our child. Linux only; nothing elsewhere."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NAME, b"quell-keeper")
