"""Everything about one agent, its live processes among it."""

from typing import NamedTuple

from quell.core.agent import Agent
from quell.core.ports import World
from quell.core.process import Member
from quell.core.receipt import Receipt
from quell.core.run import Orphan, Run
from quell.life.before import others_alive, target_of
from quell.life.choose import Crowd
from quell.life.conversation import find_conversation
from quell.life.orphans import living_orphans
from quell.life.settle import settle
from quell.life.view import UNKNOWN, AgentView, last_activity, team_status, view_of


class Story(NamedTuple):
    view: AgentView
    agent: Agent
    runs: list[Run]
    members: list[Member]
    orphans: list[Orphan]
    receipt: Receipt | None
    resume: str
    why_not_resumable: str


def show(world: World, name: str) -> Story:
    settle(world)
    crowd = Crowd(world, targets=[name])
    chosen = crowd.only(name)
    agent = crowd.agents[chosen.agent]
    runs = world.store.runs_of(agent.name)
    conversation = find_conversation(world, agent)
    view = view_of(world, agent, runs[0], last_activity(world).get(runs[0].id, UNKNOWN))
    status = team_status(runs[0], view.activity, world.store.leaving())
    return Story(
        view=view._replace(team_status=status),
        agent=agent,
        runs=runs,
        members=members(world, runs[0]),
        orphans=[o for o in living_orphans(world, by_stamp=True) if o.agent == agent.name],
        receipt=world.store.receipt(runs[0].id),
        resume=conversation.resume,
        why_not_resumable=conversation.why,
    )


def members(world: World, run: Run) -> list[Member]:
    """The live processes of a run; none once it has ended."""
    if not run.live or run.host != world.host:
        return []
    return world.kernel.members(target_of(world, run), others_alive(world))
