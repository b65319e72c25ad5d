"""Saves the last screen of an agent that ended unasked, because its pane closes with the keeper."""

import os
import time

from machine import proc
from tmux_client import exit_status, read_to_end, start_client

SECONDS = 1.0  # that tmux may take to answer
KEPT = 65_536  # bytes
HISTORY = "-200"  # lines above the screen


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
    try:
        client, inlet = start_client(argv)
    except OSError:
        return b""
    text = read_to_end(inlet, time.monotonic() + SECONDS, wake)
    status = exit_status(client, time.monotonic() + SECONDS if text else 0.0)
    return text if text and status == 0 else b""


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
