"""How far the endings under way have come: for the progress line, and for a person who presses
Ctrl-C."""

from typing import NamedTuple

from knell.core.ports.world import World
from knell.core.run import Run, State


class EndingProgress(NamedTuple):
    agent: str
    rung: str  # the last one that was recorded; empty: none yet
    seconds: float  # since that rung was first seen here
    gone: int  # processes that have ended
    total: int  # that were there when it was first looked at
    outcome: str = ""  # what it will have been: killed, stopped, …


class EndingsLook:
    """Looks again and again, from another thread than the one that ends; remembers the first."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._totals: dict[str, int] = {}
        self._since: dict[tuple[str, str], float] = {}

    def look(self, *, of_all: bool = False) -> list[EndingProgress]:
        """Of the endings that this process has begun, or `of_all` on this host."""
        world = self._world
        mine, now = world.processes.me(), world.clock().awake
        runs = [
            run
            for run in world.store.runs.live()
            if run.state is State.STOPPING
            and run.host == world.host
            and (of_all or run.owner == mine)
        ]
        vitals = world.processes.vitals(runs, {}) if runs else {}
        return [self._progress(run, vitals[run.id].processes or 0, now) for run in runs]

    def _progress(self, run: Run, alive: int, now: float) -> EndingProgress:
        total = self._totals[run.id] = max(alive, self._totals.get(run.id, 0))
        began = self._since.setdefault((run.id, run.rung), now)
        outcome = run.ending.outcome.value if run.ending else ""
        return EndingProgress(run.agent, run.rung, now - began, total - alive, total, outcome)


def begun_endings(world: World) -> list[tuple[str, bool]]:
    """Agents whose ending this process has claimed and not finished; and whether a keeper goes on
    with it by itself, as it does once it was told to send TERM."""
    mine = world.processes.me()
    runs = [run for run in world.store.runs.live() if run.state is State.STOPPING]
    return [
        (run.agent, run.keeper is not None and run.rung in ("term", "kill"))
        for run in runs
        if run.owner == mine
    ]
