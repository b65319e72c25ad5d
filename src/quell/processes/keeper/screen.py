"""The last screen of an agent that ended unasked: its pane goes with its keeper.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os
import select
import time

from look import read
from quick import signal

SECONDS = 1.0  # that tmux may take to answer
KEPT = 65_536  # bytes
HISTORY = "-200"  # lines above the screen
TTY = 4  # the field of /proc/PID/stat behind the name that holds the terminal's number
NEEDED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "HOME")  # not our stamp: it is nobody's process


def keep(rundir: str, wake: int) -> None:
    """Writes RUNDIR/screen if tmux shows this terminal and says so in time."""
    server = os.environ.get("TMUX", "").rsplit(",", 2)[0]
    pane = os.environ.get("TMUX_PANE", "")
    if not server or not pane:
        return
    argv = ["tmux", "-S", server, "display-message", "-p", "-t", pane, "#{pane_tty}", ";"]
    argv += ["capture-pane", "-p", "-J", "-S", HISTORY, "-t", pane]
    try:
        tty, _, text = answer(argv, wake).partition(b"\n")
        if text.strip() and os.stat(tty).st_rdev == own_terminal():
            write(rundir, text)
    except (OSError, ValueError):
        return  # no tmux, a full disk: an ending without its last screen


def own_terminal() -> int:
    """The device number of the terminal we are on; a variable may be another pane's."""
    text = read("/proc/self/stat")
    number = int(text[text.rindex(b")") + 2 :].split()[TTY])
    return os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00)


def answer(argv: list[str], wake: int) -> bytes:
    """What the command prints; nothing if it is slow, or if somebody wants us to end."""
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
    text = drained(inlet, wake)
    os.close(inlet)
    if text is not None and (code := reaped(child)) is not None:
        return text if code == 0 else b""
    os.kill(child, signal.SIGKILL)
    reaped(child)
    return b""


def drained(inlet: int, wake: int) -> bytes | None:
    """Everything up to its end; None if that is long in coming, or somebody wants us to go."""
    poll = select.poll()
    poll.register(inlet, select.POLLIN)
    poll.register(wake, select.POLLIN)
    text = b""
    until = time.monotonic() + SECONDS
    while (left := until - time.monotonic()) > 0:
        ready = [fd for fd, _ in poll.poll(left * 1000)]
        if wake in ready and signal.SIGTERM in os.read(wake, 4096):
            return None
        part = os.read(inlet, KEPT) if inlet in ready else None
        if part == b"":
            return text
        text += part or b""
    return None


def reaped(child: int) -> int | None:
    """Its wait status; None if it is still there after a while."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        select.select([], [], [], 0.001)
    return None


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
