"""Starts the watch in the background, or ends the one that runs on this host."""

from typing import NamedTuple

from knell.core.authority import Deed
from knell.core.codes import Code
from knell.core.environment import without_caller
from knell.core.errors import Refused
from knell.core.ladder import KILL
from knell.core.ports.endings import Callbacks
from knell.core.ports.processes import Target
from knell.core.ports.world import World
from knell.core.process import Alive, ProcessId
from knell.life.base.authority import check_operator
from knell.life.base.members import protected_now

PATIENCE = 20.0  # seconds in which a watch that was started makes its first round
STEP = 0.1


class WatchSwitch(NamedTuple):
    on: bool
    pid: int


def switch_watch(world: World, *, on: bool) -> WatchSwitch:
    """Only the operator may: a watch ends stalled agents, and starts others again."""
    check_operator(world, Deed.WATCH)
    return _start(world) if on else _end(world)


def _start(world: World) -> WatchSwitch:
    found = live_watch(world)
    if found is not None:
        return WatchSwitch(on=True, pid=found.pid)
    # Without the terminal in which it was asked for: the watch is not of it.
    env = {name: text for name, text in world.env.items() if name not in ("TMUX", "TMUX_PANE")}
    world.keepers.run_detached(("watch",), without_caller(env))
    for _ in range(round(PATIENCE / STEP)):
        world.wait([], STEP)
        found = live_watch(world)
        if found is not None:
            return WatchSwitch(on=True, pid=found.pid)
    raise Refused(
        "the watch was started, and has made no round yet",
        "knell watch --once says what hinders it",
        code=Code.WATCH_OFF,
    )


def _end(world: World) -> WatchSwitch:
    found = live_watch(world)
    if found is None:
        raise Refused("no watch runs on this host", "knell watch", code=Code.WATCH_OFF)
    target = Target("watch", "", None, found, "", KILL, alone=True)
    report = world.endings.end([target], Callbacks(lambda: protected_now(world)))["watch"]
    if report.survivors:
        why = f"PID {found.pid}: {report.survivors[0].why}"
        raise Refused(f"the watch could not be ended: {why}", code=Code.NOT_ALLOWED)
    return WatchSwitch(on=False, pid=found.pid)


def live_watch(world: World) -> ProcessId | None:
    """The process of the watch on this host, if it is seen to live."""
    found = world.store.watch.watcher(world.host)
    process = found.process if found else None
    return process if process and isinstance(world.processes.look(process), Alive) else None
