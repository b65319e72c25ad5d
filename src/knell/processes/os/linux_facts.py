"""Linux: what the kernel tells beside a process's own line: whether /proc shows what the kernel
knows, which boot this is and how processes are numbered, and what an ending without a keeper asks.
"""

import os

from knell.core.process import Gone, ProcessId, Unknown
from knell.processes.os.proc import FIRST_PID_NAMESPACE, number_of, read, shown_at, signal, stat_of

ELSEWHERE = "it is in another PID namespace, which cannot be seen from here"
TWO_BOOTS = "the boot's id is another one, yet a process of its number and start is there"
COVERED = "something lies over /proc: it shows another process than the kernel has there"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
RESERVED = 300  # pids below are given in the first round only
WHOLE_GROUP = 1 << 2  # PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9


def past_boot(process: ProcessId, here: str, *, is_there: bool) -> Gone | Unknown:
    """What becomes of a process of another boot, if that is another one: sandboxes and containers
    mount a file over the boot's id. `is_there`: whether one of its number and start is seen.

    What is around our PID namespace is never seen. But of two places that are both inside the first
    one, neither is known to be around the other, so that a container knows its own past."""
    if is_there:  # the id that was recorded may have been the false one
        return Unknown(TWO_BOOTS)
    if is_boot_told():
        return Gone("rebooted")
    first = f"/{FIRST_PID_NAMESPACE}"
    outside = process.boot.endswith(first) and not here.endswith(first)
    return Unknown(ELSEWHERE) if outside else Gone("rebooted")


def is_boot_told() -> bool:
    """Whether it is the kernel's own file that tells the boot, and no other lies over it."""
    over, told = "", ""
    for line in os.fsdecode(read("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        root, mounted = left.split()[3:5]
        if (BOOT_ID + "/").startswith(mounted.rstrip("/") + "/") and len(mounted) >= len(over):
            over = mounted
            inside = root.rstrip("/") + BOOT_ID.removeprefix(mounted.rstrip("/"))
            told = inside if right.startswith("proc ") else ""
    return "/proc" + told == BOOT_ID


def reused_number(process: ProcessId, shown: int) -> Gone | Unknown:
    """What becomes of a process where /proc shows another start than its own, under the pid
    `shown`. The pidfd asks the kernel itself, where pidfds have numbers."""
    if shown != process.pid:
        return Unknown(COVERED)
    try:
        fd = os.pidfd_open(process.pid) if process.inode else -1
    except ProcessLookupError:
        return Gone()
    if fd < 0:
        return Gone("reused")
    try:
        return Unknown(COVERED) if number_of(fd) == process.inode else Gone("reused")
    finally:
        os.close(fd)


def stop_group(pidfd: int) -> bool:
    """Stops the group that this process leads or led. False if it is empty."""
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGSTOP, None, WHOLE_GROUP)
    except OSError:
        return False
    return True


def newest_pid() -> int:
    """The number that was given last; 0 if that cannot be read."""
    return int((read("/proc/loadavg").split() or [b"0"])[-1])


def waiting_to_run() -> float:
    """How many processes wait for each processor beside the one that asks; 0 if unknown."""
    running = (read("/proc/loadavg").split() or [b"0"])[-2:][0].partition(b"/")[0]
    return max(0, int(running) - 1) / (os.cpu_count() or 1)


def numbers_in_turn() -> int:
    """How many pids are given before one comes again; 0 if that cannot be read."""
    return max(0, int(read("/proc/sys/kernel/pid_max") or b"0") - RESERVED)


def numbers_of(pid: int) -> list[int]:
    """In each PID namespace that it is in, ours first; none if it has gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            told = file.read().partition(b"\nNSpid:")[2].partition(b"\n")[0]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(number) for number in told.split()]


def owner_of(pid: int) -> int | None:
    """The user id under which it runs."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def link_of(path: str) -> str:
    """Where a link of /proc leads; empty if the process has ended, or may not be looked into."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def cwd_of(pid: int) -> str:
    return link_of(f"{shown_at(pid)}/cwd")


def lists_children() -> bool:
    """Whether the kernel keeps a list of each process's children: else keepers must scan."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def obeys_hangup_only(pid: int) -> bool:
    """Whether it leads a session and ignores TERM but not HUP: the shell of a pane does."""
    try:
        # The kernel escapes a newline in the name, the one field that a program chooses.
        mask = read(f"/proc/{pid}/status").partition(b"\nSigIgn:")[2].split()[0]
        stat = stat_of(pid)
        ignored = int(mask, 16)  # the lowest bit is signal 1
    except (OSError, ValueError, IndexError):
        return False
    term, hangup = 1 << signal.SIGTERM - 1, 1 << signal.SIGHUP - 1
    return stat is not None and stat.sid == pid and bool(ignored & term) and not ignored & hangup


def reads_terminal(pid: int) -> bool:
    """Whether its standard input is a terminal; also where that cannot be seen, as elsewhere than
    on Linux."""
    file = link_of(f"/proc/{pid}/fd/0")
    return not file or file.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))
