"""Stops agents whose host was cut off from its fleet for longer than they were allowed to be."""

from knell.core.authority import Caller
from knell.core.ports.world import World
from knell.core.stop_plan import StopOptions
from knell.life.end.stop import StopWish, stop

REASON = "cut_off"


def stop_cut_off(world: World, by: str) -> None:
    """By the clock that counts sleep too, and that nobody can set."""
    link = world.store.fleet.link()
    if link is None:
        return
    agents = {one.name: one.cut_off_after for one in world.store.runs.live_agents()}
    if not any(agents.values()):
        return
    clock = world.clock()
    away = clock.up - (link.contact_up if link.contact_boot == clock.boot else 0.0)
    for run in world.store.runs.live():
        allowed = agents.get(run.agent, 0)
        started = world.moment(clock.wall - allowed)
        if run.host == world.host and 0 < allowed < away and run.started_at < started:
            wish = StopWish((run.agent,), StopOptions(reason=REASON), yes=True)
            stop(world, wish, Caller(by))
