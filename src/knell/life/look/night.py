"""What happened since a time: stalls, restarts, endings, tasks handed back, work rescued."""

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
    found: dict[str, Any] = {name: [] for name in ("stalls", "restarts", "endings", "survivors")}
    for event in events:
        subject, what = subject_and_words(event)
        if subject:
            found[subject].append(Happened(event.at, event.agent, what))
    return Night(
        since=since,
        until=world.now(),
        **{name: tuple(happened) for name, happened in found.items()},
        tasks=tuple(one for event in ended for one in tasks_of(event)),
        rescued=tuple(one for event in ended for one in rescue_of(world, event)),
        running=len(live),
        complete=len(events) < READ,
    )


def subject_and_words(event: Event) -> tuple[str, str]:
    """The subject of a night that the event belongs to, and its words there; nothing for most."""
    data, why = event.data, event.data.get("why", "")
    room, _, what = event.type.partition(".")
    if event.type == "watch.verdict" and data.get("activity") == "stalled":
        return "stalls", f"stalled: {why}"
    if room == "restart":
        return "restarts", f"restart {what}: {why}"
    if event.type == "life.stopped":
        return "endings", str(data.get("death") or f"{data.get('outcome')} by {data.get('by')}")
    if event.type == "life.spared":
        return "survivors", "could not be ended; its receipt names what is left"
    return "", ""


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
    what = f"work of {cleaning.worktree} saved: {cleaning.way_back(receipt.agent)}"
    return [Happened(event.at, event.agent, what)]
