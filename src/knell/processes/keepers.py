"""Gives orders to keepers and waits for the agent's start: fulfils the port `Keepers`."""

import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from knell import files
from knell.core.environment import OF_ONE_RUN
from knell.core.ports.keepers import Journal, Order, PreparedRun
from knell.processes.journal import LARGEST, ask_end, read_journal
from knell.processes.os import cgroup, system

KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper", "keeper.py")

AGAIN = 0.01  # seconds between two looks at a journal that says nothing yet

journal = read_journal


def prepare(rundir: str, order: Order) -> PreparedRun:
    """Writes the order into the run's directory, which no other user can read."""
    os.makedirs(os.path.dirname(rundir), mode=0o700, exist_ok=True)
    os.makedirs(rundir, mode=0o700, exist_ok=True)  # the store may have left its record there
    rules = [f"keep::{pattern}" for pattern in order.keep]
    rules += [f"shared:{programs}:{pattern}" for pattern, programs in order.shared]
    numbers = [str(number) for number in (order.output_limit, len(rules), len(order.argv))]
    head = [order.cwd, str(order.grace), order.seal, *numbers]
    _write(rundir, "launch", [*head, *rules, *order.argv, *_pairs(order.env)])
    if order.again:
        # For a restart, because the watch has another environment than the caller of `spawn`.
        # Variables of this one run, such as its token, are left out.
        kept = {name: value for name, value in order.env.items() if name not in OF_ONE_RUN}
        _write(rundir, "environment", _pairs(kept))
    fifo = os.path.join(rundir, "ready")
    os.mkfifo(fifo, 0o600)
    return PreparedRun(rundir, os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))


def _pairs(env: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in env.items()]


def _write(rundir: str, name: str, fields: Sequence[str]) -> None:
    files.overwrite(os.path.join(rundir, name), b"\0".join(map(os.fsencode, fields)))


def kept_environment(rundir: str) -> dict[str, str] | None:
    """None when none was kept, or it was taken already."""
    try:
        text = files.read(os.path.join(rundir, "environment"), LARGEST)
    except OSError:
        return None
    pairs = [os.fsdecode(pair).partition("=") for pair in text.split(b"\0")]
    return {name: value for name, _, value in pairs if name}


def forget_environment(rundir: str) -> None:
    """Deletes it, because it holds the secrets that the agent was started with."""
    with suppress(OSError):  # there may be none
        os.unlink(os.path.join(rundir, "environment"))


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


def become_keeper(rundir: str) -> NoReturn:
    """Replaces this process by the keeper."""
    sys.stdout.flush()
    sys.stderr.flush()
    argv = keeper_argv(rundir, detach=False)
    os.execv(argv[0], argv)


def discard(rundir: str) -> None:
    """Deletes an order that no keeper read and a last screen, as both may hold secrets, and the
    cgroup of a keeper that was killed before it could remove it."""
    for name in ("launch", "ready", "screen"):
        with suppress(OSError):
            os.unlink(os.path.join(rundir, name))
    cgroup.dissolve(read_journal(rundir).cgroup, set())


def run_detached(command: Sequence[str], env: Mapping[str, str]) -> None:
    """Runs `knell COMMAND` detached: in a session of its own, without parent and terminal."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            argv = (sys.executable, "-m", "knell", *command)
            os.execve(argv[0], argv, dict(env))
    finally:
        os._exit(0)
