"""The heartbeat of a run: the file that its agent touches, and what was told to the store."""

import os

from quell.core.ports import World
from quell.core.run import Run
from quell.core.signs import Born, Clock, Memory, Sign
from quell.life.looking.glance import FUTURE, Glance, seconds_of

ECHO = 1.0  # seconds: what the watch took in from the file comes back by way of the store
TICKS = 100.0  # in which the kernel tells programs the time, a second


def born_of(run: Run) -> Born:
    """When it began by both clocks. An adopted one is older than its run: then nobody knows."""
    at = seconds_of(run.started_at)
    if at is None or run.process is None or run.keeper is None:
        return Born(0.0, 0.0)
    return Born(at, run.process.start / TICKS)


def beat_of(world: World, run: Run, past: Memory | None, now: Clock) -> Glance:
    """Its last beat. What is no plain file counts as never beaten, and is said."""
    file = world.disk.seen(os.path.join(world.rundir(run.id), "heartbeat"))
    if file is None:
        return Glance(odd=("its heartbeat file could not be looked at",), unseen=True)
    odd: list[str] = []
    if file.what not in ("file", "nothing"):
        odd.append(f"its heartbeat file is not believed: no file but a {file.what}")
    touched = file.at if file.what == "file" else 0
    told = seconds_of(run.heartbeat) if run.heartbeat else None
    if run.heartbeat and told is None:
        odd.append("its heartbeat in the store is not believed: no time")
    if not touched and told is None:
        return Glance(odd=tuple(odd))
    wall = max(touched / 1e9, told or 0.0)
    if wall > now.wall + FUTURE:
        odd.append("its heartbeat lies in the future; only a change of it counts")
        wall = 0.0
    elif wall < born_of(run).wall - FUTURE:
        odd.append("its heartbeat lies before its start; only a change of it counts")
        wall = 0.0
    mark = _mark(touched, told, past.beat.mark if past and past.beat else "")
    return Glance(Sign(mark, wall), tuple(odd))


def _mark(touched: int, told: float | None, before: str) -> str:
    """Changes with either of them, but not when one merely repeats the other."""
    second = "" if told is None else f"{told:.3f}"
    if touched and told is not None and abs(told - touched / 1e9) < ECHO:
        second = before.partition(" ")[2]
    return f"{touched} {second}"
