"""One of many processes that use a store at the same moment.

    store_racer.py PLUG WHERE DEED [LOOKS]

Says "ready", waits for a line, does its deed and says what came of it. With LOOKS, it is killed
when the store looks at the clock for that many times.
"""
# ruff: noqa: T201 - what it prints is its answer

import importlib
import itertools
import os
import signal
import sys
from collections.abc import Callable

from store_samples import KILLED, SPAWNER, a_receipt, a_run, an_agent, claimed
from team_deeds import TEAM_DEEDS

from knell.core.errors import KnellError
from knell.core.ports.store import Store
from knell.core.process import ProcessId
from knell.core.restart import RestartPlan

ME = ProcessId(os.getpid(), 1, "boot-a")


def add(store: Store) -> str:
    store.runs.add(an_agent(), a_run(f"run-of-{ME.pid}"))
    return "added"


def claim(store: Store) -> str:
    return type(claimed(store, "run-1", KILLED, ME, None)).__name__


def take_over(store: Store) -> str:
    return type(claimed(store, "run-1", KILLED, ME, SPAWNER)).__name__


def end(store: Store) -> str:
    run = a_run(ending=KILLED._replace(by=str(ME.pid)))
    store.endings.end(run, a_receipt(run), ())
    return "done"


def note(store: Store) -> str:
    for number in range(50):
        store.events.record("test.note", "ada", "run-1", {"pid": ME.pid, "number": number})
    return "noted"


def plan(store: Store) -> str:
    return str(
        store.restarts.record(
            RestartPlan("run-1", "ada", "planned", "it crashed", 1, f"at {ME.pid}")
        )
    )


def restart(store: Store) -> str:
    """Under a name of its own, so that only the run to be replaced stands in the way."""
    name = f"agent-{ME.pid}"
    run = a_run(f"run-of-{ME.pid}", name, restarted_from="run-1", attempt=1)
    store.runs.add(an_agent(name), run)
    return "restarted"


def take_task(store: Store) -> str:
    return str(store.orchestrator.take_task("TASK-1", f"agent-{ME.pid}", "orchestrator-1"))


def look(store: Store) -> str:
    return f"{len(store.runs.live())} live"


DEEDS: dict[str, Callable[[Store], str]] = {
    deed.__name__: deed
    for deed in (add, claim, take_over, end, note, plan, restart, take_task, look)
} | TEAM_DEEDS


def deadly_clock(looks: int) -> Callable[[], str]:
    """Kills this very process at that look: the store looks in the middle of its transactions."""
    left = itertools.count(looks, -1)

    def now() -> str:
        if next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return "2030-01-01T00:00:00Z"

    return now


def main(plug: str, where: str, deed: str, looks: str = "0") -> None:
    module, _, name = plug.partition(":")
    plugged = getattr(importlib.import_module(module), name)
    clock = deadly_clock(int(looks))
    early = None if deed == "look" else plugged(where, now=clock)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        store = early or plugged(where, now=clock)
        print(DEEDS[deed](store), flush=True)
        store.close()
    except KnellError as error:
        print(type(error).__name__, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
