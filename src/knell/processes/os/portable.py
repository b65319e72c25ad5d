"""POSIX and psutil: the same functions as linux.py, for systems without pidfds, /proc and cgroups.

On macOS the base is darwin.py, elsewhere portable_proc.py. A handle is a number that stands for an
identity; each signal looks at it just before. An ending can only find nothing, and prove nothing.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import time
from typing import TYPE_CHECKING

from knell.core.errors import WorldError
from knell.core.process import Alive, Ancestor, Gone, ProcessId, Unknown
from knell.processes.os import linux_facts, proc

if TYPE_CHECKING:
    from collections.abc import Collection

if sys.platform == "darwin":
    from knell.processes.os import darwin as base
else:
    from knell.processes.os import portable_proc as base

LAYER = base.LAYER
# Seconds after KILL was due before knell stops waiting for a keeper. It scans the machine, and
# only it knows whom it has seen: whoever takes over from outside finds less.
TAKEOVER = 30.0
KEEPER_WORDS = ("--layer", LAYER, base.LIBRARY)
ELSEWHERE = linux_facts.ELSEWHERE
HIDDEN = "the system hides it from this process (hidepid): it cannot be told whether it lives"
DENIED = proc.DENIED
FIRST_NAP, LONGEST_NAP = 0.001, 0.02  # seconds; each is twice as long as the one before
SHARE = 4  # but at least so many times as long as it took to look at all of them

Process = proc.Process
boot_id, here = functools.cache(base.boot_id), functools.cache(base.here)
pids, stat_of, argv_of, line_of = base.pids, base.stat_of, base.argv_of, base.line_of
environment_of, printable, machine_id = base.environment_of, proc.printable, base.machine_id
cwd_of, owner_of, my_number = base.cwd_of, base.owner_of, os.getpid
reads_terminal = linux_facts.reads_terminal

_held: dict[int, ProcessId] = {}
_handles = itertools.count(1)


# -- which process --------------------------------------------------------------------------------


def identify(pid: int) -> ProcessId | None:
    try:
        stat = stat_of(pid) if pid > 0 else None
    except OSError:
        return None
    return ProcessId(pid, stat.start, here(), stat.unique) if stat else None


def me() -> ProcessId:
    found = identify(os.getpid())
    if found is None:  # cannot be: we are running
        raise ProcessLookupError(os.getpid())
    return found


def look(process: ProcessId) -> Alive | Gone | Unknown:
    if process.boot != here():
        return _look_elsewhere(process)
    try:
        stat = stat_of(process.pid)
    except OSError as error:
        return Unknown(error.strerror or str(error) or "cannot look")
    if stat is None:
        # Only Linux has hidepid; elsewhere a number that answers unseen may be a zombie's.
        hidden = sys.platform == "linux" and proc.is_hidden(process.pid)
        return Unknown(HIDDEN) if hidden else Gone()
    other = stat.unique and process.inode and stat.unique != process.inode
    if stat.start != process.start or other:
        return Gone("reused")
    return Gone() if base.is_zombie(stat) else Alive(process, stat.state)


def _look_elsewhere(process: ProcessId) -> Gone | Unknown:
    if process.boot.partition("/")[0] == boot_id() or not boot_id():
        return Unknown(ELSEWHERE)
    if sys.platform != "linux":
        return Gone("rebooted")
    found = proc.stat_of(process.pid)
    is_there = bool(found) and found.start == process.start
    return linux_facts.past_boot(process, here(), is_there=is_there)


def open_process(pid: int) -> int:
    """A handle of whoever has this pid now; ProcessLookupError if nobody has."""
    found = identify(pid)
    if found is None:
        raise ProcessLookupError(pid)
    return _hold(found)


def open_verified(process: ProcessId) -> int | None:
    """A handle of exactly that process, or None: gone, or another by now."""
    if process.pid <= 1 or process.boot != here():
        return None
    seen = look(process)
    if isinstance(seen, Unknown):
        raise WorldError(f"cannot look at process {process.pid}: {seen.why}")
    return _hold(process) if isinstance(seen, Alive) else None


def _hold(process: ProcessId) -> int:
    handle = next(_handles)
    _held[handle] = process
    return handle


def close(handle: int) -> None:
    _held.pop(handle, None)


def number_of(handle: int) -> int:
    """A number that no other process has until the next boot; 0 where there is none."""
    return _held[handle].inode


def is_dead(handle: int) -> bool:
    return isinstance(look(_held[handle]), Gone)


def send(handle: int, number: int) -> str:
    """Signals the process of a handle, if it is still that one; returns "", or why it was refused.

    It is looked at just before. A pid that changed hands within these microseconds would be hit
    (docs/promise.md); on macOS the kernel itself compares."""
    process = _held[handle]
    seen = look(process)
    if not isinstance(seen, Alive):
        return seen.why if isinstance(seen, Unknown) else ""
    return base.kill(process.pid, number, process.inode)


class LookedForExits:
    """Waits until one of many processes ends, by looking at them again and again."""

    def wait(self, handles: Collection[int], seconds: float, news: int = -1) -> set[int]:
        until, pause = time.monotonic() + seconds, FIRST_NAP
        while True:
            spent = time.process_time()
            held = [one for one in handles if one in _held]
            ended = {one for one in held if is_dead(one)}
            left = max(0.0, until - time.monotonic())
            nap = max(pause, SHARE * (time.process_time() - spent))
            nap = 0.0 if ended else left if base.IS_WOKEN else min(left, nap)
            told = base.nap([_held[one].pid for one in held], nap, news)
            if ended or told or not left:
                return ended | ({news} if told else set())
            pause = min(pause * 2, LONGEST_NAP)


Exits = LookedForExits


# -- what is known of it --------------------------------------------------------------------------


def command_of(pid: int) -> str:
    from knell.core.redact import redacted  # `list` asks for no command line

    return redacted(proc.command_of(pid, stat_of))


def command_of_living(process: ProcessId) -> str:
    command = command_of(process.pid)  # first: a reuse in between is seen afterwards
    return command if isinstance(look(process), Alive) else ""


def stamp_of(pid: int) -> str | None:
    return environment_of(pid).get("KNELL_RUN")


def variable_of(pid: int, name: str) -> str | None:
    return environment_of(pid).get(name)


def lineage() -> tuple[Ancestor, ...]:
    line = line_of(my_number())
    if sys.platform == "linux":
        from knell.processes.os.linux import believed

        line = believed(line)
    return tuple(map(ancestor, line))


def ancestor(one: Process) -> Ancestor:
    return Ancestor(one.pid, one.name, one.sid, one.tty, one.start)


# -- what only Linux tells or does: the answers where nothing is known -----------------------------


def _no(_of: int = 0) -> bool:
    return False


def _none() -> int:
    return 0


stop_group = _no  # without a pidfd a group's number may be a stranger's by now
obeys_hangup_only = _no  # who ignores which signals is not told: a shell is ended by the next rung
lists_children = _no  # of no process: keepers must scan
newest_pid = numbers_in_turn = waiting_to_run = _none


def cgroup_of(_pid: int | str) -> str | None:
    return None


def cgroup_run() -> str:
    return ""
