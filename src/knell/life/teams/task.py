"""A team's tasks: adds, claims, completes, gives back and deletes them."""

from typing import NamedTuple

from knell.core.agent import checked_name
from knell.core.codes import Code, Notice
from knell.core.errors import BadRequest, Refused
from knell.core.ports.teams import NoSuchTask
from knell.core.ports.world import World
from knell.core.teams import Role, TeamTask, Topology, may
from knell.life.base.caller import Caller, asker, refuse
from knell.life.base.take_in import take_in_journals
from knell.life.teams.team import agent_named, check_leads, known_team, leads, live_run_id


class Claimed(NamedTuple):
    task: TeamTask
    warnings: tuple[Notice, ...]  # tasks that should be done first


def add(world: World, task: TeamTask) -> TeamTask:
    """A new task; without an id it becomes TASK-1, TASK-2, …. Any member may add one; its needs
    must be tasks that are there, and form no cycle."""
    take_in_journals(world)
    known_team(world, task.team)
    who = asker(world)
    seat = world.store.runs.seats().get(who.agent)
    if who.runs and (seat is None or seat.team != task.team):
        why = f"'{who.agent}' is not in team '{task.team}'"
        refuse(world, who, why, "ask its leader to add you")
    if task.id:
        checked_name(task.id, "task")
    return world.store.team_tasks.add(task._replace(title=task.title.strip()))


def tasks(world: World, team: str = "", status: str = "", owner: str = "") -> list[TeamTask]:
    """By priority, then age."""
    take_in_journals(world)
    if team:
        known_team(world, team)
    return world.store.team_tasks.tasks(team, status, owner)


def show(world: World, task: str) -> TeamTask:
    take_in_journals(world)
    found = world.store.team_tasks.task(task)
    if found is None:
        raise NoSuchTask(task)
    return found


def claim(world: World, task: str, agent: str = "") -> Claimed:
    """Takes a pending task for the calling agent, or for another if the caller hands out tasks."""
    found = show(world, task)
    who = asker(world)
    team = known_team(world, found.team)
    name = _claimant(world, who, found, agent)
    seat = world.store.runs.seats().get(name)
    if seat is None or seat.team != team.name:
        hint = f"knell team add {team.name} {name}"
        raise Refused(f"'{name}' is not in team '{team.name}'", hint, code=Code.NOT_IN_TEAM)
    if not may(seat.role, "claim-task"):
        refuse(world, who, "the leader hands tasks out and claims none", "name a member")
    if team.topology == Topology.HIERARCHICAL and not _hands_out(world, who, team.name):
        refuse(world, who, f"team '{team.name}' is hierarchical", "its leader hands tasks out")
    run = who.run if name == who.agent else live_run_id(world, name)
    claimed = world.store.team_tasks.claim(task, name, run)
    unmet = (f"task '{need}' is not done yet" for need in claimed.needs)
    return Claimed(claimed, tuple(Notice(Code.TASK_NOT_READY, why) for why in unmet))


def _claimant(world: World, who: Caller, task: TeamTask, agent: str) -> str:
    if not agent and not who.agent:
        raise BadRequest("no agent given to claim it", f"knell task claim {task.id} --for NAME")
    name = agent_named(world, agent) if agent else who.agent
    if name != who.agent and not _hands_out(world, who, task.team):
        why = f"'{who.agent}' hands out no tasks of team '{task.team}'"
        refuse(world, who, why, "claim for yourself, or ask its leader")
    return name


def _hands_out(world: World, who: Caller, team: str) -> bool:
    """The operator, the leader and task managers give tasks to others."""
    seat = world.store.runs.seats().get(who.agent)
    given = (Role.LEADER, Role.TASK_MANAGER)
    return not who.runs or (seat is not None and seat.team == team and seat.role in given)


def complete(world: World, task: str, token: int | None = None) -> TeamTask:
    """Completes the task. Its owner must be in the run that claimed it."""
    return world.store.team_tasks.complete(task, *_owner_and_token(world, task, token))


def release(world: World, task: str, token: int | None = None, *, anyway: bool = False) -> TeamTask:
    """Gives the task back: it is pending again, for every member. What an agent of another host
    holds is given back by that agent, by its end, or `anyway`."""
    owner = show(world, task).owner
    if "@" in owner and not anyway and asker(world).agent != owner:
        why = f"'{owner}' may still be working on task {task}: nothing was heard of its end"
        hint = f"if you know that it does not: knell task release {task} --anyway"
        raise Refused(why, hint, code=Code.NEEDS_YES)
    return world.store.team_tasks.release(task, *_owner_and_token(world, task, token))


def take_back(world: World, task: str, token: int) -> bool:
    """Frees a task that an ended agent of another host held, if that claim still holds; for the
    leader and the operator."""
    check_leads(world, show(world, task).team, "take its tasks back")
    return world.store.team_tasks.take_back(task, token)


def _owner_and_token(world: World, task: str, token: int | None) -> tuple[str, int]:
    """For whom the caller acts, and the number of the claim: the leader and the operator act for
    the owner. Without a token, the calling run must be the one that claimed."""
    found = show(world, task)
    who = asker(world)
    acts_for_owner = not who.runs or leads(who, known_team(world, found.team))
    if token is None and who.runs and found.owner == who.agent and found.owner_run != who.run:
        token = -1  # the claim of an earlier run: the store refuses it
    return found.owner if acts_for_owner else who.agent, found.token if token is None else token


def delete(world: World, task: str) -> None:
    """Deletes the task, unless another needs it; for the leader and the operator."""
    check_leads(world, show(world, task).team, "delete its tasks")
    world.store.team_tasks.delete(task)
