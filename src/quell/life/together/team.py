"""Teams: made, shown, joined, left and dissolved."""

from collections.abc import Mapping
from typing import NamedTuple

from quell.core.agent import checked_name
from quell.core.errors import BadRequest, NoSuchAgent, Refused
from quell.core.ports import World
from quell.core.receipt import Receipt
from quell.core.team import Member, Role, Team, Topology
from quell.core.teamtask import Status, TeamTask
from quell.core.teamwork import InAnotherTeam, NoSuchTeam
from quell.life.caller import Caller, asker, refuse
from quell.life.choose import Crowd
from quell.life.settle import settle
from quell.life.view import UNKNOWN, last_activity, team_status

LONGEST_DESCRIPTION = 2000
UNSTARTED = "not started"


class TeamWish(NamedTuple):
    name: str
    leader: str = ""  # an agent; empty: the agent that asks, or nobody but the operator
    topology: str = Topology.FLAT.value
    description: str = ""


class Person(NamedTuple):
    """How a member is."""

    state: str  # of its run, or: not started
    activity: str
    status: str  # in the contract's words
    open_tasks: int


class TeamView(NamedTuple):
    team: Team
    members: list[Member]
    tasks: list[TeamTask]
    people: Mapping[str, Person] = {}  # by the member's name; only where somebody looked


def create(world: World, wish: TeamWish, who: Caller | None = None) -> TeamView:
    """A new team. An agent that makes one leads it, unless it names another leader."""
    settle(world)
    checked_name(wish.name, "team")
    if wish.topology not in set(Topology):
        raise BadRequest(f"'{wish.topology}' is no topology", f"use {' or '.join(Topology)}")
    if len(wish.description) > LONGEST_DESCRIPTION:
        raise BadRequest("the description is too long", f"at most {LONGEST_DESCRIPTION} characters")
    who = who or asker(world)
    leader = agent_named(world, wish.leader) if wish.leader else who.agent
    store = world.store.teamwork
    seat = world.store.seats().get(leader)
    if seat and seat.team != wish.name:
        raise InAnotherTeam(leader, seat.team)
    store.add_team(Team(wish.name, leader, world.now(), wish.topology, wish.description))
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
    """The team, and how each of its members is."""
    settle(world)
    view = shown(world, name)
    runs = {run.agent: run for run in world.store.live_runs()}
    activity, leaving = last_activity(world), world.store.leaving()
    people: dict[str, Person] = {}
    for member in view.members:
        run = runs.get(member.agent)
        held = [t for t in view.tasks if t.owner == member.agent and t.status != Status.COMPLETED]
        told = activity.get(run.id, UNKNOWN) if run else ""
        status = team_status(run, told, leaving) if run else ""
        people[member.agent] = Person(
            run.state.value if run else UNSTARTED, told, status, len(held)
        )
    return view._replace(people=people)


def teams(world: World) -> list[TeamView]:
    """Those that were not dissolved."""
    settle(world)
    found = [team for team in world.store.teamwork.teams() if not team.dissolved_at]
    return [shown(world, team.name) for team in found]


def add(world: World, team: str, agent: str, role: str = "", who: Caller | None = None) -> Member:
    """An agent joins; only its leader and the operator add to a team."""
    settle(world)
    view = check_leads(world, team, "add to it", who)
    if role and role not in set(Role):
        raise BadRequest(f"'{role}' is no role", f"use one of {', '.join(Role)}")
    name = agent_named(world, agent)
    if role == Role.LEADER and name != view.team.leader:
        leader = view.team.leader or "the operator"
        raise BadRequest(f"team '{team}' is led by {leader}", "a team has one leader")
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


def dissolve_after(world: World, led: Mapping[str, str], receipts: Mapping[str, Receipt]) -> None:
    """The teams of leaders who are gone; `led` and `receipts` by run. Who survived still leads."""
    for run, team in led.items():
        if run in receipts and not receipts[run].survivors:
            try:
                world.store.teamwork.dissolve(team)
            except NoSuchTeam:
                continue  # somebody was faster


def leads(who: Caller, team: Team) -> bool:
    """Nobody's missing name makes a leader of a team that has none."""
    return bool(who.agent) and who.agent == team.leader


def check_leads(world: World, team: str, what: str, who: Caller | None) -> TeamView:
    """The team, if the asker leads it or is the operator."""
    view = shown(world, team)
    who = who or asker(world)
    if who.runs and not leads(who, view.team):
        refuse(world, who, f"only the leader of team '{team}' may {what}", "ask the leader")
    return view


def check_takes_in(world: World, team: str) -> None:
    """Whoever starts a member of a team leads it or is the operator; a team that nobody made is
    only a word to select by."""
    known = world.store.teamwork.team(team)
    if known is None or known.dissolved_at:
        return
    who = asker(world)
    if who.runs and not leads(who, known):
        refuse(world, who, "Only the team leader can spawn agents", f"leave out --team {team}")


def agent_named(world: World, name: str) -> str:
    return Crowd(world).only(name).agent


def live_run(world: World, agent: str) -> str:
    return next((run.id for run in world.store.live_runs() if run.agent == agent), "")
