"""Touches an agent's heartbeat file (`knell beat`), for agents that have no hooks."""

import os

from knell.core.authority import Deed
from knell.core.codes import Code
from knell.core.errors import Refused
from knell.core.ports.world import World
from knell.core.process import KEEPER
from knell.life.base.authority import check_agents
from knell.life.base.caller import caller
from knell.life.base.targets import Crowd, Picture


def beat(world: World, name: str = "") -> str:
    """Touches the heartbeat of the named agent, or of the one that asks; returns the file."""
    path = _named(world, name) if name else _mine(world)
    trouble = world.disk.touch(path)
    if trouble:
        raise Refused(
            f"cannot beat: {path}: {trouble}",
            "knell doctor looks at the state directory",
            code=Code.FILE_FAILED,
        )
    return path


def _mine(world: World) -> str:
    """From KNELL_HEARTBEAT where that run's keeper is the nearest above: that needs no store, and
    agents may beat often. Those around this agent have keepers above it too."""
    path = world.env.get("KNELL_HEARTBEAT", "")
    run = os.path.basename(os.path.dirname(path))
    if path and path == os.path.join(world.rundir(run), "heartbeat"):
        keeper = world.keepers.journal(world.rundir(run)).keeper
        nearest = next((one for one in world.processes.lineage() if one.name == KEEPER), None)
        if keeper and nearest and (keeper.pid, keeper.start) == (nearest.pid, nearest.start):
            return path
    asking = caller(world).run
    if not asking:
        raise Refused(
            "this is not inside an agent",
            "name the agent that lives: knell beat NAME",
            code=Code.NOT_INSIDE_AN_AGENT,
        )
    return os.path.join(world.rundir(asking), "heartbeat")


def _named(world: World, name: str) -> str:
    chosen = Crowd(Picture(world), targets=[name]).only(name)
    if not chosen.live:
        raise Refused(
            f"'{chosen.agent}' is not running",
            f"knell resume {chosen.agent}",
            code=Code.NOT_RUNNING,
        )
    check_agents(world, caller(world), Deed.BEAT, [chosen.agent])
    return os.path.join(world.rundir(chosen.run), "heartbeat")
