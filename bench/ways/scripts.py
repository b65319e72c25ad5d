"""The scripts that people write for themselves, in good faith, each run as a command."""

from collections.abc import Mapping, Sequence

from peers import PINS, Peers
from workshop import Bench

from ways import GRACE, Said, Started
from ways.hands import agent_script, by_hand, command

# What the orchestrator's code does: KILL to the stored number, then it writes "killed".
KILL_PID = """
import os, sys
for pid in map(int, sys.argv[2:]):
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        pass
print("killed")
"""

# Each agent leads a session, so its number is also that of its process group.
KILL_GROUP = """
import os, sys, time
grace, groups = float(sys.argv[1]), [int(word) for word in sys.argv[2:]]

def signal(number):
    for group in list(groups):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            groups.remove(group)

def wait(seconds):
    until = time.monotonic() + seconds
    while groups and time.monotonic() < until:
        time.sleep(0.01)
        signal(0)

signal(15)
wait(grace)
signal(9)
wait(1)
print("still there" if groups else "killed")
sys.exit(1 if groups else 0)
"""

# The recipe of psutil's documentation: the children as they are now, TERM, wait, KILL, wait.
PSUTIL_TREE = """
import sys, psutil
grace, doomed = float(sys.argv[1]), []
for pid in map(int, sys.argv[2:]):
    try:
        top = psutil.Process(pid)
        doomed += [*top.children(recursive=True), top]
    except psutil.NoSuchProcess:
        continue

def each(verb):
    for process in doomed:
        try:
            verb(process)
        except psutil.NoSuchProcess:
            pass

each(psutil.Process.terminate)
doomed = psutil.wait_procs(doomed, timeout=grace)[1]
each(psutil.Process.kill)
doomed = psutil.wait_procs(doomed, timeout=1)[1]
print("still there" if doomed else "killed")
sys.exit(1 if doomed else 0)
"""


class Script:
    """An agent started by hand in a session of its own, and a script that is given its pid."""

    name = ""
    version = ""
    grace = GRACE
    source = ""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.python = bench.python

    def unavailable(self) -> str:
        return ""

    def open(self) -> None:
        pass

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        script = agent_script(self.bench, name, argv, env)
        return Started(name, by_hand(self.bench, name, script))

    def end(self, started: Started) -> Said:
        return self.end_all([started])

    def end_all(self, started: Sequence[Started]) -> Said:
        numbers = [str(agent.pid) for agent in started]
        done = command([self.python, "-c", self.source, str(self.grace), *numbers], self.bench.env)
        return Said(done.code == 0, done.last)

    def close(self) -> None:
        pass


class KillPid(Script):
    name = "kill PID, as the seed does"
    source = KILL_PID


class KillGroup(Script):
    name = "killpg TERM, then KILL"
    source = KILL_GROUP


class PsutilTree(Script):
    name = "psutil recursive kill"
    version = PINS["psutil"]
    source = PSUTIL_TREE

    def __init__(self, bench: Bench, peers: Peers) -> None:
        super().__init__(bench)
        self.peers = peers
        self.python = peers.python

    def unavailable(self) -> str:
        return self.peers.missing()
