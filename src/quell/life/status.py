"""The state of the whole house at a glance."""

from typing import NamedTuple

from quell.core.lifecycle import State
from quell.core.ports import World
from quell.core.process import Alive
from quell.core.run import Orphan
from quell.life.orphans import living_orphans
from quell.life.view import AgentView, list_agents


class Status(NamedTuple):
    host: str
    home: str
    states: dict[str, int]
    outcomes: dict[str, int]
    agents: list[AgentView]
    orphans: list[Orphan]
    interrupted: list[str]
    watcher: str  # "PID 41, last round at …"; empty: nobody watches


def status(world: World) -> Status:
    live = list_agents(world)
    outcomes = world.store.outcomes()  # counted there: the ended may be a hundred thousand
    states: dict[str, int] = {}
    for view in live:
        states[view.state] = states.get(view.state, 0) + 1
    if outcomes:
        states[State.ENDED.value] = sum(outcomes.values())
    return Status(
        host=world.host,
        home=world.home,
        states=states,
        outcomes=outcomes,
        agents=live,
        orphans=living_orphans(world, by_stamp=True),
        interrupted=[view.name for view in live if "interrupted" in view.note],
        watcher=watcher(world),
    )


def watcher(world: World) -> str:
    found = world.store.watcher(world.host)
    if not found or not found.process or not isinstance(world.kernel.look(found.process), Alive):
        return ""
    return f"PID {found.process.pid}, last round at {found.round_at[:19]}Z"
