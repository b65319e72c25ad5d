"""Ends its own process with -9 at one moment; runs alone, stdlib only, inside whatever is cut.

Every deed that the world outside can see (a signal, a file, a directory, a process, a commit) has
two moments, before it and after it. CUT_LOG gets the name of each; CUT_AT is the number of the
one at which the process kills itself, 0 for none.
"""

import builtins
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

OS_DEEDS = (
    *("kill", "killpg", "write", "mkdir", "mkfifo", "rename", "replace", "link", "symlink"),
    *("unlink", "remove", "rmdir", "utime", "chmod", "fsync", "posix_spawn", "posix_spawnp"),
)
WRITES = ("INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "REPLACE")
Deed = Callable[..., Any]


class Cutter:
    def __init__(self, at: int, log: str) -> None:
        self.at, self.count, self.quiet = at, 0, False
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.lock = threading.Lock()
        self.say, self.end = os.write, os.kill

    def moment(self, name: str) -> None:
        if self.quiet:
            return
        with self.lock:
            self.count += 1
            self.say(self.log, f"{name}\n".encode(errors="replace"))
            if self.count == self.at:
                self.end(os.getpid(), signal.SIGKILL)

    def around(self, deed: Deed, name: Callable[..., str]) -> Deed:
        def wrapped(*args: Any, **more: Any) -> Any:
            told = name(*args, **more)
            if not told:
                return deed(*args, **more)
            self.moment(f"before {told}")
            done = deed(*args, **more)
            self.moment(f"after {told}")
            return done

        return wrapped


def install(cutter: Cutter, forks_that_live: int = 0) -> None:
    """From here on every deed is counted. The child of a fork is another process, and is not
    cut; but a daemon lives on in the child of its first fork or forks."""
    for word in OS_DEEDS:
        setattr(os, word, cutter.around(getattr(os, word), _named(word)))
    os.open = cutter.around(os.open, _opened)
    builtins.open = cutter.around(builtins.open, _opened_by_mode)
    for module, word in ((os, "execv"), (os, "execve"), (signal, "pidfd_send_signal")):
        setattr(module, word, cutter.around(getattr(module, word), _named(word)))
    os.fork = _fork(cutter, os.fork, forks_that_live)


def _named(word: str) -> Callable[..., str]:
    """With the last part of the first path, pid or program among its arguments."""

    def name(first: Any = "", *rest: Any, **_: Any) -> str:
        told = os.path.basename(os.fsdecode(first)) if isinstance(first, str | bytes) else ""
        if word == "write" and rest:
            told = bytes(rest[0][:12]).split(b"\t")[0].decode(errors="replace")
        if "kill" in word or "signal" in word:
            told = str(rest[0]) if rest else ""
        if word.startswith("posix_spawn") and rest:
            told = f"{told} {rest[0][-1] if 'keeper' not in str(rest[0]) else 'keeper'}"
        return f"{word} {told}".strip()

    return name


def _opened(path: Any, flags: int, *_: Any, **__: Any) -> str:
    changes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    return f"open {_last(path)}" if changes and path != os.devnull else ""


def _opened_by_mode(path: Any, mode: str = "r", *_: Any, **__: Any) -> str:
    return f"open {_last(path)}" if set(mode) & set("wax+") else ""


def _last(path: Any) -> str:
    return os.path.basename(os.fsdecode(path)) if isinstance(path, str | bytes) else str(path)


def _fork(cutter: Cutter, fork: Callable[[], int], lives: int) -> Callable[[], int]:
    forks = 0

    def wrapped() -> int:
        nonlocal forks
        forks += 1
        cutter.moment("before fork")
        pid = fork()
        in_life = (forks <= lives) == (pid == 0)
        if not in_life:
            cutter.quiet = True
        else:
            cutter.moment("after fork")
        return pid

    return wrapped


def _count_commits(cutter: Cutter) -> None:
    import sqlite3

    class Counted(sqlite3.Connection):
        _first = ""

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            return self._counted(super().execute, sql, *values)

        def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
            return self._counted(super().executemany, sql, *values)

        def _counted(self, deed: Deed, sql: str, *values: Any) -> sqlite3.Cursor:
            words = sql.split(None, 3)
            name = ""
            if words[0] in WRITES:
                wrote = " ".join(words[:3])
                name = "" if self.in_transaction else wrote
                self._first = self._first or wrote
            elif words[0] == "COMMIT":
                name = f"COMMIT of {self._first}"
            elif words[0] == "BEGIN":
                self._first = ""
            return cutter.around(deed, lambda *_: name)(sql, *values)

    connect: Deed = sqlite3.connect
    sqlite3.connect = lambda *args, **more: connect(*args, factory=Counted, **more)


def cut_keeper(keeper: str, at: int, log: str) -> None:
    """Becomes that keeper; one without a terminal lives on in the child of its first fork."""
    import runpy

    install(Cutter(at, log), forks_that_live=int("--detach" in sys.argv))
    runpy.run_path(keeper, run_name="__main__")


def cut_knell() -> None:
    """`python cutter.py AT LOG WORDS…` is `knell WORDS…`."""
    _, at, log, *words = sys.argv
    sys.argv = ["knell", *words]
    import subprocess

    from knell.faces.cli import main

    cutter = Cutter(int(at), log)
    install(cutter)
    _count_commits(cutter)
    fork_exec = "_fork_exec"  # all that subprocess starts goes through it
    setattr(subprocess, fork_exec, cutter.around(getattr(subprocess, fork_exec), _git))
    if any(word == "fleet" or "@" in word for word in words):
        _count_statements(cutter)
    main()


def _count_statements(cutter: Cutter) -> None:
    """What is asked of the fleet's database is a deed as well."""
    from knell.fleet.wire import Wire

    name: Callable[..., str] = lambda _, statement, *__, **___: f"ask {statement[:30]}"  # noqa: E731
    Wire.rows = cutter.around(Wire.rows, name)


def _git(argv: Any, *_: Any) -> str:
    words = [os.fsdecode(word) for word in argv]
    return "start " + " ".join(word for word in words if not word.startswith("-"))[:60]


if __name__ == "__main__":
    cut_knell()
