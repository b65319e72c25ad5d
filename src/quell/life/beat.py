"""One sign of life: the cheap way for agents that have no hooks."""

import os

from quell.core.errors import Refused
from quell.core.ports import World
from quell.life.caller import caller
from quell.life.choose import Crowd


def beat(world: World, name: str = "") -> str:
    """Touches the heartbeat of the named agent, or of the one that asks; returns the file."""
    path = _named(world, name) if name else _mine(world)
    trouble = world.disk.touch(path)
    if trouble:
        raise Refused(
            f"cannot beat: {path}: {trouble}", "quell doctor looks at the state directory"
        )
    return path


def _mine(world: World) -> str:
    """By the variable where it is set: that needs no store, and agents may beat often."""
    told = world.env.get("QUELL_HEARTBEAT", "")
    run = os.path.basename(os.path.dirname(told))
    if told and told == os.path.join(world.rundir(run), "heartbeat"):
        return told
    asking = caller(world).run
    if not asking:
        raise Refused("this is not inside an agent", "name the agent that lives: quell beat NAME")
    return os.path.join(world.rundir(asking), "heartbeat")


def _named(world: World, name: str) -> str:
    chosen = Crowd(world, targets=[name]).only(name)
    if not chosen.live:
        raise Refused(f"'{chosen.agent}' is not running", f"quell resume {chosen.agent}")
    return os.path.join(world.rundir(chosen.run), "heartbeat")
