"""Hands an order to a keeper, and hears of the birth."""

from __future__ import annotations  # loaded by every look at a process, for its own sake by few

import os
import select
import sys
import time
from typing import TYPE_CHECKING

from quell.processes import cgroup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quell.core.climbing import Cradle, Journal, Order

KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper", "keeper.py")


def prepare(rundir: str, order: Order) -> Cradle:
    """Writes the order into a new run directory that nobody else can read."""
    from quell.core.climbing import Cradle

    os.makedirs(os.path.dirname(rundir), mode=0o700, exist_ok=True)
    os.mkdir(rundir, 0o700)
    rules = [f"keep::{pattern}" for pattern in order.keep]
    rules += [f"shared:{programs}:{pattern}" for pattern, programs in order.shared]
    fields = [
        order.cwd,
        str(order.grace),
        str(len(rules)),
        str(len(order.argv)),
        *rules,
        *order.argv,
        *(f"{name}={value}" for name, value in order.env.items()),
    ]
    fd = os.open(os.path.join(rundir, "launch"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(b"\0".join(os.fsencode(field) for field in fields))
    if order.again:
        keep_environment(rundir, order.env)
    fifo = os.path.join(rundir, "ready")
    os.mkfifo(fifo, 0o600)
    return Cradle(rundir, os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))


def keep_environment(rundir: str, env: Mapping[str, str]) -> None:
    """For a restart: the watch has another environment than whoever started the agent. What only
    this one run may hold, its token among it, is no part of it."""
    from quell.core.environment import OF_ONE_RUN

    kept = {name: value for name, value in env.items() if name not in OF_ONE_RUN}
    fd = os.open(os.path.join(rundir, "environment"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(b"\0".join(os.fsencode(f"{name}={value}") for name, value in kept.items()))


def kept_environment(rundir: str) -> dict[str, str] | None:
    """None when none was kept, or it was taken already."""
    from quell.processes.journal import content

    try:
        text = content(os.path.join(rundir, "environment"))
    except OSError:
        return None
    pairs = [os.fsdecode(pair).partition("=") for pair in text.split(b"\0")]
    return {name: value for name, _, value in pairs if name}


def forget_environment(rundir: str) -> None:
    """It holds whatever secrets the agent was started with."""
    try:
        os.unlink(os.path.join(rundir, "environment"))
    except OSError:
        pass  # there is none


def keeper_argv(rundir: str, *, detach: bool) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", KEEPER, rundir, *(("--detach",) if detach else ()))


def await_birth(cradle: Cradle, seconds: float) -> Journal:
    """What the keeper has written once it spoke, or when the time is up.

    Linux raises HUP on the fifo only after a writer has come and gone, so no moment is missed.
    """
    from quell.processes.journal import read_journal

    poll = select.poll()
    poll.register(cradle.fifo, select.POLLIN)
    until = time.monotonic() + seconds
    try:
        while (left := until - time.monotonic()) > 0:
            if poll.poll(left * 1000):
                break
    finally:
        os.close(cradle.fifo)
    return read_journal(cradle.rundir)


def become_keeper(rundir: str) -> None:
    """Replaces this process by the keeper; returns never."""
    sys.stdout.flush()
    sys.stderr.flush()
    argv = keeper_argv(rundir, detach=False)
    os.execv(argv[0], argv)


def discard(rundir: str) -> None:
    """Takes back an order that nobody read, for it holds the caller's environment, a last screen,
    for it may show secrets, and the cgroup of a keeper that did not live to remove it."""
    from quell.processes.journal import read_journal

    for name in ("launch", "ready", "screen"):
        try:
            os.unlink(os.path.join(rundir, name))
        except OSError:
            continue
    cgroup.dissolve(read_journal(rundir).cgroup, set())


def detach(command: Sequence[str], env: Mapping[str, str]) -> None:
    """Runs `quell COMMAND` as nobody's child, in a session of its own, without a terminal."""
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
            argv = (sys.executable, "-m", "quell", *command)
            os.execve(argv[0], argv, dict(env))
    finally:
        os._exit(0)
