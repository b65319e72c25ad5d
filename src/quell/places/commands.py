"""Run one command of a terminal program: no shell, a deadline, failures said in our words.

On os.posix_spawn, because importing subprocess costs as much as four calls of tmux.
"""

import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from quell.core.errors import PlaceFailed

if TYPE_CHECKING:
    import socket

# Some TUIs take text and Enter in one burst for a paste, and the Enter for a line break in it.
ENTER_DELAY = 0.3
# What follows an Escape at once is read as Alt: the open question stays, and Enter answers yes.
KEY_DELAY = 0.3
SHOWN_WITHIN = 2.0  # seconds that a busy program may take to draw what was typed
_STDOUT, _STDERR = 1, 2
# Python ignores these and a child inherits that, which breaks its pipes.
_RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
_KEYS = {"Escape": "\x1b", "Enter": "\r", "Tab": "\t", "Space": " ", "BSpace": "\x7f"}

FileAction = tuple[int, int] | tuple[int, int, int] | tuple[int, int, str, int, int]


class NotListening(PlaceFailed):
    """The socket is there no more, or nobody is behind it: whatever lived there has ended."""


class NoAnswer(PlaceFailed):
    """It is there, and said nothing in time."""


class Answer(NamedTuple):
    code: int  # negative: the signal that ended it
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Its own words, in one line."""
        return " ".join((self.err or self.out).split()) or f"exit code {self.code}"


def unbranded(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without our variables: what we start must not pass for a member of the caller's run."""
    return {name: value for name, value in env.items() if not name.startswith("QUELL_")}


def peer_pid(connection: "socket.socket") -> int:
    """The process that listens at the other end; 0 where the kernel does not tell."""
    import socket

    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], sys.byteorder)


def connected(path: str, timeout: float) -> "socket.socket":
    """A connection to a Unix socket; NotListening if nobody is there any more."""
    import socket

    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise NotListening(f"nobody listens on {path}") from error
    except OSError as error:
        connection.close()
        raise PlaceFailed(f"cannot connect to {path}: {error}") from error
    return connection


def pause(seconds: float) -> None:
    """Let another program go on for a moment, where there is no event to wait for."""
    select.select([], [], [], seconds)


def await_shown(shown: str, screen: Callable[[], str]) -> None:
    """PlaceFailed unless the screen comes to match: Enter on anything else may say yes to it."""
    deadline = time.monotonic() + SHOWN_WITHIN
    while shown and not re.search(shown, screen()):
        if time.monotonic() >= deadline:
            raise PlaceFailed("the screen shows something else than an empty prompt")
        pause(0.05)


def key_text(key: str) -> str:
    """What a terminal sends for a key that is named as tmux names it."""
    if key in _KEYS:
        return _KEYS[key]
    if re.fullmatch("C-[A-Za-z]", key):
        return chr(ord(key[-1]) & 0x1F)
    raise PlaceFailed(f"the key {key} cannot be sent here")


def ask(argv: Sequence[str], env: Mapping[str, str], timeout: float) -> Answer:
    """What `argv` printed and how it ended; PlaceFailed if it is missing or not over in time."""
    deadline = time.monotonic() + timeout
    out, out_child = os.pipe()
    err, err_child = os.pipe()
    try:
        outlets: list[FileAction] = [(os.POSIX_SPAWN_DUP2, out_child, _STDOUT)]
        outlets.append((os.POSIX_SPAWN_DUP2, err_child, _STDERR))
        pid = start(argv, env, outlets, new_session=False)
    except PlaceFailed:
        os.close(out)
        os.close(err)
        raise
    finally:
        os.close(out_child)
        os.close(err_child)
    try:
        texts = _read_all((out, err), deadline)
        code = reaped(pid, deadline)
    finally:
        os.close(out)
        os.close(err)
    if code is None:
        raise NoAnswer(f"{argv[0]} did not answer within {timeout:g} s")
    return Answer(code, *texts)


def start(
    argv: Sequence[str], env: Mapping[str, str], outlets: Sequence[FileAction], *, new_session: bool
) -> int:
    """The pid of a child with an empty stdin and none of our files but `outlets`."""
    stdin: FileAction = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    try:
        return os.posix_spawn(
            _program(argv[0], env),
            tuple(argv),
            env,
            file_actions=(stdin, *outlets, *_closing_inherited()),
            setsid=new_session,
            setsigmask=(),
            setsigdef=_RESET_SIGNALS,
        )
    except (OSError, ValueError) as error:
        raise PlaceFailed(f"cannot start {argv[0]}: {error}") from error


def _closing_inherited() -> list[FileAction]:
    """Python's own files are not inherited, but those that were left open to it are.

    Whoever waits for the end of such a pipe would wait for as long as the agent lives."""
    closing: list[FileAction] = []
    for name in os.listdir("/dev/fd"):
        fd = int(name)
        try:
            if fd > _STDERR and os.get_inheritable(fd):
                closing.append((os.POSIX_SPAWN_CLOSE, fd))
        except OSError:
            pass  # the one that listed the directory
    return closing


def reaped(pid: int, deadline: float) -> int | None:
    """The exit code of our child; None if it was not over by then and had to be killed."""
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)  # our own unreaped child: the number cannot be reused
            os.waitpid(pid, 0)
            return None
        pause(0.001)


def _program(name: str, env: Mapping[str, str]) -> str:
    """Found on the PATH of `env`, which need not be that of this process."""
    if "/" in name:
        return name
    for directory in os.get_exec_path(env):
        path = os.path.join(directory, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise PlaceFailed(f"{name} is not installed", f"install {name}, or choose another --in PLACE")


def _read_all(pipes: tuple[int, int], deadline: float) -> tuple[str, str]:
    """Both pipes to their ends, or to the deadline."""
    chunks: dict[int, list[bytes]] = {pipe: [] for pipe in pipes}
    poll = select.poll()
    for pipe in pipes:
        poll.register(pipe, select.POLLIN)
    unfinished = set(pipes)
    while unfinished and (left := deadline - time.monotonic()) > 0:
        for pipe, _ in poll.poll(left * 1000):
            chunk = os.read(pipe, 65536)
            chunks[pipe].append(chunk)
            if not chunk:
                poll.unregister(pipe)
                unfinished.discard(pipe)
    out, err = (b"".join(chunks[pipe]).decode("utf-8", "replace") for pipe in pipes)
    return out, err
