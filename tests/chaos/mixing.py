"""A seeded stream of commands of every kind, many at once, some of them cut short."""

import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple

from house import House, alive
from knell.api.habits import HABITS, OBEDIENT

NAMES = ("ada", "bob", "cy", "dee", "eve", "fay", "gil", "hal")
CUTS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LONGEST = 300.0  # seconds that one command may take among a hundred others
SOON = 0.5  # seconds within which a command is cut
SHORT_LIVED = "import time; time.sleep(0.05)"
CRASHING = "import os; os.abort()"
BODIES = (
    OBEDIENT,
    OBEDIENT,
    HABITS["ignores_term"],
    HABITS["scrubbed_daemon"],
    SHORT_LIVED,
    CRASHING,
)


class Said(NamedTuple):
    argv: tuple[str, ...]
    cut: int  # the signal that it was sent, or 0
    code: int | None  # None: it hung
    out: str
    err: str


class Worker(threading.Thread):
    """One person at a keyboard, who types until the time is up; each line is a process."""

    def __init__(self, house: House, chance: random.Random, until: float) -> None:
        super().__init__()
        self.house = house
        self.chance = chance
        self.until = until
        self.said: list[Said] = []
        self.strangers: list[subprocess.Popen[bytes]] = []

    def run(self) -> None:
        while time.monotonic() < self.until:
            deed = self.chance.choices(list(DEEDS), list(DEEDS.values()))[0]
            words = deed(self)
            cut = self.chance.choice(CUTS) if self.chance.random() < 1 / 6 else 0
            self.said.append(self.knell(words, cut))

    def knell(self, argv: tuple[str, ...], cut: int) -> Said:
        process = self.house.process(
            sys.executable, "-m", "knell", *argv, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        if cut and not is_over(process, self.chance.random() * SOON):
            process.send_signal(cut)
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return Said(argv, cut, None, out, err)
        return Said(argv, cut, process.returncode, out, err)

    # -- what may be typed --------------------------------------------------------------------

    @property
    def name(self) -> str:  # type: ignore[override] - a Thread's own is of no use here
        return self.chance.choice(NAMES)

    def spawn(self) -> tuple[str, ...]:
        where = self.chance.choice([("--in", "headless"), ("--in", "tmux", "-L", "test")])
        more = self.chance.choice(
            [(), (), (), ("--team", "red"), ("--task", "t-1"), ("--tag", "dev"), ("--restart",)]
        )
        if self.chance.random() < 1 / 8:
            more = ("--cwd", "repo", "--worktree", f"b-{self.chance.randrange(10**6)}")
        words = (sys.executable, "-S", "-c", self.chance.choice(BODIES))
        named = ("--name", self.name) if self.chance.random() < 7 / 8 else ()
        return ("spawn", *named, *where, *more, "--json", "--", *words)

    def adopt(self) -> tuple[str, ...]:
        """Of a process of the worker's own, which would be gone by itself in a while."""
        stranger = self.house.process(sys.executable, "-S", "-c", OBEDIENT)
        self.strangers.append(stranger)
        return ("adopt", str(stranger.pid), "--name", self.name, "--json")

    def target(self) -> str:
        pids = [str(pid) for pid in self.known_pids()]
        return self.chance.choice(
            [self.name, self.name, self.name, "*a*", "[a-c]*", "team:red", "tag:dev", "%1", *pids]
        )

    def known_pids(self) -> list[int]:
        """Of this worker's strangers: no number that could be somebody else's."""
        return [one.pid for one in self.strangers[-2:] if one.poll() is None]

    def kill(self) -> tuple[str, ...]:
        how = self.chance.choice([(), ("--force",), ("--grace", "0.2"), ("--dry-run",)])
        return ("kill", *how, self.target(), "--yes", "--json")

    def kill_all(self) -> tuple[str, ...]:
        return ("kill", "all", "--yes", "--grace", "0.2", "--json")

    def stop(self) -> tuple[str, ...]:
        how = self.chance.choice([(), ("--mode", "hard"), ("--mode", "soft")])
        return ("stop", *how, "--grace", "0.2", self.target(), "--yes", "--json")

    def look(self) -> tuple[str, ...]:
        verb = self.chance.choice(
            [("list",), ("list", "--all"), ("status",), ("stalled", "--all"), ("doctor",),
             ("events",), ("events", self.name), ("show", self.name), ("tree", self.name),
             ("receipt", self.name), ("explain", self.name), ("inbox", self.name),
             ("team", "list"), ("task", "list"), ("reap",)]
        )  # fmt: skip
        return (*verb, "--json")

    def tend(self) -> tuple[str, ...]:
        verb = self.chance.choice(
            [("watch", "--once"), ("reap", "--yes"), ("beat", self.name),
             ("resume", self.name), ("restart", self.name, "--yes", "--grace", "0.2"),
             ("ask", self.name, "--deadline", "1"), ("approve", self.name), ("confirm", self.name),
             ("team", "create", "red"), ("team", "add", "red", self.name),
             ("task", "add", "--team", "red", "work"), ("stalled", "--kill", "--yes")]
        )  # fmt: skip
        return (*verb, "--json")

    def invoke(self) -> tuple[str, ...]:
        command, words = self.chance.choice(
            [("monitor-agent-lifecycle", ()), ("kill-stalled-agent", (f"AGENT_ID={self.name}",)),
             ("auto-restart-agent", (f"AGENT_ID={self.name}",)), ("cleanup-worktrees", ())]
        )  # fmt: skip
        return ("invoke", f"orchestrator.{command}", *words)

    def tidy(self) -> None:
        """Ends the strangers that nobody adopted, and takes in those that were ended."""
        for stranger in self.strangers:
            if stranger.poll() is None:
                stranger.kill()
            stranger.wait(300)


DEEDS = {
    Worker.spawn: 30,
    Worker.adopt: 4,
    Worker.kill: 16,
    Worker.kill_all: 2,
    Worker.stop: 8,
    Worker.look: 22,
    Worker.tend: 16,
    Worker.invoke: 6,
}


def is_over(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether it ends within that time."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


def mixed(house: House, chance: random.Random, at_once: int, seconds: float) -> list[Worker]:
    """Everybody types at once until the time is up."""
    until = time.monotonic() + seconds
    workers = [Worker(house, random.Random(chance.random()), until) for _ in range(at_once)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return workers


def strangers(workers: list[Worker]) -> list[int]:
    return [one.pid for worker in workers for one in worker.strangers if alive(one.pid)]
