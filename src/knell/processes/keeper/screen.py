"""Saves the last screen of an agent that ended unasked, because its pane closes with the keeper.

Part of the keeper: standard library only, no import of knell.
"""

import os
import select
import time

from machine import proc
from proc import signal

SECONDS = 1.0  # that tmux may take to answer
AGAIN = 0.002  # seconds between two looks at a process that is exiting
KEPT = 65_536  # bytes
HISTORY = "-200"  # lines above the screen
NEEDED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "HOME")  # not our stamp: tmux is not of the run


def save(rundir: str, wake: int) -> None:
    """Writes RUNDIR/screen if tmux shows this terminal and says so in time."""
    server = os.environ.get("TMUX", "").rsplit(",", 2)[0]
    pane = os.environ.get("TMUX_PANE", "")
    if not server or not pane:
        return
    argv = ["tmux", "-S", server, "display-message", "-p", "-t", pane, "#{pane_tty}", ";"]
    argv += ["capture-pane", "-p", "-J", "-S", HISTORY, "-t", pane]
    try:
        tty, _, text = output_of(argv, wake).partition(b"\n")
        if text.strip() and os.stat(tty).st_rdev == proc.terminal_of(os.getpid()):
            write(rundir, text)
    except (OSError, ValueError):
        return  # no tmux, a full disk: an ending without its last screen


def output_of(argv: list[str], wake: int) -> bytes:
    """What the command prints; nothing if it is slow, or if we are asked to end."""
    inlet, outlet = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, outlet, 1),
    ]
    env = {name: os.environ[name] for name in NEEDED if name in os.environ}
    try:
        child = os.posix_spawnp(argv[0], argv, env, file_actions=actions)
    except OSError:
        os.close(inlet)
        return b""
    finally:
        os.close(outlet)
    text = read_to_end(inlet, wake)
    os.close(inlet)
    return text if exit_status(child, SECONDS if text else 0.0) == 0 else b""


def exit_status(child: int, seconds: float) -> int:
    """Of a child that has closed its output, and so is exiting; after that time it is killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        select.select([], [], [], AGAIN)
    os.kill(child, signal.SIGKILL)  # unless it has exited: then this changes nothing
    return os.waitpid(child, 0)[1]


def read_to_end(inlet: int, wake: int) -> bytes:
    """Everything up to its end; nothing if that takes too long, or if we are asked to end."""
    poll = select.poll()
    poll.register(inlet, select.POLLIN)
    poll.register(wake, select.POLLIN)
    text = b""
    until = time.monotonic() + SECONDS
    while (left := until - time.monotonic()) > 0:
        ready = [fd for fd, _ in poll.poll(left * 1000)]
        if wake in ready and signal.SIGTERM in os.read(wake, 4096):
            return b""
        part = os.read(inlet, KEPT) if inlet in ready else None
        if part == b"":
            return text
        text += part or b""
    return b""


def write(rundir: str, text: bytes) -> None:
    """The end of it, from a whole line on: half a line may hold half a secret."""
    if len(text) > KEPT:
        text = text[-KEPT:].partition(b"\n")[2]
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    fd = os.open(os.path.join(rundir, "screen"), flags, 0o600)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)
