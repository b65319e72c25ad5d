"""What happened while nobody looked: stalls, restarts, endings, tasks handed back, work rescued."""

from collections.abc import Callable
from typing import Any, NamedTuple

from knell.core.ports.store import Event
from knell.core.ports.world import World
from knell.life.base.take_in import take_in_journals

READ = 100_000  # events that are looked through, the newest ones


class Happened(NamedTuple):
    """One thing that happened to an agent."""

    at: str
    agent: str
    what: str


class Night(NamedTuple):
    """Everything since a time, by subject, the oldest first."""

    since: str
    until: str
    stalls: tuple[Happened, ...]
    restarts: tuple[Happened, ...]
    endings: tuple[Happened, ...]
    survivors: tuple[Happened, ...]
    tasks: tuple[Happened, ...]
    rescued: tuple[Happened, ...]
    running: int  # agents that live now
    complete: bool  # False: so much happened that the beginning is not shown

    @property
    def subjects(self) -> "dict[str, tuple[Happened, ...]]":
        return {name: value for name, value in self._asdict().items() if isinstance(value, tuple)}

    def to_json(self) -> dict[str, Any]:
        told = {name: [one._asdict() for one in found] for name, found in self.subjects.items()}
        return self._asdict() | told


def night(world: World, since: str) -> Night:
    """`since`: as the store writes times. Looks, and changes nothing."""
    live = take_in_journals(world)
    read = world.store.events.read(0, "", READ)
    events = [event for event in read if event.at >= since]
    ended = [event for event in events if event.type == "life.stopped"]
    return Night(
        since=since,
        until=world.now(),
        stalls=told(events, stall),
        restarts=told(events, restart),
        endings=told(ended, ending),
        survivors=told(events, survivor),
        tasks=tuple(one for event in ended for one in tasks_of(event)),
        rescued=tuple(one for event in ended for one in rescue_of(world, event)),
        running=len(live),
        complete=len(events) < READ,
    )


def told(events: list[Event], words: Callable[[Event], str]) -> tuple[Happened, ...]:
    found = [(event, words(event)) for event in events]
    return tuple(Happened(event.at, event.agent, what) for event, what in found if what)


def stall(event: Event) -> str:
    stalled = event.type == "watch.verdict" and event.data.get("activity") == "stalled"
    return f"stalled: {event.data.get('why', '')}" if stalled else ""


def restart(event: Event) -> str:
    kind, _, what = event.type.partition(".")
    return f"restart {what}: {event.data.get('why', '')}" if kind == "restart" else ""


def ending(event: Event) -> str:
    data = event.data
    return str(data.get("death") or f"{data.get('outcome')} by {data.get('by')}")


def survivor(event: Event) -> str:
    return (
        "could not be ended; its receipt names what is left" if event.type == "life.spared" else ""
    )


def tasks_of(event: Event) -> list[Happened]:
    found: list[Happened] = []
    for row in event.data.get("tasks") or ():
        if isinstance(row, dict) and {"id", "was", "now"} <= row.keys():
            what = f"task {row['id']}: {row['was']} → {row['now']}"
            found.append(Happened(event.at, event.agent, what))
    return found


def rescue_of(world: World, event: Event) -> list[Happened]:
    receipt = world.store.endings.receipt(event.run)
    if receipt is None or not receipt.cleaning.rescue:
        return []
    cleaning = receipt.cleaning
    what = f"work of {cleaning.worktree} saved: git stash apply {cleaning.rescue}"
    return [Happened(event.at, event.agent, what)]
