"""Linux: /proc and pidfds. Which process is this, is it still that one, what is known of it?

portable.py gives the same by other means: who runs (`pids`, `stat_of`), which process that is and
a signal that can hit no other (`identify`, `look`, `open_verified`, `send`, `is_dead`, `close`),
when one of many ends (`Exits`), what is known of it (`argv_of`, `stamp_of`, `environment_of`,
`cwd_of`, `owner_of`); and use.py gives what processes use.
"""

from __future__ import annotations

import errno
import os
import select
from typing import TYPE_CHECKING

from knell.core.errors import WorldError
from knell.core.process import Alive, Ancestor, Gone, ProcessId, Unknown
from knell.processes.os import proc
from knell.processes.os.linux_boot import MOUNT_IT, boot_id, here, my_number, pids
from knell.processes.os.proc import Process, argv_of, number_of, read, signal, stat_of

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Process", "argv_of"]

LAYER = "linux"
TAKEOVER = 1.5  # seconds after KILL was due before knell stops waiting for a keeper
KEEPER_WORDS: tuple[str, ...] = ()  # more arguments for a keeper, which knows Linux by itself

RESERVED = 300  # pids below are given in the first round only
WHOLE_GROUP = 1 << 2  # PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9
ELSEWHERE = "it is in another PID namespace, which cannot be seen from here"
HIDDEN = "/proc hides it from this process (hidepid), so it cannot be told whether it lives"
STRANGE_PROC = "/proc shows another PID namespace than the one that this command is in"

TWO_BOOTS = "the boot's id is another one, yet a process of its number and start is there"

open_process, send, DENIED = os.pidfd_open, proc.send_through, proc.DENIED
environment_of, printable, close = proc.environment_of, proc.printable, os.close


# -- which process --------------------------------------------------------------------------------


def identify(pid: int) -> ProcessId | None:
    """The full identity of the process that has this pid now; None when none has."""
    if my_number() != os.getpid():
        raise WorldError(STRANGE_PROC, MOUNT_IT)
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    try:
        stat = stat_of(pid)
        return ProcessId(pid, stat.start, here(), number_of(fd)) if stat else None
    finally:
        os.close(fd)


def me() -> ProcessId:
    found = identify(os.getpid())
    if found is None:  # cannot be: we are running
        raise ProcessLookupError(os.getpid())
    return found


def look(process: ProcessId) -> Alive | Gone | Unknown:
    """Whether exactly that process lives. A zombie is dead, though it is not reaped."""
    try:
        if process.boot != here():
            return _look_elsewhere(process)
        stat = stat_of(process.pid)
    except (OSError, WorldError) as error:
        return Unknown(getattr(error, "strerror", "") or str(error) or "cannot look")
    if stat is None:
        return Unknown(HIDDEN) if proc.is_hidden(process.pid) else Gone("exited")
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
        if process.inode and number_of(fd) not in (0, process.inode):
            return Gone("reused")
        return Gone() if state in "ZX" and is_dead(fd) else Alive(process, state)
    finally:
        os.close(fd)


def _look_elsewhere(process: ProcessId) -> Alive | Gone | Unknown:
    """A look at a process of another boot, or of another PID namespace. Only a namespace around
    that one shows it, under another number; the first one is around all others."""
    if process.boot.partition("/")[0] != boot_id():
        # A file can be mounted over the boot's id: what looks the same may be the same.
        stat = stat_of(process.pid)
        return Unknown(TWO_BOOTS) if stat and stat.start == process.start else Gone("rebooted")
    found = _found_inside(process)
    if found:
        seen = look(found)
        return seen._replace(process=process) if isinstance(seen, Alive) else seen
    if proc.is_hidden(1):
        return Unknown(HIDDEN)
    return Gone() if here().endswith(f"/{proc.FIRST_PID_NAMESPACE}") else Unknown(ELSEWHERE)


def _found_inside(process: ProcessId) -> ProcessId | None:
    """A process of a namespace inside ours, as we see it; None if we do not."""
    this_boot = process.boot.partition("/")[0] == boot_id()
    for pid in pids() if this_boot else ():
        stat = stat_of(pid)
        if stat and stat.start == process.start:
            numbers = read(f"/proc/{pid}/status").partition(b"\nNSpid:")[2].partition(b"\n")[0]
            found = identify(pid) if numbers.split()[1:] else None  # more than one: it is inside
            inner = process._replace(pid=pid, boot=here())
            if found and int(numbers.split()[-1]) == process.pid and found.same_as(inner):
                return found
    return None


def open_verified(process: ProcessId) -> int | None:
    """A pidfd of exactly that process, or None: gone, or another by now.

    The identity is read after the open, so no reuse can slip in between.
    """
    if process.boot != here():
        found = _found_inside(process)
        return open_verified(found) if found else None
    if process.pid <= 1:
        return None
    try:
        fd = os.pidfd_open(process.pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL):
            return None
        # No descriptor or no memory left: that says nothing about the process.
        raise WorldError(f"cannot look at process {process.pid}: {error.strerror}") from error
    stat = stat_of(process.pid)
    reused = process.inode and number_of(fd) not in (0, process.inode)
    if stat and stat.start == process.start and not reused:
        return fd
    os.close(fd)
    return None


def is_dead(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


class Exits:
    """Waits until one of many processes ends. It stays, because the next wait is for nearly the
    same ones: asking for each anew after every death is O(n²)."""

    def __init__(self) -> None:
        self._poll = select.poll()  # by number only: a closed number may come again
        self._watched: set[int] = set()

    def wait(self, pidfds: Collection[int], seconds: float, news: int = -1) -> set[int]:
        """Those that have ended, and `news`, another file, if something can be read there."""
        wanted = {*pidfds, news} - {-1}
        for fd in self._watched - wanted:
            self._poll.unregister(fd)
        for fd in wanted - self._watched:
            self._poll.register(fd, select.POLLIN)
        self._watched = wanted
        return {fd for fd, _ in self._poll.poll(max(0.0, seconds * 1000))}


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


def machine_id() -> str:
    """The same at each boot; empty if it has none."""
    return read("/etc/machine-id").strip().decode(errors="replace")


def numbers_in_turn() -> int:
    """How many pids are given before one comes again; 0 if that cannot be read."""
    return max(0, int(read("/proc/sys/kernel/pid_max") or b"0") - RESERVED)


# -- what is known of it --------------------------------------------------------------------------


def command_of(pid: int) -> str:
    """Its command line for people: one line, printable, not too long, without secrets."""
    try:
        stat = stat_of(pid)
    except OSError:
        stat = None
    from knell.core.redact import redacted  # `list` asks for no command line

    return redacted(stat.command()) if stat else "[?]"


def stamp_of(pid: int) -> str | None:
    """The run id in its environment; None without one, or where we may not look."""
    return variable_of(pid, "KNELL_RUN")


def variable_of(pid: int, name: str) -> str | None:
    """A variable of its environment; None without it, or where we may not look."""
    wanted = f"\0{name}=".encode()
    _, found, rest = (b"\0" + proc.environ_of(pid)).partition(wanted)
    return os.fsdecode(rest.split(b"\0", 1)[0]) if found else None


def cwd_of(pid: int) -> str:
    try:
        return os.readlink(f"{proc.shown_at(pid)}/cwd")
    except OSError:
        return ""


def owner_of(pid: int) -> int | None:
    """The user id under which it runs."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def lists_children() -> bool:
    """Whether the kernel keeps a list of each process's children: else keepers must scan."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def ancestors_of(pid: int | None = None) -> tuple[int, ...]:
    """Parent, grandparent, … of a process, or of ourselves, up to init."""
    line = proc.line_of(my_number() if pid is None else pid)
    return tuple(one.ppid for one in line if one.ppid > 1)


def lineage() -> tuple[Ancestor, ...]:
    """This process and those above it, up to init."""
    return tuple(map(_ancestor, proc.line_of(my_number())))


def describe(pid: int) -> Ancestor | None:
    stat = stat_of(pid)
    return _ancestor(stat) if stat else None


def _ancestor(one: Process) -> Ancestor:
    return Ancestor(one.pid, one.name, one.sid, one.tty, one.start)


def cgroup_of(pid: int | str) -> str | None:
    from knell.processes.os import cgroup  # `list` asks for none

    return cgroup.of(pid)


def cgroup_run() -> str:
    """The run in whose cgroup this process is; empty if it is in none."""
    from knell.processes.os.cgroup import PREFIX

    names = [name for name in (cgroup_of("self") or "").split("/") if name.startswith(PREFIX)]
    return names[-1].removeprefix(PREFIX) if names else ""


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
