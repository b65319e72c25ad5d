"""Runs `knell ARGS`, or a script, in a process forked from one that has already imported knell.

Starting Python and importing knell is most of what a command costs, and the suite runs thousands. A
forked command is a process like any other: it has its own arguments, environment, directory and
streams, and runs the same `main`. What depends on a start of its own (another environment for
Python itself, terminals, the time and modules of a start) is started with `python -m knell`.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

NUMBER = struct.Struct("q")
PASSED_ON = ("PATH", "KNELL_PROCESSES")
# Whatever Python itself reads when it starts; and who a process is, which others read in /proc.
READ_AT_THE_START = ("PYTHON", "TZ", "LC_", "KNELL_RUN", "KNELL_TOKEN", "KNELL_AGENT", "COVERAGE")
LAZY_MCP = ("anyio._backends._asyncio", "uvicorn.lifespan.on", "uvicorn.loops.auto",
            "uvicorn.protocols.http.auto")  # fmt: skip
# What such a parent has imported, by what its commands need: the more, the longer each fork takes.
WITHOUT = {
    "verbs": (
        ".keeper.",
        "__main__",
        ".mcp",
        "knell.fleet",
        ".faces.fleet",
        ".top",
        ".web",
        ".http",
    ),
    "faces": (".keeper.", "__main__", ".mcp"),
    "mcp": (".keeper.", "__main__"),
}
SCREENS = ("top", "web", "fleet", "orders")
FAR = ("@", "--fleet", "--host")
STREAMS = ("stdin", "stdout", "stderr")
LARGEST_INPUT = 10_000  # characters; a pipe holds them all
LAZY = ("datetime", "difflib", "ruamel.yaml", "shlex", "socket", "sqlite3", "subprocess", "tomllib")


# -- the side that asks ----------------------------------------------------------------------------


class Words(NamedTuple):
    script: str  # the path of a Python file; empty for knell
    args: tuple[str, ...]
    env: dict[str, str]
    cwd: str


class Preloaded:
    """A parent of commands in each process that runs tests; it ends when that process does."""

    def __init__(self, needs: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, needs],
                stdin=theirs.fileno(),
                env={
                    "LANG": "C.UTF-8",
                    **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
                },
            )
        self.line = ours
        atexit.register(self.close)

    def close(self) -> None:
        self.line.close()
        self.process.wait()

    def is_near(self) -> bool:
        """False while a test has left for mounts or processes of its own."""
        return _namespaces("thread-self") == _namespaces(str(self.process.pid))

    def fork(self, words: Words, streams: tuple[int, int, int]) -> socket.socket:
        """Begins it; the socket tells its pid, and its exit code once it is over."""
        request = json.dumps(words).encode()
        conn, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.line, [b"!"], [theirs.fileno(), *streams])
        conn.sendall(NUMBER.pack(len(request)) + request)
        return conn

    def run(self, args: tuple[str, ...], env: dict[str, str], cwd: str, told: str | None,
            seconds: float) -> "subprocess.CompletedProcess[str]":  # fmt: skip
        (here_in, in_), (out, out_), (err, err_) = os.pipe()[::-1], os.pipe(), os.pipe()
        conn = self.fork(Words("", args, env, cwd), (in_, out_, err_))
        for fd in (in_, out_, err_):
            os.close(fd)
        if told is None:
            os.close(here_in)
        said, status = _talk(
            conn, {out: b"", err: b""}, (here_in, told), time.monotonic() + seconds
        )
        if status is None:
            raise subprocess.TimeoutExpired(["knell", *args], seconds, said[out], said[err])
        texts = (said[fd].decode().replace("\r\n", "\n").replace("\r", "\n") for fd in (out, err))
        return subprocess.CompletedProcess(["knell", *args], status, *texts)


class Forked:
    """A command that runs beside the test, and is used like `subprocess.Popen`."""

    stdin: IO[Any] | None = None
    stdout: IO[Any] | None = None
    stderr: IO[Any] | None = None

    def __init__(self, parent: Preloaded, words: Words, *, text: bool = False, **to: Any) -> None:
        self.args = ["knell", *words.args]
        self.returncode: int | None = None
        theirs = [self._stream(name, to.get(name), text=text) for name in STREAMS]
        if to.get("stderr") == subprocess.STDOUT:
            theirs[2] = os.dup(theirs[1])
        self._conn = parent.fork(words, (theirs[0], theirs[1], theirs[2]))
        for fd in theirs:
            os.close(fd)
        self.pid: int = NUMBER.unpack(_exactly(self._conn.fileno(), NUMBER.size))[0]

    def _stream(self, name: str, to: Any, *, text: bool) -> int:
        """Its end of that stream; the test's end of a pipe becomes an attribute."""
        reads = name == "stdin"
        if to == subprocess.PIPE:
            ours, theirs = os.pipe()[:: -1 if reads else 1]
            mode = ("w" if reads else "r") + ("" if text else "b")
            setattr(self, name, open(ours, mode, encoding="utf-8" if text else None))  # noqa: SIM115
            return theirs
        if to == subprocess.DEVNULL:
            return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        if to is None or to == subprocess.STDOUT:
            return os.dup(STREAMS.index(name))
        return os.dup(to if isinstance(to, int) else to.fileno())

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._conn], [], [], 0)[0]:
            self.returncode = NUMBER.unpack(_exactly(self._conn.fileno(), NUMBER.size))[0]
            self._conn.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            select.select([self._conn], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Reads both streams to their ends, one beside the other."""
        if self.stdin and not self.stdin.closed:
            if input:
                self.stdin.write(input)
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()
        said: dict[str, Any] = {"stdout": None, "stderr": None}
        readers = [
            threading.Thread(target=lambda name=name, file=file: said.update({name: file.read()}))
            for name in said
            if (file := getattr(self, name)) and not file.closed
        ]
        for reader in readers:
            reader.daemon = True
            reader.start()
        until = None if timeout is None else time.monotonic() + timeout
        for reader in readers:
            reader.join(until and max(0.0, until - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(until and max(0.0, until - time.monotonic()))
        self._close()
        return said["stdout"], said["stderr"]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _close(self) -> None:
        for file in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                _ = file and file.close()

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *error: object) -> None:
        self._close()
        self.wait()


def needs(args: tuple[str, ...], env: dict[str, str]) -> str:
    """Which parent has all that these words may need."""
    if args[:1] == ("mcp",):
        return "mcp"
    linked = os.path.exists(os.path.join(env.get("KNELL_HOME", ""), "fleet"))
    far = any(word in arg for arg in args for word in FAR)
    return "faces" if linked or far or args[:1] in [(verb,) for verb in SCREENS] else "verbs"


def fits(env: dict[str, str], options: dict[str, Any]) -> bool:
    """Whether a forked command is the same as one that is started."""
    plain = options.keys() <= {"env", "cwd", "timeout", "input"} and "LANG" in env
    plain = plain and len(options.get("input") or "") < LARGEST_INPUT
    # The parent has chosen its layer of processes when it started.
    plain = plain and env.get("KNELL_PROCESSES") == os.environ.get("KNELL_PROCESSES")
    return plain and not any(name.startswith(READ_AT_THE_START) for name in env)


def _namespaces(process: str) -> tuple[str, ...]:
    kinds = ("mnt", "pid") if sys.platform == "linux" else ()
    return tuple(os.readlink(f"/proc/{process}/ns/{kind}") for kind in kinds)


def _talk(
    conn: socket.socket, said: dict[int, bytes], more: tuple[int, str | None], until: float
) -> tuple[dict[int, bytes], int | None]:
    """What it wrote, and its exit code once it is over and both streams are closed."""
    to, text = more
    if text is not None:
        os.write(to, text.encode())  # less than a pipe holds
        os.close(to)
    pid, status, got, open_ = 0, None, b"", {conn.fileno(), *said}
    while open_ and time.monotonic() < until:
        for fd in select.select(list(open_), [], [], max(0.0, until - time.monotonic()))[0]:
            chunk = os.read(fd, 1 << 16)
            if not chunk:
                open_.discard(fd)
            elif fd in said:
                said[fd] += chunk
            else:
                got += chunk
                pid = NUMBER.unpack(got[: NUMBER.size])[0]
                status = NUMBER.unpack(got[NUMBER.size :])[0] if len(got) > NUMBER.size else None
    if open_ and pid and status is None:
        os.kill(pid, signal.SIGKILL)
    for fd in said:
        os.close(fd)
    conn.close()
    return said, None if open_ else status


# -- the side that forks ---------------------------------------------------------------------------


def preload(needs: str) -> None:
    import knell

    for found in pkgutil.walk_packages(knell.__path__, "knell."):
        if not any(word in found.name for word in WITHOUT[needs]):
            importlib.import_module(found.name)
    for name in (*LAZY, *(LAZY_MCP if needs == "mcp" else ())):
        importlib.import_module(name)
    settle()


def settle() -> None:
    """What is there already need not be looked at, and so copied, by each child."""
    gc.collect()
    gc.freeze()


def serve() -> None:
    preload(sys.argv[1])
    running: dict[int, tuple[int, socket.socket]] = {}  # pidfd → pid, and who asked
    line = socket.socket(fileno=0)
    while True:
        for ready in select.select([0, *running], [], [])[0]:
            if ready in running:
                bury(ready, *running.pop(ready))
                continue
            _, fds, _, _ = socket.recv_fds(line, 1, 4)
            if not fds:
                return
            pid = os.fork() or become(fds)
            conn = socket.socket(fileno=fds[0])
            conn.sendall(NUMBER.pack(pid))
            running[os.pidfd_open(pid)] = pid, conn
            for fd in fds[1:]:
                os.close(fd)


def bury(pidfd: int, pid: int, conn: socket.socket) -> None:
    """Tells the exit code to the one who asked, unless that one has given up."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError), conn:
        conn.sendall(NUMBER.pack(code))
    os.close(pidfd)


def become(fds: list[int]) -> NoReturn:
    """This process is the command from here on."""
    code = 1
    try:
        conn, *streams = fds
        (size,) = NUMBER.unpack(_exactly(conn, NUMBER.size))
        script, args, env, cwd = json.loads(_exactly(conn, size))
        take_streams(streams)
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        if script:
            sys.argv, sys.path[0] = [script, *args], str(Path(script).parent)
            code = _run(lambda: runpy.run_path(script, run_name="__main__"))
        else:
            code = run_knell(args)
    finally:
        os._exit(code)


def become_knell(args: Sequence[str], streams: Sequence[int]) -> NoReturn:
    """This process is `knell ARGS` from here on, with these streams, in its own environment."""
    code = 1
    try:
        take_streams(streams)
        code = run_knell(args)
    finally:
        os._exit(code)


def run_knell(args: Sequence[str]) -> int:
    main = importlib.import_module("knell.faces.cli").main
    package = Path(sys.modules["knell"].__file__ or "")
    sys.argv = [str(package.with_name("__main__.py")), *args]
    return _run(main)


def _run(main: Any) -> int:
    try:
        main()
        code: Any = 0
    except SystemExit as left:
        code = left.code
    except BaseException:  # noqa: BLE001  # as the interpreter does it
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120
    return code if isinstance(code, int) else int(code is not None)


def take_streams(fds: Sequence[int]) -> None:
    """Makes these the streams of this process, as the interpreter opens them in C.UTF-8."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, 1024)
    errors = {"stdin": "surrogateescape", "stdout": "surrogateescape", "stderr": "backslashreplace"}
    for number, (name, how) in enumerate(errors.items()):
        stream = open(  # noqa: SIM115  # it stays open as long as the process
            number, "w" if number else "r", encoding="utf-8", errors=how, closefd=False,
            buffering=1 if name == "stderr" else -1,
        )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _exactly(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = os.read(fd, size - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


if __name__ == "__main__":
    serve()
