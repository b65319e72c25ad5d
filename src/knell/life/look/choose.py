"""Which agents the targets of `list` mean: the same words as for `kill`, ended agents too."""

from collections.abc import Iterable, Sequence

from knell.core.ports.world import World
from knell.life.base.targets import Crowd, Picture
from knell.life.look.list import AgentView, LastVerdict, last_activity, view_of


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
    ended. A name that nobody has is left out."""
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
