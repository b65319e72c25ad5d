"""Runs the link of this host until it is told to end, or the process that started it has ended."""

import fcntl
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable, Mapping

from knell.api import Knell
from knell.core.codes import Code
from knell.core.errors import Refused
from knell.faces.fleet.host import ThisHost

# Seconds, for tests: between signs of life and polls, and for one statement.
PACE = {
    "lease": "KNELL_FLEET_LEASE", "poll": "KNELL_FLEET_POLL", "deadline": "KNELL_FLEET_DEADLINE",
}  # fmt: skip


def run_link(
    knell: Knell, say: Callable[[str], None], *, tied: bool, env: Mapping[str, str]
) -> None:
    """`tied`: ends when standard input closes, as it does when the watch that started it dies."""
    host = ThisHost(knell)
    pace = {what: float(env[name]) for what, name in PACE.items() if env.get(name)}
    link = knell.fleet.link(host, pace)  # refused where there is no fleet, and no place for a lock
    lock = _take_lock(knell.fleet.files.lock)
    ended, told = _catch_ending_signals(), "?"
    stdin = sys.stdin.fileno() if tied else -1
    try:
        while not ended:
            seconds = link.step()
            if link.trouble != told:
                told = link.trouble
                say(f"not linked: {told}" if told else f"linked as {link.given.name}")
            if stdin in _wait_for_any((link.fileno(), host.wake, stdin), seconds):
                return
    finally:
        link.close()
        os.close(lock)


def _take_lock(path: str) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        why, hint = "a link of this home runs already", "one is enough: knell watch starts it"
        raise Refused(why, hint, code=Code.ALREADY_WATCHED) from None
    return lock


def _wait_for_any(watched: Iterable[int], seconds: float) -> set[int]:
    """Waits at most that long; returns those that have something to read."""
    ready = select.poll()
    for fd in watched:
        if fd >= 0:
            ready.register(fd, select.POLLIN)
    return {fd for fd, _ in ready.poll(seconds * 1000)}


def _catch_ending_signals() -> list[int]:
    """Handles the signals that ask for an end; the list stays empty until one comes."""
    ended: list[int] = []
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, lambda number, _: ended.append(number))
    return ended
