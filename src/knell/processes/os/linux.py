"""Linux: /proc and pidfds. Which process is this, is it still that one, what is known of it?

portable.py gives the same names by other means, and use.py has what processes use.
"""

from __future__ import annotations

import errno
import functools
import os
import select
from typing import TYPE_CHECKING

from knell.core.errors import WorldError
from knell.core.process import Alive, Ancestor, Gone, ProcessId, Unknown
from knell.processes.os import linux_facts, proc
from knell.processes.os.proc import Process, argv_of, number_of, read, stat_of

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Process", "argv_of"]

LAYER = "linux"
TAKEOVER = 1.5  # seconds after KILL was due before knell stops waiting for a keeper
KEEPER_WORDS: tuple[str, ...] = ()  # more arguments for a keeper, which knows Linux by itself

NO_PROC = "/proc is not there, or does not tell which boot this is"
MOUNT_IT = "mount it anew, as `unshare --mount-proc` does"
PART_OF_A_TICK = "this time namespace moves starts by a part of a tick: none can be compared"
HIDDEN = "/proc hides it from this process (hidepid), so it cannot be told whether it lives"
STRANGE_PROC = "/proc shows another PID namespace than the one that this command is in"

open_process, send, DENIED = os.pidfd_open, proc.send_through, proc.DENIED
environment_of, printable, close = proc.environment_of, proc.printable, os.close
line_of, machine_id = proc.line_of, proc.machine_id
ELSEWHERE, cwd_of = linux_facts.ELSEWHERE, linux_facts.cwd_of
newest_pid, numbers_in_turn = linux_facts.newest_pid, linux_facts.numbers_in_turn
waiting_to_run = linux_facts.waiting_to_run
stop_group, obeys_hangup_only = linux_facts.stop_group, linux_facts.obeys_hangup_only
owner_of, lists_children = linux_facts.owner_of, linux_facts.lists_children
reads_terminal = linux_facts.reads_terminal


# -- which boot and PID namespace this is ---------------------------------------------------------

boot_id = functools.cache(proc.boot_id)


@functools.cache
def here() -> str:
    """As in proc.py. A boot that cannot be read is no other boot: raises WorldError."""
    if proc.time_shift() % proc.TICK:
        raise WorldError(PART_OF_A_TICK, "use knell outside of it")
    try:
        if boot_id():
            return proc.here(boot_id())
    except OSError:
        pass
    raise WorldError(NO_PROC, MOUNT_IT)


def my_number() -> int:
    """As /proc has it: in a PID namespace without a /proc of its own, getpid() gives another."""
    try:
        return int(os.readlink("/proc/self"))
    except OSError:
        raise WorldError(NO_PROC, MOUNT_IT) from None


def pids() -> list[int]:
    """The pids of all processes. We are one of them: if the list is empty, /proc is missing."""
    found = proc.pids()
    if not found:
        raise WorldError(NO_PROC, MOUNT_IT)
    return found


# -- which process --------------------------------------------------------------------------------


def identify(pid: int) -> ProcessId | None:
    """The full identity of the process that has this pid now; None when none has."""
    if my_number() != os.getpid():
        raise WorldError(STRANGE_PROC, MOUNT_IT)
    fd = _open_pidfd(pid)
    if fd is None:
        return None
    try:
        stat = stat_of(pid, fd)
        if stat is None and not is_dead(fd):
            raise WorldError(HIDDEN)
        return ProcessId(pid, stat.start, here(), stat.number) if stat else None
    finally:
        os.close(fd)


def _open_pidfd(pid: int) -> int | None:
    """A pidfd of whoever has this number; None when nobody has."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL, errno.ENOENT):  # a thread has no pidfd
            return None
        # No descriptor or no memory left: that says nothing about the process.
        raise WorldError(f"cannot look at process {pid}: {error.strerror}") from error


def me() -> ProcessId:
    found = identify(os.getpid())
    if found is None:  # cannot be: we are running
        raise ProcessLookupError(os.getpid())
    return found


def look(process: ProcessId) -> Alive | Gone | Unknown:
    """Whether exactly that process lives. A zombie is dead, though it is not reaped."""
    try:
        return _look_here(process) if process.boot == here() else _look_elsewhere(process)
    except (OSError, WorldError) as error:
        return Unknown(getattr(error, "strerror", "") or str(error) or "cannot look")


def _look_here(process: ProcessId) -> Alive | Gone | Unknown:
    stat = stat_of(process.pid)
    if stat is None:
        return Unknown(HIDDEN) if proc.is_hidden(process.pid) else Gone("exited")
    if (stat.pid, stat.start) != (process.pid, process.start):
        return linux_facts.reused_number(process, stat.pid)
    if process.inode or stat.state in "ZX":
        return _look_closely(process, stat.state)
    return Alive(process, stat.state)


def _look_closely(process: ProcessId, state: str) -> Alive | Gone:
    """The pidfd tells a reuse within one clock tick, and a Z that is only a main thread's."""
    fd = _open_pidfd(process.pid)
    if fd is None:
        return Gone()
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
        stat, place = stat_of(process.pid), process.boot.partition("/")[2]
        same = stat and stat.start == process.start and _look_closely(process, stat.state)
        inside = process._replace(boot=f"{boot_id()}/{place}")
        is_there = isinstance(same, Alive) or _found_inside(inside) is not None
        return linux_facts.past_boot(process, here(), is_there=is_there)
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
            numbers = linux_facts.numbers_of(pid)
            found = identify(pid) if numbers[1:] else None  # more than one: it is inside
            inner = process._replace(pid=pid, boot=here())
            if found and numbers[-1] == process.pid and found.same_as(inner):
                return found
    return None


def open_verified(process: ProcessId) -> int | None:
    """A pidfd of exactly that process, or None: gone, or another by now.

    The identity is read after the open, so no reuse can slip in between.
    """
    if process.boot != here():
        found = _found_inside(process)
        return open_verified(found) if found else None
    fd = _open_pidfd(process.pid) if process.pid > 1 else None
    if fd is None:
        return None
    stat = stat_of(process.pid, fd)
    reused = stat and process.inode and stat.number not in (0, process.inode)
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


# -- what is known of it --------------------------------------------------------------------------


def command_of(pid: int) -> str:
    """Its command line for people: one line, printable, not too long, without secrets."""
    from knell.core.redact import redacted  # `list` asks for no command line

    return redacted(proc.command_of(pid))


def command_of_living(process: ProcessId) -> str:
    """Its command; empty if it has ended or counts elsewhere: its number may be another's."""
    command = command_of(process.pid)  # first: a reuse in between is seen afterwards
    fd = open_verified(process) if process.boot == here() else None
    if fd is None:
        return ""
    os.close(fd)
    return command


def stamp_of(pid: int) -> str | None:
    """The run id in its environment; None without one, or where we may not look."""
    return variable_of(pid, "KNELL_RUN")


def variable_of(pid: int, name: str) -> str | None:
    """A variable of its environment; None without it, or where we may not look."""
    wanted = f"\0{name}=".encode()
    _, found, rest = (b"\0" + proc.environ_of(pid)).partition(wanted)
    return os.fsdecode(rest.split(b"\0", 1)[0]) if found else None


def lineage() -> tuple[Ancestor, ...]:
    """This process and those above it, up to init; nothing where /proc does not tell the truth."""
    return tuple(map(ancestor, believed(proc.line_of(my_number()))))


def believed(line: list[Process]) -> list[Process]:
    """Empty if another file lies over one of the kernel's, as in a mount namespace of an agent."""
    try:
        over = {os.stat(f"/proc/{one.pid}/stat").st_dev for one in line} - {os.stat("/proc").st_dev}
    except OSError:  # one has just ended
        over = set[int]()
    return line if not over and [o.ppid for o in line[:-1]] == [o.pid for o in line[1:]] else []


def ancestor(one: Process) -> Ancestor:
    return Ancestor(one.pid, one.name, one.sid, one.tty, one.start)


def cgroup_of(pid: int | str) -> str | None:
    from knell.processes.os import cgroup  # `list` asks for none

    return cgroup.of(pid)


def cgroup_run() -> str:
    """The run in whose cgroup this process is; empty if it is in none."""
    if b"/knell-" not in read("/proc/self/cgroup"):  # as nearly always
        return ""
    from knell.processes.os.cgroup import PREFIX

    names = [name for name in (cgroup_of("self") or "").split("/") if name.startswith(PREFIX)]
    return names[-1].removeprefix(PREFIX) if names else ""
