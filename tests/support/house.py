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
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psutil

from knell import Knell
from knell.api.habits import HABITS, OBEDIENT
from knell.core.receipt import TargetResult
from knell.life.start.spawn import Spawned
from knell.wiring import RealWorld
from preloaded import STREAMS, Forked, Preloaded, Words, fits, needs

T = TypeVar("T")
PR_SET_CHILD_SUBREAPER = 36
# The process layer under which all of a test's commands run, if another is asked for.
LAYER = {name: os.environ[name] for name in ("KNELL_PROCESSES",) if name in os.environ}
GRACE = 30.0  # seconds in which what a test ended may still be leaving
HELPERS: set[int] = set()  # processes that live as long as this one
SERVERS: set[int] = set()  # the same, with everything below them: databases
CEILING = 200.0  # seconds that a fact may take to come true on a busy machine


def become_subreaper() -> None:
    """From here on whatever a test lets slip becomes a child of this process, and is seen."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def pause(seconds: float) -> None:
    """Between two looks at something that sends no event; nothing is ever concluded from it."""
    select.select([], [], [], seconds)


def eventually(fact: Callable[[], T], seconds: float = CEILING) -> T:
    """What `fact` returns once it is true; fails when it never is.

    A dear look is repeated less often: what is waited for needs the machine too."""
    until = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        value = fact()
        if value:
            return value
        now = time.monotonic()
        if now > until:
            raise AssertionError(f"never came true: {fact}")
        pause(min(max(0.005, 4 * (now - begun)), 0.25))


def alive(pid: int) -> bool:
    """Whether a process has this pid and is not a zombie."""
    return state_and_parent(pid)[0] not in "ZX"


def pids() -> list[int]:
    if sys.platform != "linux":
        return psutil.pids()
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def state_and_parent(pid: int) -> tuple[str, int]:
    """As the kernel has them; a process that is gone reads like a zombie."""
    if sys.platform != "linux":
        return seen_by_psutil(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(1024)  # less than a page comes in one piece
    except OSError:
        return "X", 0
    if not text:
        return "X", 0
    state, parent = text.rpartition(b")")[2].split(None, 2)[:2]
    return state.decode(), int(parent)


def seen_by_psutil(pid: int) -> tuple[str, int]:
    try:
        process = psutil.Process(pid)
        dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return ("Z" if dead else "S"), process.ppid()
    except psutil.Error:
        return "X", 0


def has_only_helpers() -> bool:
    """Whether this process has no child but helpers and servers, and no helper has one.

    Asks the kernel for the children of a few processes, where `descendants` reads all of them."""
    if sys.platform != "linux":
        return False
    known = HELPERS | SERVERS
    return all(child in known for one in (os.getpid(), *HELPERS) for child in children(one))


def children(pid: int) -> list[int]:
    """Zombies too; of a process that is gone, none."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, path.read_bytes().split())
    return found


def descendants(root: int = 0) -> list[int]:
    """Everything below that process, or this one, that is no zombie; zombies of ours are reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    if not root and has_only_helpers():
        return []
    parents = {pid: found[1] for pid in pids() if (found := state_and_parent(pid))[0] not in "ZX"}
    mine: list[int] = []
    todo = [root or os.getpid()]
    while todo:
        above = todo.pop()
        below = [pid for pid, parent in parents.items() if parent == above and pid not in SERVERS]
        mine += below
        todo += below
    return [pid for pid in mine if pid not in HELPERS]


GONE = "?"


def told(pid: int) -> str:
    """Its command line; GONE where it has none any more."""
    with contextlib.suppress(OSError):
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    return GONE


def comm_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return GONE


@cache
def preloaded(needs: str = "verbs") -> Preloaded:
    """The parent of commands that need so much, begun when it is asked for first."""
    parent = Preloaded(needs)
    HELPERS.add(parent.process.pid)
    return parent


def begin_script(path: Path, *args: str, **options: Any) -> Forked:
    """A Python file that uses knell, in a process of its own beside the test."""
    words = Words(str(path), args, dict(os.environ), str(path.parent))
    return Forked(preloaded(), words, **options)


@cache
def empty_store() -> bytes:
    """The database that knell makes where there is none. Making it takes longer than many tests."""
    with tempfile.TemporaryDirectory(prefix="knell-") as home:
        with Knell(home=home, env={"PATH": os.environ["PATH"], "HOME": home}) as knell:
            knell.list()
        return Path(home, "knell.db").read_bytes()


class OpenKnell(Knell):
    """Knell whose inside a test may look at."""

    @property
    def world(self) -> RealWorld:
        return self._world

    @world.setter
    def world(self, world: RealWorld) -> None:
        self._world = world


def private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class House:
    """One KNELL_HOME with a private tmux server, and the command line run in it. It has an empty
    store, as after the first command."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.state = root / "state"
        self.tmux_dir = root / "t"
        for path in (self.home, self.state, self.tmux_dir):
            path.mkdir(mode=0o700)
        with open(self.state / "knell.db", "xb", opener=private) as file:
            file.write(empty_store())
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "KNELL_HOME": str(self.state),
            "TMUX_TMPDIR": str(self.tmux_dir),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            **LAYER,
        }
        self.knell = OpenKnell(env=self.env)
        self.at_end = contextlib.ExitStack()  # what must be closed before nothing may be left

    # -- starting -----------------------------------------------------------------------------

    def spawn(self, habit: str = "obedient", **wish: Any) -> Spawned:
        """An agent with that habit, ready: headless unless `place` says otherwise."""
        number = len(list(self.root.glob("*.ready")))
        ready = self.root / f"{number}.ready"
        source = OBEDIENT if habit == "obedient" else HABITS[habit]
        wish.setdefault("place", "headless")
        wish["env"] = dict((*wish.get("env", ()), ("KNELL_READY", str(ready))))
        spawned = self.knell.spawn(
            command=(sys.executable, "-S", "-c", source), cwd=str(self.root), **wish
        )
        eventually(ready.exists)
        return spawned

    def script(self, source: str, *args: str) -> tuple[str, ...]:
        return (sys.executable, "-S", "-c", source, *args)

    def process(self, *argv: str, **options: Any) -> subprocess.Popen[Any]:
        """A plain process that knell knows nothing of; the test's end ends it."""
        return subprocess.Popen(argv, env=self.env, cwd=self.root, **options)

    def begin(self, *args: str, **options: Any) -> "Forked | subprocess.Popen[Any]":
        """`knell ARGS`, which runs beside the test."""
        env, cwd = options.pop("env", self.env), str(options.pop("cwd", self.root))
        if options.keys() <= {*STREAMS, "text"} and fits(env, {}):
            parent = preloaded(needs(args, env))
            if parent.is_near():
                return Forked(parent, Words("", args, env, cwd), **options)
        argv = [sys.executable, "-m", "knell", *args]
        return subprocess.Popen(argv, env=env, cwd=cwd, **options)

    # -- the command line ---------------------------------------------------------------------

    def run(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """`knell ARGS` as a person would start it."""
        options.setdefault("env", self.env)
        options.setdefault("cwd", self.root)
        options.setdefault("timeout", 300)
        env, cwd = dict(options["env"]), str(options["cwd"])
        if fits(env, options):
            parent = preloaded(needs(args, env))
            if parent.is_near():
                return parent.run(args, env, cwd, options.get("input"), options["timeout"])
        return subprocess.run(
            [sys.executable, "-m", "knell", *args],
            capture_output=True,
            text=True,
            check=False,
            stdin=options.pop("stdin", subprocess.DEVNULL) if "input" not in options else None,
            **options,
        )

    def json(self, *args: str, **options: Any) -> Any:
        done = self.run(*args, "--json", **options)
        return json.loads(done.stdout)

    def kill(self, *targets: str, **wish: Any) -> tuple[TargetResult, ...]:
        return self.knell.kill(*targets, **wish).targets

    # -- tmux ---------------------------------------------------------------------------------

    def tmux(self, *args: str, server: str = "test") -> str:
        done = subprocess.run(
            ["tmux", "-L", server, "-f", "/dev/null", *args],
            env=self.env, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        return done.stdout

    def panes(self, server: str = "test") -> list[str]:
        return self.tmux("list-panes", "-a", "-F", "#{pane_id}", server=server).split()

    # -- the end ------------------------------------------------------------------------------

    def leave(self) -> None:
        """Ends every run, then the tmux servers."""
        if descendants():  # of the many tests that leave nothing, none pays for a store and a look
            with contextlib.suppress(Exception):  # by their names: `all` reads the whole machine
                self.kill(*(view.name for view in self.knell.list()), force=True)
            if any(comm_of(pid) != "tmux: server" for pid in descendants()):
                with contextlib.suppress(Exception):
                    self.kill("all", force=True)
        self.at_end.close()
        self.knell.close()
        for socket in self.tmux_dir.glob("tmux-*/*"):
            subprocess.run(
                ["tmux", "-S", str(socket), "kill-server"],
                env=self.env, capture_output=True, check=False, timeout=300,
            )  # fmt: skip

    def tear_down(self) -> list[str]:
        """Whatever is alive after all that was left behind."""
        self.leave()
        left = descendants()
        until = time.monotonic() + GRACE
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
