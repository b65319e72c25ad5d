"""The audit trail: what happened to which agent or task, in the order of its writing."""

from collections.abc import Iterator
from typing import NamedTuple

from knell.core.errors import NoSuchAgent
from knell.core.ports.store import Event
from knell.core.ports.world import World
from knell.life.base.take_in import take_in_journals

READ = 20_000  # events that are looked through for the history of tasks, the newest ones


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


class TaskStep(NamedTuple):
    at: str
    what: str  # claimed, completed, released, reassigned, …
    agent: str
    now: str  # its status from then on


def task_history(world: World) -> dict[str, list[TaskStep]]:
    """Who claimed a task, gave it back or completed it."""
    found: dict[str, list[TaskStep]] = {}
    for event in world.store.events.read(0, "", READ):
        subject, _, what = event.type.partition(".")
        task = event.data.get("task")
        if subject == "task" and isinstance(task, str):
            step = TaskStep(event.at, what, event.agent, str(event.data.get("now", "")))
            found.setdefault(task, []).append(step)
    return found
