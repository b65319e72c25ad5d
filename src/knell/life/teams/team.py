"""Teams: made, shown, joined, left and dissolved; and what a leader may do to members."""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from knell.core.authority import Deed
from knell.core.codes import Code
from knell.core.ending_steps import Case
from knell.core.errors import BadRequest, NoSuchAgent, Refused
from knell.core.fleet.target import checked_far_agent, is_far
from knell.core.ports.store import NotLive
from knell.core.ports.teams import InAnotherTeam, NoSuchTeam
from knell.core.ports.world import World
from knell.core.run import Run
from knell.core.teams import Role, TaskStatus, Team, TeamMember, TeamTask, Topology, may
from knell.life.base.authority import check_agents, started_all
from knell.life.base.caller import Caller, asker, caller, refuse
from knell.life.base.take_in import take_in_journals
from knell.life.base.targets import Crowd, Picture
from knell.life.look.list import LastVerdict, last_activity, team_status

LONGEST_DESCRIPTION = 2000
UNSTARTED = "not started"


class Person(NamedTuple):
    state: str  # of its newest run, or: not started
    activity: str
    status: str  # in the contract's words
    open_tasks: int


class TeamView(NamedTuple):
    team: Team
    members: list[TeamMember]
    tasks: list[TeamTask]
    people: Mapping[str, Person] = {}  # by the member's name; empty unless `show` looked


def create(
    world: World,
    name: str,
    leader: str = "",
    topology: str = Topology.FLAT.value,
    description: str = "",
) -> TeamView:
    """A new team. An agent that makes one leads it, unless it names another leader; a team that a
    person makes without a leader is led by the operator."""
    take_in_journals(world)
    if len(description) > LONGEST_DESCRIPTION:
        raise BadRequest("the description is too long", f"at most {LONGEST_DESCRIPTION} characters")
    who = asker(world)
    past = world.store.teams.team(name)
    if who.runs and past and past.dissolved_at and past.leader != who.agent:
        why = f"team '{name}' was led by {past.leader or 'the operator'}: its tasks are not yours"
        refuse(world, who, why, "take another name", code=Code.ONLY_THE_LEADER)
    leader = agent_named(world, leader) if leader else who.agent
    if leader and leader != who.agent:
        check_agents(world, who, Deed.RECRUIT, [leader])
    seat = world.store.runs.seats().get(leader)
    if seat and seat.team != name:
        raise InAnotherTeam(leader, seat.team)
    world.store.teams.add(Team(name, leader, world.now(), topology, description))
    if leader:
        world.store.teams.join(name, leader, Role.LEADER, live_run_id(world, leader))
    return find_team(world, name)


def known_team(world: World, name: str) -> Team:
    team = world.store.teams.team(name)
    if team is None or team.dissolved_at:
        raise NoSuchTeam(name, world.store.teams.teams())
    return team


def find_team(world: World, name: str) -> TeamView:
    team, store = known_team(world, name), world.store
    return TeamView(team, store.teams.members(name), store.team_tasks.tasks(name))


def show(world: World, name: str) -> TeamView:
    take_in_journals(world)
    view = find_team(world, name)
    activity, leaving = last_activity(world), world.store.runs.leaving()
    people: dict[str, Person] = {}
    for member in view.members:
        run = world.store.runs.newest_of(member.agent)
        mine = (task for task in view.tasks if task.owner == member.agent)
        held = sum(task.status != TaskStatus.COMPLETED for task in mine)
        doing = activity.get(run.id, LastVerdict()).now if run and run.live else ""
        status = team_status(run, doing, leaving) if run and run.live else ""
        state = run.state.value if run else UNSTARTED
        people[member.agent] = Person(state, doing, status, held)
    return view._replace(people=people)


def teams(world: World) -> list[TeamView]:
    """Those that were not dissolved."""
    take_in_journals(world)
    return [find_team(world, t.name) for t in world.store.teams.teams() if not t.dissolved_at]


def add(world: World, team: str, agent: str, role: str = "") -> TeamMember:
    """An agent joins; only its leader and the operator add to a team."""
    take_in_journals(world)
    leader = check_leads(world, team, "add to it").leader
    if role and role not in set(Role):
        raise BadRequest(f"'{role}' is no role", f"use one of {', '.join(Role)}")
    name = agent_named(world, agent)
    check_agents(world, caller(world), Deed.RECRUIT, [starter_in(world, team, name)])
    if role == Role.LEADER and name != leader:
        why = f"team '{team}' is led by {leader or 'the operator'}"
        raise BadRequest(why, "a team has one leader")
    return world.store.teams.join(team, name, role or Role.WORKER, live_run_id(world, name))


def starter_in(world: World, team: str, agent: str) -> str:
    """The member of the team that started the agent, at any depth; the agent if none did. What a
    member started is for its leader to recruit."""
    members = [member.agent for member in world.store.teams.members(team)]
    return next((one for one in members if started_all(world, one, agent)), agent)


def remove(world: World, team: str, agent: str) -> TeamMember:
    """An agent leaves the team and lives on; its leader cannot be removed."""
    take_in_journals(world)
    leader = check_leads(world, team, "remove from it").leader
    name = agent_named(world, agent)
    if name == leader:
        why, hint = f"'{name}' leads team '{team}'", f"knell team dissolve {team}"
        raise Refused(why, hint, code=Code.LEADER_STAYS)
    members = [member.agent for member in world.store.teams.members(team)]
    left = world.store.teams.leave(name) if name in members else None
    if left is None:
        raise NoSuchAgent(name, tuple(members[:3]))
    return left


def dissolve(world: World, team: str) -> list[TeamMember]:
    """Dissolves the team; its agents live on. Returns who belonged to it."""
    take_in_journals(world)
    check_leads(world, team, "dissolve it")
    return world.store.teams.dissolve(team)


def dissolve_after(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (start_end_steps.py): dissolves the teams of leaders that have ended."""
    ended = {case.run.agent for case in cases}
    for team in world.store.teams.teams():
        if team.leader in ended and not team.dissolved_at:
            with suppress(NoSuchTeam):  # another process was faster
                world.store.teams.dissolve(team.name)
    return cases


# -- agents by their names -----------------------------------------------------------------------


def agent_named(world: World, name: str) -> str:
    """The name of the agent that is meant; name@host is not looked up: only that host knows."""
    if is_far(name):
        who = asker(world)
        if who.runs and who.agent != name:
            refuse(world, who, "only the operator names agents of other hosts", "ask the operator")
        return checked_far_agent(name)
    return Crowd(Picture(world)).only(name).agent


def live_run(world: World, agent: str) -> Run:
    """The agent's run, which must be alive."""
    run = world.store.runs.newest_of(agent)
    if run and run.live:
        return run
    raise NotLive(agent) if world.store.runs.agent(agent) else NoSuchAgent(agent)


def live_run_id(world: World, agent: str) -> str:
    """The id of the agent's live run; empty: it has none."""
    run = world.store.runs.newest_of(agent)
    return run.id if run and run.live else ""


def newest_run(world: World, agent: str) -> Run | None:
    """The newest run of an agent, by its name or a run's id, as it is on record."""
    return world.store.runs.newest_of(agent) or world.store.runs.run(agent)


def team_of(world: World, agent: str) -> str:
    """The team that it is a member of, or was until its end; empty: none."""
    member, record = world.store.teams.membership(agent), world.store.runs.agent(agent)
    return member.team if member else record.team if record else ""


# -- what a caller may do -------------------------------------------------------------------------


def leads(who: Caller, team: Team | None) -> bool:
    """Whether the caller leads the team; a caller without a name leads no team, not even one
    without a leader."""
    return bool(team and not team.dissolved_at and who.agent and who.agent == team.leader)


def check_leads(world: World, team: str, what: str) -> Team:
    """The team, if the asker leads it or is the operator."""
    found, who = known_team(world, team), asker(world)
    if who.runs and not leads(who, found):
        why = f"only the leader of team '{team}' may {what}"
        refuse(world, who, why, "ask the leader", code=Code.ONLY_THE_LEADER)
    return found


def check_spawn(world: World) -> None:
    """Refuses a member whose role forbids starting agents; for a team, `spawn` checks more."""
    who = caller(world)
    member = world.store.teams.membership(who.agent) if who.runs else None
    if member and not may(member.role, "spawn-agent"):
        why, hint = "Only the team leader can spawn agents", "ask the leader of the team"
        refuse(world, who, why, hint, code=Code.ONLY_THE_LEADER)
