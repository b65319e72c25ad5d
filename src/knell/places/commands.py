"""Runs a command of a terminal program: without a shell, with a deadline, with plain errors.

On os.posix_spawn, because importing subprocess costs as much as four calls of tmux.
"""

import contextlib
import os
import re
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from knell.core.codes import Code
from knell.core.errors import PlaceFailed

if TYPE_CHECKING:
    import socket

_STDOUT, _STDERR = 1, 2
# Python ignores these and a child inherits that, which breaks its pipes.
_RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
_KEYS = {"Escape": "\x1b", "Enter": "\r", "Tab": "\t", "Space": " ", "BSpace": "\x7f"}

FileAction = tuple[int, int] | tuple[int, int, int] | tuple[int, int, str, int, int]


class NotListening(PlaceFailed):
    """The socket is gone, or no process listens on it: the server that made it has ended."""

    code = Code.PLACE_GONE


class NoAnswer(PlaceFailed):
    """The server is there, but did not answer in time."""

    code = Code.PLACE_SILENT


class Answer(NamedTuple):
    code: int  # negative: the signal that ended it
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Its own words, in one line."""
        return " ".join((self.err or self.out).split()) or f"exit code {self.code}"


def unbranded(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without what marks the caller's run, so that a new server is no part of that run."""
    return {k: v for k, v in env.items() if not k.startswith("KNELL_") and k != "WINDOWID"}


def peer_pid(connection: "socket.socket") -> int:
    """The process that listens at the other end; 0 where the kernel does not tell."""
    import socket

    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], sys.byteorder)


def connect(path: str, timeout: float) -> "socket.socket":
    """A connection to a Unix socket; NotListening if no process listens on it."""
    import socket

    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise NotListening(f"no process listens on {path}") from error
    except OSError as error:
        connection.close()
        raise PlaceFailed(f"cannot connect to {path}: {error}") from error
    return connection


def pause(seconds: float) -> None:
    """Waits a moment for another program, where there is no event to wait for."""
    select.select([], [], [], seconds)


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
    children = ((out_child, _STDOUT), (err_child, _STDERR))
    try:
        try:
            outlets = [(os.POSIX_SPAWN_DUP2, child, fd) for child, fd in children]
            pid = start(argv, env, outlets, new_session=False)
        finally:
            os.close(out_child)
            os.close(err_child)
        texts = _read_all((out, err), deadline)
        code = reap_child(pid, deadline)
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


def reap_child(pid: int, deadline: float) -> int | None:
    """The exit code of our child; None if it was not over by then and had to be killed; 0 if the
    kernel has thrown it away, because whoever started us ignores SIGCHLD."""
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)  # our own unreaped child: the number cannot be reused
            with contextlib.suppress(ChildProcessError):
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
