"""Teams: made, shown, joined, left and dissolved."""

from typing import NamedTuple

from quell.core.agent import checked_name
from quell.core.errors import BadRequest, NoSuchAgent, Refused
from quell.core.ports import World
from quell.core.team import Member, Role, Team, Topology
from quell.core.teamtask import TeamTask
from quell.core.teamwork import NoSuchTeam
from quell.life.caller import Caller, caller, refuse
from quell.life.choose import Crowd
from quell.life.settle import settle

LONGEST_DESCRIPTION = 2000


class TeamWish(NamedTuple):
    name: str
    leader: str = ""  # an agent; empty: the agent that asks, or nobody but the operator
    topology: str = Topology.FLAT.value
    description: str = ""


class TeamView(NamedTuple):
    team: Team
    members: list[Member]
    tasks: list[TeamTask]


def create(world: World, wish: TeamWish, who: Caller | None = None) -> TeamView:
    """A new team. An agent that makes one leads it, unless it names another leader."""
    settle(world)
    checked_name(wish.name, "team")
    if wish.topology not in set(Topology):
        raise BadRequest(f"'{wish.topology}' is no topology", f"use {' or '.join(Topology)}")
    if len(wish.description) > LONGEST_DESCRIPTION:
        raise BadRequest("the description is too long", f"at most {LONGEST_DESCRIPTION} characters")
    who = who or caller(world)
    leader = agent_named(world, wish.leader) if wish.leader else who.agent
    store = world.store.teamwork
    team = Team(wish.name, leader, world.now(), wish.topology, wish.description)
    store.add_team(team)
    if leader:
        store.join(wish.name, leader, Role.LEADER, live_run(world, leader))
    return shown(world, wish.name)


def shown(world: World, name: str) -> TeamView:
    store = world.store.teamwork
    team = store.team(name)
    if team is None or team.dissolved_at:
        raise NoSuchTeam(name)
    return TeamView(team, store.members(name), store.tasks(name))


def show(world: World, name: str) -> TeamView:
    settle(world)
    return shown(world, name)


def teams(world: World) -> list[TeamView]:
    """Those that were not dissolved."""
    settle(world)
    found = [team for team in world.store.teamwork.teams() if not team.dissolved_at]
    return [shown(world, team.name) for team in found]


def add(world: World, team: str, agent: str, role: str = "", who: Caller | None = None) -> Member:
    """An agent joins; only its leader and the operator add to a team."""
    settle(world)
    check_leads(world, team, "add to it", who)
    if role and role not in set(Role):
        raise BadRequest(f"'{role}' is no role", f"use one of {', '.join(Role)}")
    name = agent_named(world, agent)
    return world.store.teamwork.join(team, name, role or Role.WORKER, live_run(world, name))


def remove(world: World, team: str, agent: str, who: Caller | None = None) -> Member:
    """An agent leaves the team and lives on; its leader cannot be removed."""
    settle(world)
    view = check_leads(world, team, "remove from it", who)
    name = agent_named(world, agent)
    if name == view.team.leader:
        raise Refused(f"'{name}' leads team '{team}'", f"quell team dissolve {team}")
    if name not in {member.agent for member in view.members}:
        raise NoSuchAgent(name, tuple(m.agent for m in view.members)[:3])
    left = world.store.teamwork.leave(name)
    if left is None:
        raise NoSuchAgent(name)
    return left


def dissolve(world: World, team: str, who: Caller | None = None) -> list[Member]:
    """The team is no more; its agents live on. Who belonged to it until now."""
    settle(world)
    check_leads(world, team, "dissolve it", who)
    return world.store.teamwork.dissolve(team)


def check_leads(world: World, team: str, what: str, who: Caller | None) -> TeamView:
    """The team, if the asker leads it or is the operator."""
    view = shown(world, team)
    who = who or caller(world)
    if who.runs and who.agent != view.team.leader:
        refuse(world, who, f"only the leader of team '{team}' may {what}", "ask the leader")
    return view


def agent_named(world: World, name: str) -> str:
    return Crowd(world).only(name).agent


def live_run(world: World, agent: str) -> str:
    return next((run.id for run in world.store.live_runs() if run.agent == agent), "")
