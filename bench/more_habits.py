"""Habits beside those of knell's own demo and tests: what real agents and test suites showed.

Sources: Claude Code takes 1.6 s to leave; dev servers are started with nohup and setsid; the rest
are the cases that Bazel, runc and process-compose keep in their own suites.
"""

from knell.api.habits import HABITS, OBEDIENT

_START = OBEDIENT.removesuffix("sleep()")

# TERM makes it fork into a session of its own, at most 50 times in a line.
PHOENIX = """
left = 50
def again(*_):
    global left
    left -= 1
    if left and os.fork():
        os._exit(0)
    os.setsid()
signal.signal(15, again)
while left:
    time.sleep(1)
"""

CHATTER = """
signal.signal(13, signal.SIG_IGN)
for _ in range(2000):
    try:
        os.write(1, b".")
    except OSError:
        pass
    time.sleep(0.05)
"""

DEV_SERVER = """
import shlex
server = shlex.join([sys.executable, "-S", "-c", "import time; " + SLEEP])
os.system("nohup setsid " + server + " >/dev/null 2>&1 &")
sleep()
"""

BLOCKED = """
import threading
signal.pthread_sigmask(signal.SIG_BLOCK, {1, 2, 15})
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
child(SLEEP)
sleep()
"""

SLOW = """
def leave(*_):
    time.sleep(1.6)
    os._exit(0)
[signal.signal(n, leave) for n in (1, 2, 15)]
child(SLEEP)
sleep()
"""

_BODIES = {
    "slow_to_leave": ("takes 1.6 s to leave when asked", SLOW),
    "dev_server": ("a server started in the background with nohup and setsid", DEV_SERVER),
    "half_setsid": (
        "32 children, half of them in sessions of their own",
        "for n in range(32):\n    child(SLEEP, session=bool(n % 2))\nsleep()",
    ),
    "root_dead_half_setsid": (
        "exits and leaves 8 children, half of them in sessions of their own",
        "for n in range(8):\n    child(SLEEP, session=bool(n % 2))\nready()",
    ),
    "blocks_signals": ("blocks TERM, HUP and INT in every thread, and in its child", BLOCKED),
    "forks_on_term": ("a child that answers TERM by forking away", f"child({PHOENIX!r})\nsleep()"),
    "holds_stdout": (
        "a child in its own session that keeps writing to the agent's output",
        f"child({CHATTER!r}, session=True)\nsleep()",
    ),
}

# A hopper must outlast the slowest way and the moment that each gets: else it ends by itself,
# and counts for whoever was slow.
_LONGER = {"range(400)": "range(5000)", "range(2000)": "range(30000)"}


def _longer(source: str) -> str:
    for short, long in _LONGER.items():
        source = source.replace(f"for hop in {short}", f"for hop in {long}")
    return source


ALL_HABITS: dict[str, str] = {
    **{name: _longer(source) for name, source in HABITS.items()},
    **{name: _START + body for name, (_, body) in _BODIES.items()},
}
TOLD_MORE: dict[str, str] = {name: told for name, (told, _) in _BODIES.items()}
