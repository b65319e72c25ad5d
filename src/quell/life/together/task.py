"""The work of a team: added, claimed, done, given back."""

from typing import NamedTuple

from quell.core.agent import checked_name
from quell.core.errors import BadRequest, Refused
from quell.core.ports import World
from quell.core.team import Role, Topology, may
from quell.core.teamtask import Priority, TeamTask
from quell.core.teamwork import NoSuchTask
from quell.life.caller import Caller, asker, refuse
from quell.life.settle import settle
from quell.life.together.team import agent_named, check_leads, leads, live_run, shown

LONGEST_TITLE = 500


class TaskWish(NamedTuple):
    team: str
    title: str
    id: str = ""  # empty: TASK-1, TASK-2, …
    description: str = ""
    priority: str = Priority.NORMAL.value
    needs: tuple[str, ...] = ()


class Claimed(NamedTuple):
    task: TeamTask
    warnings: tuple[str, ...]  # what it should wait for


def add(world: World, wish: TaskWish, who: Caller | None = None) -> TeamTask:
    """A new task. Any member may add one; what it needs must be there, and close no circle."""
    settle(world)
    shown(world, wish.team)
    _check_member(world, wish.team, who or asker(world))
    title = wish.title.strip()
    if not title or len(title) > LONGEST_TITLE:
        raise BadRequest(
            f"a title has 1 to {LONGEST_TITLE} characters", "put more in --description"
        )
    if wish.priority not in set(Priority):
        raise BadRequest(f"'{wish.priority}' is no priority", f"use one of {', '.join(Priority)}")
    named = checked_name(wish.id, "task") if wish.id else ""
    task = TeamTask(named, wish.team, title, wish.description, wish.priority, needs=wish.needs)
    return world.store.teamwork.add_task(task)


def tasks(world: World, team: str = "", status: str = "", owner: str = "") -> list[TeamTask]:
    """By priority, then age."""
    settle(world)
    if team:
        shown(world, team)
    return world.store.teamwork.tasks(team, status, owner)


def show(world: World, task: str) -> TeamTask:
    settle(world)
    found = world.store.teamwork.task(task)
    if found is None:
        raise NoSuchTask(task)
    return found


def claim(world: World, task: str, agent: str = "", who: Caller | None = None) -> Claimed:
    """Takes a pending task for the agent that asks, or, by who hands tasks out, for another."""
    found = show(world, task)
    who = who or asker(world)
    team = shown(world, found.team).team
    name = _for_whom(world, who, found, agent)
    seat = world.store.seats().get(name)
    if seat is None or seat.team != team.name:
        hint = f"quell team add {team.name} {name}"
        raise Refused(f"'{name}' is not in team '{team.name}'", hint)
    if not may(seat.role, "claim-task"):
        refuse(world, who, "the leader hands tasks out and claims none", "name a member")
    if team.topology == Topology.HIERARCHICAL and not _hands_out(world, who, team.name):
        refuse(world, who, f"team '{team.name}' is hierarchical", "its leader hands tasks out")
    run = who.run if name == who.agent else live_run(world, name)
    claimed = world.store.teamwork.claim_task(task, name, run)
    return Claimed(claimed, tuple(f"task '{need}' is not done yet" for need in claimed.needs))


def _hands_out(world: World, who: Caller, team: str) -> bool:
    """The operator, the leader and task managers give tasks to others."""
    seat = world.store.seats().get(who.agent)
    given = (Role.LEADER, Role.TASK_MANAGER)
    return not who.runs or (seat is not None and seat.team == team and seat.role in given)


def done(world: World, task: str, token: int | None = None, who: Caller | None = None) -> TeamTask:
    """Completed, by its owner in the life that claimed it; an older claim is refused."""
    found = show(world, task)
    who = who or asker(world)
    return world.store.teamwork.complete_task(
        task, _owner(world, who, found), _token(found, who, token)
    )


def release(
    world: World, task: str, token: int | None = None, who: Caller | None = None
) -> TeamTask:
    """Given back: pending again, for anybody."""
    found = show(world, task)
    who = who or asker(world)
    return world.store.teamwork.release_task(
        task, _owner(world, who, found), _token(found, who, token)
    )


def delete(world: World, task: str, who: Caller | None = None) -> None:
    """Gone, unless another needs it; by the leader or the operator."""
    check_leads(world, show(world, task).team, "delete its tasks", who)
    world.store.teamwork.delete_task(task)


def _for_whom(world: World, who: Caller, task: TeamTask, agent: str) -> str:
    if not agent:
        if not who.agent:
            raise BadRequest("who claims it?", f"quell task claim {task.id} --for NAME")
        return who.agent
    name = agent_named(world, agent)
    if name != who.agent and not _hands_out(world, who, task.team):
        why = f"'{who.agent}' hands out no tasks of team '{task.team}'"
        refuse(world, who, why, "claim for yourself, or ask its leader")
    return name


def _owner(world: World, who: Caller, task: TeamTask) -> str:
    """The asker; leader and operator act for the owner."""
    if not who.runs or leads(who, shown(world, task.team).team):
        return task.owner
    return who.agent


def _token(task: TeamTask, who: Caller, token: int | None) -> int:
    """As given. Without one, the life that asks must be the one that claimed."""
    if token is not None:
        return token
    if who.runs and task.owner == who.agent and task.owner_run != who.run:
        return -1  # an earlier life's claim: the store refuses it by name
    return task.token


def _check_member(world: World, team: str, who: Caller) -> None:
    seat = world.store.seats().get(who.agent)
    if who.runs and (seat is None or seat.team != team):
        refuse(world, who, f"'{who.agent}' is not in team '{team}'", "ask its leader to add you")
