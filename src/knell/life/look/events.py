"""The audit trail: what happened to which agent, in the order in which it was written down."""

from collections.abc import Iterator

from knell.core.errors import NoSuchAgent
from knell.core.ports.store import Event
from knell.core.ports.world import World
from knell.life.base.take_in import take_in_journals


def events(world: World, *, after: int = 0, agent: str = "", limit: int = 50) -> list[Event]:
    """The last `limit` events, oldest first; with `after`, the next ones behind that number."""
    take_in_journals(world)
    found = world.store.events.read(after, agent, limit)
    if agent and not found and world.store.runs.agent(agent) is None:
        raise NoSuchAgent(agent)
    return found


def follow(world: World, *, agent: str, every: float, after: int) -> Iterator[Event]:
    """Every event behind number `after`, or from now on, as it is written; never ends."""
    last = after or max((event.id for event in events(world, limit=1)), default=0)
    while True:
        for event in events(world, after=last, agent=agent, limit=1000):
            last = event.id
            yield event
        world.wait([], every)
