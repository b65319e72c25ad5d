"""Records to put into a store, and a clock that is wound by being read."""

import contextlib
import itertools
import sqlite3
from collections.abc import Callable
from typing import Any

from knell.core.agent import Agent
from knell.core.ports.ending_store import Claim, ClaimRequest, Won
from knell.core.ports.store import Event, Store
from knell.core.process import ProcessId
from knell.core.receipt import Proof, Receipt, Result
from knell.core.run import Ending, Orphan, Outcome, Place, Run, State

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


# -- lives, and what is on record of them ------------------------------------------------------


def spawned(store: Store, id: str = "run-1", agent: str = "ada") -> Run:
    store.runs.add(an_agent(agent), a_run(id, agent))
    return known(store, id)


def running(store: Store, id: str = "run-1", agent: str = "ada", pid: int = 4_000) -> Run:
    run = spawned(store, id, agent)
    store.runs.mark_born(run._replace(process=a_process(pid), keeper=a_process(pid + 500)))
    return known(store, id)


def claimed(
    store: Store, run: str, ending: Ending, owner: ProcessId, dead: ProcessId | None
) -> Claim:
    return store.endings.claim([ClaimRequest(run, ending, dead)], owner)[0]


def stopping(store: Store, id: str = "run-1", agent: str = "ada") -> Run:
    claim = claimed(store, running(store, id, agent).id, KILLED, KILLER, None)
    assert isinstance(claim, Won)
    return claim.run


def ended(store: Store, id: str = "run-1", agent: str = "ada", ending: Ending = KILLED) -> Run:
    run = stopping(store, id, agent)._replace(ending=ending)
    store.endings.end(run, a_receipt(run), ())
    return known(store, id)


def known(store: Store, id: str = "run-1") -> Run:
    run = store.runs.run(id)
    assert run is not None
    return run


def trail(store: Store, type: str = "") -> list[Event]:
    return [event for event in store.events.read(0, "", 1_000) if not type or event.type == type]


# -- an orchestrator that writes for itself ----------------------------------------------------


def sql(where: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """As another program would, on a connection of its own."""
    with contextlib.closing(sqlite3.connect(where, isolation_level=None)) as db:
        return db.execute(statement, values).fetchall()


def put(where: str, table: str, **columns: Any) -> None:
    names = ", ".join(columns)
    marks = ", ".join("?" * len(columns))
    sql(where, f"INSERT INTO {table} ({names}) VALUES ({marks})", *columns.values())


def put_task(where: str, task_id: str = "TASK-1", **columns: Any) -> None:
    put(where, "orchestrator_task", task_id=task_id, **columns)
