"""What the MCP tools agent-status, list-agents and heartbeat answer about an agent of a team."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from knell.core.authority import Deed
from knell.core.codes import Code
from knell.core.errors import NoSuchAgent, Refused
from knell.core.ports.teams import NoSuchTeam
from knell.core.ports.world import World
from knell.core.run import Outcome, Run
from knell.core.shutdown import ShutdownRequest
from knell.core.teams import TeamMember, TeamTask
from knell.life.base.authority import check_agents
from knell.life.base.caller import caller
from knell.life.base.take_in import take_in_journals
from knell.life.base.touch_heartbeat import beat
from knell.life.look.list import AgentView, list_agents
from knell.life.teams.team import newest_run, team_of

HEALTHY = 60.0  # seconds: the contract's heartbeat deadline
TERMINATED = "Cannot heartbeat for terminated agent"
INACTIVE = "Agent is inactive. Requires re-spawn."


class AgentStatus(NamedTuple):
    run: Run
    view: AgentView  # its line of `list`
    member: TeamMember | None  # of its team
    tasks: list[TeamTask]  # that it owns
    request: ShutdownRequest | None  # the newest request to leave that this run got


def agent_status(world: World, agent: str) -> AgentStatus:
    run = known_run(world, agent)
    store = world.store
    requests = (one for one in store.shutdowns.of(run.agent) if one.run == run.id)
    return AgentStatus(
        run=run,
        view=view_of_run(world, run),
        member=store.teams.membership(run.agent),
        tasks=store.team_tasks.tasks(owner=run.agent),
        request=next(requests, None),
    )


def known_run(world: World, agent: str) -> Run:
    """The newest run of an agent, by its name or a run's id, as it is now."""
    take_in_journals(world)
    found = newest_run(world, agent)
    if found is None:
        raise NoSuchAgent(agent)
    return found


def view_of_run(world: World, run: Run) -> AgentView:
    """That run's line of `list`."""
    views = list_agents(world, with_ended=not run.live)
    found = next((view for view in views if view.run == run.id), None)
    if found is None:
        raise NoSuchAgent(run.agent)
    return found


def agents_of_team(world: World, team: str, *, with_ended: bool) -> list[AgentView]:
    """The lines of `list` for a team: its members, and who was started with its name."""
    if world.store.teams.team(team) is None:
        raise NoSuchTeam(team)
    members = {member.agent for member in world.store.teams.members(team)}
    views = list_agents(world, with_ended=with_ended)
    return [view for view in views if view.name in members or view.team == team]


class Heartbeat(NamedTuple):
    at: str
    next_deadline: str
    status: str  # in the words that team tools use


def report_heartbeat(
    world: World, agent: str, team: str = "", status: str = "active",
    metadata: Mapping[str, Any] | None = None,
) -> Heartbeat:  # fmt: skip
    """A sign of life of the caller itself: no other agent can give it, only the operator."""
    run = known_run(world, agent)
    if team and team_of(world, run.agent) != team:
        raise NoSuchAgent(agent)
    check_agents(world, caller(world), Deed.BEAT, [run.agent])
    if not run.live:
        lost = run.ending is not None and run.ending.outcome is Outcome.LOST
        why = INACTIVE if lost else TERMINATED
        raise Refused(why, f"knell resume {run.agent}", code=Code.NOT_RUNNING)
    beat(world, run.agent)
    known = view_of_run(world, run).team_status
    if metadata:
        facts = {"status": status, "metadata": metadata}
        world.store.events.record("agent.heartbeat", run.agent, run.id, facts)
    now = world.seconds()
    return Heartbeat(
        at=world.moment(now),
        next_deadline=world.moment(now + HEALTHY),
        status=status if known in ("active", "idle", "inactive") else known,
    )
