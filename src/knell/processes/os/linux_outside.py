"""Linux: what the ending of a run without a keeper asks, and how the kernel numbers processes."""

import os

from knell.processes.os.proc import read, shown_at, signal, stat_of

RESERVED = 300  # pids below are given in the first round only
WHOLE_GROUP = 1 << 2  # PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9


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


def cwd_of(pid: int) -> str:
    try:
        return os.readlink(f"{shown_at(pid)}/cwd")
    except OSError:
        return ""


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
