"""Gives orders to keepers and waits for the agent's start: fulfils the port `Keepers`."""

import os
import re
import select
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from knell import files
from knell.core.environment import ENVIRONMENTS, OF_ONE_RUN
from knell.core.ports.keepers import Journal, Order, PreparedRun
from knell.core.process import ProcessId
from knell.processes.journal import LARGEST, ask_end, read_journal
from knell.processes.os import cgroup, system
from knell.processes.os.proc import signal

KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper", "keeper.py")

AGAIN = 0.01  # seconds between two looks at a journal that says nothing yet
UNFINISHED = ".tmp"  # what a process that was killed as it wrote leaves; its run knows the name

journal = read_journal  # as the port calls it


def prepare(rundir: str, order: Order) -> PreparedRun:
    """Writes the order into the run's directory, which no other user can read."""
    os.makedirs(os.path.dirname(rundir), mode=0o700, exist_ok=True)
    os.makedirs(rundir, mode=0o700, exist_ok=True)  # the store may have left its record there
    rules = [f"keep::{pattern}" for pattern in order.keep]
    rules += [f"shared:{programs}:{pattern}" for pattern, programs in order.shared]
    numbers = [str(number) for number in (order.output_limit, len(rules), len(order.argv))]
    head = [order.cwd, str(order.grace), order.seal, *numbers]
    _write(os.path.join(rundir, "launch"), [*head, *rules, *order.argv, *_pairs(order.env)])
    if order.again:
        # For a restart, because the watch has another environment than the caller of `spawn`.
        # Variables of this one run, such as its token, are left out.
        kept = {name: value for name, value in order.env.items() if name not in OF_ONE_RUN}
        path = _environment(rundir)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _write(path, _pairs(kept))
    fifo = os.path.join(rundir, "ready")
    os.mkfifo(fifo, 0o600)
    return PreparedRun(rundir, os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))


def _pairs(env: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in env.items()]


def _write(path: str, fields: Sequence[str]) -> None:
    files.overwrite(path, b"\0".join(map(os.fsencode, fields)), copy=path + UNFINISHED)


# -- what a run was started with, kept for a restart -------------------------------------------


def _environment(rundir: str) -> str:
    runs, run = os.path.split(rundir)
    return os.path.join(os.path.dirname(runs), ENVIRONMENTS, run)


def _old_environment(rundir: str) -> str:
    """Where knell 0.1 kept it."""
    return os.path.join(rundir, "environment")


def kept_environments(runs: str, *, everywhere: bool = False) -> list[str]:
    """The runs that have one, or a part of one. `everywhere` also looks where earlier versions
    kept them, which takes a look into the directory of every run."""
    folder = os.path.dirname(_environment(runs + "/any"))
    kept = {name.removesuffix(UNFINISHED) for name in _names(folder)}
    if everywhere:
        kept |= {run for run in _names(runs) if os.path.lexists(_old_environment(f"{runs}/{run}"))}
    # Whatever else lies there is not ours to delete.
    return sorted(run for run in kept if re.fullmatch(r"\d{14}-[0-9a-f]{8}", run))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # there is none yet


def kept_environment(rundir: str) -> dict[str, str] | None:
    """None when none was kept, or it was taken already."""
    for path in (_environment(rundir), _old_environment(rundir)):
        try:
            text = files.read(path, LARGEST)
        except OSError:
            continue
        pairs = [os.fsdecode(pair).partition("=") for pair in text.split(b"\0")]
        return {name: value for name, _, value in pairs if name}
    return None


def forget_environment(rundir: str) -> None:
    """Deletes it, because it holds the secrets that the agent was started with."""
    kept = _environment(rundir)
    for path in (kept, kept + UNFINISHED, _old_environment(rundir)):
        with suppress(OSError):  # there may be none
            os.unlink(path)


# -- the start -----------------------------------------------------------------------------------


def keeper_argv(rundir: str, *, detach: bool) -> tuple[str, ...]:
    words = ("--detach",) if detach else ()
    return (sys.executable, "-I", "-S", KEEPER, rundir, *words, *system.KEEPER_WORDS)


def await_birth(prepared: PreparedRun, seconds: float) -> Journal:
    """The journal once the keeper has reported the start, or when the time is up.

    Linux raises HUP on the fifo only after a writer has come and gone, so no moment is missed.
    Another system may raise it while there is none: then the journal is looked at again.
    """
    poll = select.poll()
    poll.register(prepared.fifo, select.POLLIN)
    until = time.monotonic() + seconds
    try:
        while (left := until - time.monotonic()) > 0:
            woken = poll.poll(left * 1000)
            told = read_journal(prepared.rundir) if woken else Journal()
            if woken and (sys.platform == "linux" or told.process or told.failure):
                return told
            select.select([], [], [], AGAIN if woken else 0)
    finally:
        os.close(prepared.fifo)
    return read_journal(prepared.rundir)


def cancel(rundir: str) -> Journal:
    """Cancels an order, then reads the journal. A keeper writes its name there before it looks for
    a cancellation, so that at least one of the two always sees the other."""
    with suppress(OSError):  # never prepared, or the disk is full: no keeper can start there
        ask_end(rundir, 0.0)
    return read_journal(rundir)


def wake(keeper: ProcessId) -> None:
    """Continues a keeper that was stopped (SIGSTOP), so that it sees the end of its run."""
    handle = system.open_verified(keeper)
    if handle is not None:
        system.send(handle, signal.SIGCONT)
        system.close(handle)


def become_keeper(rundir: str) -> NoReturn:
    """Replaces this process by the keeper."""
    sys.stdout.flush()
    sys.stderr.flush()
    argv = keeper_argv(rundir, detach=False)
    os.execv(argv[0], argv)


def take_back_order(rundir: str) -> None:
    """Deletes an order that no keeper read: it holds the environment of whoever gave it."""
    for name in ("launch", "launch" + UNFINISHED, "ready"):
        with suppress(OSError):
            os.unlink(os.path.join(rundir, name))


def discard(rundir: str) -> None:
    """Deletes an order that no keeper read and a last screen, as both may hold secrets, and the
    cgroup of a keeper that was killed before it could remove it."""
    take_back_order(rundir)
    with suppress(OSError):
        os.unlink(os.path.join(rundir, "screen"))
    cgroup.dissolve(read_journal(rundir).cgroup, set())


def undiscarded(runs: str) -> list[str]:
    """The runs that have an order or a last screen: they live, or whoever was to discard what was
    left of them was killed. Takes a look into the directory of every run."""
    left = ("launch", "launch" + UNFINISHED, "screen")
    folders = [(run, os.path.join(runs, run)) for run in _names(runs)]
    return [run for run, path in folders if any(os.path.lexists(f"{path}/{one}") for one in left)]


def run_detached(command: Sequence[str], env: Mapping[str, str]) -> None:
    """Runs `knell COMMAND` detached: in a session of its own, without parent and terminal."""
    child = os.fork()
    if child:
        with suppress(ChildProcessError):  # whoever started us ignores SIGCHLD
            os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            # Whatever lies in this directory, an agent's files too, is none of knell's modules: -P.
            argv = (sys.executable, "-P", "-m", "knell", *command)
            os.execve(argv[0], argv, dict(env))
    finally:
        os._exit(0)
