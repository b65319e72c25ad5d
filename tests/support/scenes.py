"""Scenes that several contract tests play: agents with a body of their own, spawned or adopted."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from house import House, alive, eventually
from knell.api.habits import OBEDIENT
from knell.core.process import ProcessId
from knell.core.run import Run

# What a body may use: child(), SLEEP, DEAF, sleep(), and tell(), which says what a test must know.
PROLOGUE = (
    OBEDIENT.removesuffix("sleep()")
    + """
def tell(*words):
    path = os.environ["KNELL_READY"]
    with open(path + ".new", "w") as file:
        file.write(" ".join(map(str, words)))
    os.rename(path + ".new", path)

def ready():
    pass  # tell() is the sign here, and sleep() must not wipe it

def at_term(deed):
    signal.signal(signal.SIGTERM, deed)
"""
)
SLEEPS = "tell()\nsleep()"
DEAF = "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\ntell()\nwhile True: time.sleep(9)"
# It tidies up for a moment after TERM, as real agents do.
TIDY = "at_term(lambda *_: (time.sleep(0.2), os._exit(7)))\ntell()\nwhile True: time.sleep(9)"


class Played(NamedTuple):
    run: Run
    pid: int  # the agent's own
    keeper: int  # its keeper's; 0 without one
    told: list[str]  # what its body said


def started(house: House, body: str, *, name: str = "luna", **wish: Any) -> Played:
    """An agent with this body under a keeper, once it has told; headless if nothing is wished."""
    note = fresh_note(house)
    wish.setdefault("place", "headless")
    env = (*wish.pop("env", ()), ("KNELL_READY", str(note)))
    argv = house.script(PROLOGUE + body)
    run = house.knell.spawn(command=argv, name=name, cwd=str(house.root), env=dict(env), **wish).run
    return Played(run, number(run.process), number(run.keeper), eventually_told(note))


def stranger(house: House, body: str, **options: Any) -> tuple[int, list[str]]:
    """A process with this body that knell did not start, and a child that nobody reaps."""
    note = fresh_note(house)
    env = house.env | {"KNELL_READY": str(note)}
    argv = house.script(PROLOGUE + body)
    pid = os.posix_spawn(argv[0], argv, env, **options)
    return pid, eventually_told(note)


def adopted(house: House, body: str, *, name: str = "luna", **options: Any) -> Played:
    """The same, taken charge of: a run without a keeper."""
    pid, told = stranger(house, body, **options)
    return Played(house.knell.adopt(str(pid), name=name).run, pid, 0, told)


def number(process: ProcessId | None) -> int:
    assert process
    return process.pid


def end(*pids: int) -> None:
    """Ends processes that this test started and knell was right to leave alone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(map(alive, pids)))


def fresh_note(house: House) -> Path:
    return house.root / f"{os.urandom(6).hex()}.told"


def eventually_told(note: Path) -> list[str]:
    eventually(note.exists)
    return note.read_text().split()


def state_letter(pid: int) -> str:
    """As ps shows it; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def list_names(house: House) -> list[str]:
    return [agent["name"] for agent in house.json("list")["agents"]]


def event_types(house: House, agent: str = "luna") -> list[str]:
    return [event.type for event in house.knell.events(agent=agent)]


def in_pid_namespace(house: House, source: str) -> str:
    """What `source` prints as the first process of a namespace where it may choose the next pid."""
    import pytest

    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    flags = ("--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child")
    done = subprocess.run(
        ["unshare", *flags, sys.executable, "-c", source],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.stderr.startswith("unshare:"):
        pytest.skip(f"no PID namespace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Holds a process in state D, where not even KILL ends it until the freezer thaws it."""
    leaf = freezer() / f"knell-test-{pid}"
    leaf.mkdir()
    try:
        (leaf / "cgroup.procs").write_text(str(pid))
        (leaf / "freezer.state").write_text("FROZEN")
        eventually(lambda: (leaf / "freezer.state").read_text().strip() == "FROZEN")
        yield
    finally:
        (leaf / "freezer.state").write_text("THAWED")
        if alive(pid):
            with contextlib.suppress(OSError):
                (leaf.parent / "cgroup.procs").write_text(str(pid))
        eventually(lambda: removed(leaf))


def freezer() -> Path:
    import pytest

    from needs import REASONS

    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup ") and "freezer" in right.split()[-1].split(","):
            path = Path(left.split()[4])
            if os.access(path, os.W_OK):
                return path
    if os.geteuid():
        return pytest.skip(REASONS["needs_root"])
    return pytest.skip("no freezer of cgroup v1 to make a process unkillable with")


def removed(directory: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        try:
            directory.rmdir()
        except OSError:
            return False
    return True
