"""Which agents are meant: by `list`, with the same words as for `kill`; and by `resume`, which
brings back what the last `kill` or `stop` ended, a group, or a conversation."""

from collections.abc import Iterable, Sequence

from knell.core.codes import Code
from knell.core.errors import Refused
from knell.core.ports.store import Event
from knell.core.ports.world import World
from knell.life.base.targets import Crowd, Picture
from knell.life.look.list import AgentView, LastVerdict, last_activity, view_of

READ = 20_000  # events that are looked through, the newest ones
CLAIMED = "life.stopping"


def names_meant(world: World, targets: Sequence[str], *, with_ended: bool) -> frozenset[str]:
    """The agents that live, or were named; `with_ended`: also those of a group that have ended."""
    crowd = Crowd(Picture(world), targets=targets)
    chosen = [crowd.choose(target) for target in targets]
    names = {one.agent for each in chosen for one in each.candidates}
    if with_ended:
        names |= {one.agent for each in chosen for one in each.ended}
    return frozenset(names)


def views_of(world: World, names: Iterable[str]) -> list[AgentView]:
    """The rows of these agents, live or ended; of no other, because a hundred thousand may have
    ended. A name that no agent has is left out."""
    picture = Picture(world)
    live = {run.agent: run for run in picture.live}
    judged, leaving = last_activity(world), world.store.runs.leaving()
    found: list[AgentView] = []
    for name in names:
        agent = picture.agent(name)
        run = live.get(name) or world.store.runs.newest_of(name)
        if agent and run:
            last = judged.get(run.id, LastVerdict())
            found.append(view_of(world, agent, run, last, leaving=leaving, seen=picture.seen))
    return found


# -- of resume -----------------------------------------------------------------------------------


def last_ended(world: World) -> list[str]:
    """The agents of the newest ending that was asked for and not the watch's own, oldest first;
    without those that run again. All claims of one request are one transaction, so that their
    events follow each other."""
    Picture(world)  # takes in what keepers have written
    batch: list[Event] = []
    for event in reversed(world.store.events.read(0, "", READ)):
        if batch and not _belongs(event, batch[-1]):
            break
        if batch or _is_asked_for(event):
            batch.append(event)
    if not batch:
        why = "no kill or stop is on record"
        raise Refused(why, "name an agent: knell list --ended", code=Code.NEVER_ENDED)
    newest = [world.store.runs.newest_of(event.agent) for event in reversed(batch)]
    return [run.agent for run in newest if run and not run.live]


def _is_asked_for(event: Event) -> bool:
    """Not by the watch, and not because a start came to nothing."""
    by, reason = event.data.get("by"), event.data.get("reason")
    return event.type == CLAIMED and by != "watch" and reason != "not_started"


def _belongs(event: Event, before: Event) -> bool:
    """Whether it was claimed by the same process in the same transaction."""
    same = event.data.get("owner") == before.data.get("owner")
    return event.type == CLAIMED and event.id == before.id - 1 and same


def to_bring_back(world: World, target: str) -> list[str]:
    """The ended agents of a group; one that lives is left alone."""
    chosen = Crowd(Picture(world)).choose(target)
    live = {one.agent for one in chosen.candidates if one.live}
    names = [one.agent for one in (*chosen.ended, *chosen.candidates) if one.agent not in live]
    if not names:
        why = f"no agent of '{target}' has ended"
        raise Refused(why, "knell list --ended", code=Code.GROUP_NOT_FOUND)
    return list(dict.fromkeys(names))


def agent_of_conversation(world: World, id: str) -> str:
    """The agent whose conversation has this id; empty if none has."""
    found = [agent.name for agent in world.store.runs.agents() if agent.conversation == id]
    return found[-1] if found else ""
