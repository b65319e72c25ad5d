"""Records to put into a store, and a clock that is wound by being read."""

import itertools
from collections.abc import Callable
from typing import Any

from quell.core.agent import Agent
from quell.core.lifecycle import Outcome, State
from quell.core.ports import Store
from quell.core.process import ProcessId
from quell.core.receipt import Proof, Receipt, Result
from quell.core.run import Ending, Orphan, Place, Run

Open = Callable[[], Store]
Race = Callable[..., list[str]]

SPAWNER = ProcessId(100, 1_000, "boot-a")
KILLER = ProcessId(200, 2_000, "boot-a", 77)
OTHER = ProcessId(300, 3_000, "boot-a")

KILLED = Ending(Outcome.KILLED, "operator", "killed")
STOPPED = Ending(Outcome.STOPPED, "leader", "user_request", "enough for today")


class Clock:
    """One second later at every look."""

    def __init__(self) -> None:
        self._seconds = itertools.count()
        self.last = ""

    def __call__(self) -> str:
        minutes, seconds = divmod(next(self._seconds), 60)
        self.last = f"2030-01-01T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}Z"
        return self.last


def an_agent(name: str = "ada", **parts: Any) -> Agent:
    return Agent(name, "claude", "/srv/project")._replace(**parts)


def a_run(id: str = "run-1", agent: str = "ada", **parts: Any) -> Run:
    run = Run(id, agent, "host-a", State.SPAWNING, Place("headless"), "2029-12-31T00:00:00Z")
    return run._replace(owner=SPAWNER)._replace(**parts)


def a_process(pid: int = 4_000) -> ProcessId:
    return ProcessId(pid, pid * 10, "boot-a", pid + 1)


def an_orphan(pid: int = 5_000, **parts: Any) -> Orphan:
    return Orphan("run-1", "ada", "dev", a_process(pid), "node dev.js", "kept")._replace(**parts)


def a_receipt(run: Run, **parts: Any) -> Receipt:
    ending = run.ending or KILLED
    told = Receipt(
        agent=run.agent,
        run=run.id,
        kind="claude",
        place=run.place.name,
        by=ending.by,
        reason=ending.reason,
        outcome=str(ending.outcome),
        result=Result.ENDED,
        pid=run.process.pid if run.process else None,
        started_at="2030-01-01T00:00:00Z",
        finished_at="2030-01-01T00:00:01Z",
        duration_ms=1_000,
        proof=Proof.PROVEN,
    )
    return told._replace(**parts)
