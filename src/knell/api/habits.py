"""Programs with one bad habit each: what `knell demo`, the tests and the benchmarks end.

Each is a small Python program. It touches the file named in KNELL_READY once its habit shows, and
ends by itself after BOUND seconds, so that a failed test leaves nothing for long. Forking is
bounded in number.
"""

import sys
from typing import NamedTuple

BOUND = 600
# What an ending that proves nothing may leave (docs/promise.md): who lost its parent before anybody
# looked, made a session of its own and emptied its environment.
ESCAPES = ("scrubbed-daemon", "root-dead-scrubbed")

_START = f"""
import os, signal, sys, time
signal.alarm({BOUND})

def ready():
    path = os.environ.get("KNELL_READY")
    if path:
        open(path, "w").close()

def child(habit, *, session=False, group=False, environment=None, orphan=False):
    "Starts a bounded child; `orphan` forks twice so that it loses its parent."
    source = 'import os, signal, sys, time\\nsignal.alarm({BOUND})\\n' + habit
    if orphan and os.fork():
        os.wait()
        return
    if os.fork():
        if orphan:
            os._exit(0)
        return
    if session:
        os.setsid()
    if group:
        os.setpgid(0, 0)
    env = dict(os.environ) if environment is None else environment
    os.execve(sys.executable, [sys.executable, "-S", "-c", source], env)

SLEEP = "time.sleep({BOUND})"
DEAF = "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\\n" + SLEEP

def sleep():
    ready()
    time.sleep({BOUND})
"""

HOPPER = """
for hop in range(HOPS):
    if SETSID and not hop:
        os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(PAUSE)
time.sleep(1)
"""

# Its children go on in the same program: 150 starts of Python would be slower than every 2 ms.
FORKER = f"""
ready()
for _ in range(150):
    if not os.fork():
        os.setsid()
        time.sleep({BOUND})
        os._exit(0)
    time.sleep(0.002)
sleep()
"""

GENERATIONS = """
ready()
for _ in range(60):
    if os.fork():
        time.sleep(0.5)
        break
    time.sleep(0.01)
sleep()
"""


def _hopper(hops: int, pause: float, *, setsid: bool) -> str:
    source = HOPPER.replace("HOPS", str(hops)).replace("PAUSE", str(pause))
    return f"child({source.replace('SETSID', str(setsid))!r})\nsleep()"


_BODIES: dict[str, tuple[str, str]] = {
    "plain": ("one child", "child(SLEEP)\nsleep()"),
    "deep": (
        "a chain of five generations",
        "for generation in range(4):\n    if os.fork():\n        break\nsleep()",
    ),
    "setsid": ("a child in a session of its own", "child(SLEEP, session=True)\nsleep()"),
    "daemon": ("a double-forked daemon", "child(SLEEP, session=True, orphan=True)\nsleep()"),
    "ignores_term": (
        "ignores TERM, HUP and INT, and so does its child",
        "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\nchild(DEAF)\nsleep()",
    ),
    "own_group": ("a child in a process group of its own", "child(SLEEP, group=True)\nsleep()"),
    "scrubbed": (
        "a child with an empty environment in its own session",
        "child(SLEEP, session=True, environment={})\nsleep()",
    ),
    "scrubbed_daemon": (
        "a double-forked daemon with an empty environment",
        "child(SLEEP, session=True, environment={}, orphan=True)\nsleep()",
    ),
    "forker": ("starts a child in its own session every 2 ms, 150 times", FORKER),
    "generations": ("each generation forks the next, 60 times", GENERATIONS),
    "hopper": ("hops from pid to pid every 3 ms", _hopper(400, 0.003, setsid=True)),
    "hopper_same_session": ("the same without setsid", _hopper(400, 0.003, setsid=False)),
    "hopper_tight": ("hops every 0.3 ms", _hopper(2000, 0.0003, setsid=True)),
    "stopped": ("a child that is stopped", "child('os.kill(os.getpid(), 19)\\n' + SLEEP)\nsleep()"),
    "zombie_parent": (
        "a child that never reaps its own dead child",
        "child('os.fork() or os._exit(0)\\n' + SLEEP, session=True)\nsleep()",
    ),
    "root_dead": (
        "exits and leaves a child in another session",
        "child(SLEEP, session=True)\nready()",
    ),
    "root_dead_same_session": ("exits and leaves a child", "child(SLEEP)\nready()"),
    "root_dead_scrubbed": (
        "exits and leaves a child with an empty environment",
        "child(SLEEP, session=True, environment={})\nready()",
    ),
}

OBEDIENT = _START + "sleep()"
HABITS: dict[str, str] = {name: _START + body for name, (_, body) in _BODIES.items()}
MEANINGS: dict[str, str] = {name: text for name, (text, _) in _BODIES.items()}


class Habit(NamedTuple):
    command: tuple[str, ...]  # what to spawn; it touches the file named in KNELL_READY
    meaning: str


def habits() -> dict[str, Habit]:
    """By name; each program ends by itself after ten minutes."""
    return {
        name.replace("_", "-"): Habit((sys.executable, "-S", "-c", source), MEANINGS[name])
        for name, source in HABITS.items()
    }
