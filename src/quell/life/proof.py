"""Finds the receipt that a person means."""

from quell.core.errors import NoSuchAgent, Refused
from quell.core.ports import World
from quell.core.receipt import Receipt
from quell.life.choose import Crowd
from quell.life.settle import settle


def newest_receipt(world: World, name: str) -> Receipt:
    """By agent or by run id; an agent that has never ended has none."""
    settle(world)
    by_run = world.store.receipt(name.removeprefix("id:"))
    if by_run is not None:
        return by_run
    crowd = Crowd(world, targets=[name])
    agent = crowd.only(name).agent
    if agent not in crowd.agents:
        raise NoSuchAgent(name)
    found = world.store.last_receipt(agent)
    if found is not None:
        return found
    raise Refused(f"'{agent}' has never ended, so there is no receipt", f"quell show {agent}")
