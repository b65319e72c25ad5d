"""A house of its own for each test: state, tmux server and environment that nobody else sees."""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from quell import Quell
from quell.habits import HABITS, OBEDIENT
from quell.life.kill import KillWish, Slain
from quell.life.spawn import Spawned, Wish

T = TypeVar("T")
PR_SET_CHILD_SUBREAPER = 36
CEILING = 20.0  # seconds that a fact may take to come true on a busy machine


def become_subreaper() -> None:
    """From here on whatever a test lets slip becomes a child of this process, and is seen."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def pause(seconds: float) -> None:
    """Between two looks at something that sends no event; nothing is ever concluded from it."""
    select.select([], [], [], seconds)


def eventually(fact: Callable[[], T], seconds: float = CEILING) -> T:
    """What `fact` returns once it is true; fails when it never is."""
    until = time.monotonic() + seconds
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"never came true: {fact}")
        pause(0.005)


def alive(pid: int) -> bool:
    """Whether a process has this pid and is not a zombie."""
    return state_and_parent(pid)[0] not in "ZX"


def pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def state_and_parent(pid: int) -> tuple[str, int]:
    """As the kernel has them; a process that is gone reads like a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return "X", 0
    state, parent = text.rsplit(")", 1)[1].split()[:2]
    return state, int(parent)


def descendants() -> list[int]:
    """Everything below this process that is not a zombie; zombies of ours are reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    parents = {pid: found[1] for pid in pids() if (found := state_and_parent(pid))[0] not in "ZX"}
    mine: list[int] = []
    todo = [os.getpid()]
    while todo:
        above = todo.pop()
        below = [pid for pid, parent in parents.items() if parent == above]
        mine += below
        todo += below
    return mine


def told(pid: int) -> str:
    with contextlib.suppress(OSError):
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    return "?"


class House:
    """One QUELL_HOME with a private tmux server, and the command line run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.state = root / "state"
        self.tmux_dir = root / "t"
        for path in (self.home, self.state, self.tmux_dir):
            path.mkdir(mode=0o700)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "QUELL_HOME": str(self.state),
            "TMUX_TMPDIR": str(self.tmux_dir),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
        }
        self.quell = Quell(env=self.env)

    # -- starting -----------------------------------------------------------------------------

    def spawn(self, habit: str = "obedient", **wish: Any) -> Spawned:
        """An agent with that habit, ready: headless unless `place` says otherwise."""
        number = len(list(self.root.glob("*.ready")))
        ready = self.root / f"{number}.ready"
        source = OBEDIENT if habit == "obedient" else HABITS[habit]
        wish.setdefault("place", "headless")
        wish["env"] = (*wish.get("env", ()), ("QUELL_READY", str(ready)))
        spawned = self.quell.spawn(
            Wish("command", (sys.executable, "-S", "-c", source), cwd=str(self.root), **wish)
        )
        eventually(ready.exists)
        return spawned

    def script(self, source: str, *args: str) -> tuple[str, ...]:
        return (sys.executable, "-S", "-c", source, *args)

    def process(self, *argv: str, **options: Any) -> subprocess.Popen[Any]:
        """A plain process that quell knows nothing of; the test's end ends it."""
        return subprocess.Popen(argv, env=self.env, cwd=self.root, **options)

    # -- the command line ---------------------------------------------------------------------

    def run(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """`quell ARGS` as a person would start it."""
        options.setdefault("env", self.env)
        options.setdefault("cwd", self.root)
        options.setdefault("timeout", 60)
        return subprocess.run(
            [sys.executable, "-m", "quell", *args],
            capture_output=True,
            text=True,
            check=False,
            stdin=options.pop("stdin", subprocess.DEVNULL) if "input" not in options else None,
            **options,
        )

    def json(self, *args: str, **options: Any) -> Any:
        done = self.run(*args, "--json", **options)
        return json.loads(done.stdout)

    def kill(self, *targets: str, **wish: Any) -> list[Slain]:
        return self.quell.kill(KillWish(targets, **wish))

    # -- tmux ---------------------------------------------------------------------------------

    def tmux(self, *args: str, server: str = "test") -> str:
        done = subprocess.run(
            ["tmux", "-L", server, "-f", "/dev/null", *args],
            env=self.env, capture_output=True, text=True, check=False, timeout=20,
        )  # fmt: skip
        return done.stdout

    def panes(self, server: str = "test") -> list[str]:
        return self.tmux("list-panes", "-a", "-F", "#{pane_id}", server=server).split()

    # -- the end ------------------------------------------------------------------------------

    def tear_down(self) -> list[str]:
        """Ends every run, then the tmux servers; whatever is alive then was left behind."""
        with contextlib.suppress(Exception):
            self.kill("all", force=True)
        self.quell.close()
        for socket in self.tmux_dir.glob("tmux-*/*"):
            subprocess.run(
                ["tmux", "-S", str(socket), "kill-server"],
                env=self.env, capture_output=True, check=False, timeout=20,
            )  # fmt: skip
        left = descendants()
        until = time.monotonic() + 3
        while left and time.monotonic() < until:
            pause(0.01)
            left = descendants()
        names = [f"{pid} {told(pid)}" for pid in left]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        while left and descendants():
            pause(0.01)
        shutil.rmtree(self.state, ignore_errors=True)
        return names


@contextlib.contextmanager
def open_house(root: Path) -> Iterator[House]:
    house = House(root)
    try:
        yield house
    finally:
        left = house.tear_down()
    assert not left, f"left alive: {left}"
