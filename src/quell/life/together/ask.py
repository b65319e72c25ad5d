"""Asks an agent to leave: requested → approved → confirmed, or rejected, or force_killed.

core/shutdown.py has the table. Nobody has to wait for the answer: whoever takes it in ends the run
(answering.py), or else the watch does (seeing.py).
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from quell.core import ladder as ladders
from quell.core.agent import Agent
from quell.core.errors import BadRequest, NoSuchAgent, Refused
from quell.core.ladder import checked_wait
from quell.core.lifecycle import Outcome
from quell.core.message import Letter, Message
from quell.core.ports import World
from quell.core.receipt import Receipt
from quell.core.run import Ending, Run
from quell.core.shutdown import Move, Overdue, Phase, Request, is_open
from quell.core.team import Role
from quell.core.teamwork import NoSuchRequest, NotLive
from quell.life.authority import check_authority
from quell.life.before import Way
from quell.life.caller import Caller, asker, refuse
from quell.life.ending import end_runs
from quell.life.settle import settle

FORCED = "force_killed"
GLANCE = 0.1  # seconds between two looks at what came of a request
LONGEST_REASON = 2000


class InShutdown(Refused):
    def __init__(self, request: Request) -> None:
        super().__init__(
            "Agent already in shutdown. Use force=true to override.",
            f"it was asked at {request.requested_at}",
        )
        self.request = request


class AskWish(NamedTuple):
    agent: str
    team: str = ""
    reason: str = ""
    deadline: float | None = None  # seconds; 0: for ever; None: as configured
    overdue: str = Overdue.FORCE.value  # what the watch does then: force, or report


class Answered(NamedTuple):
    request: Request
    receipt: Receipt | None  # of the run, if it was ended right here
    letters: tuple[Message, ...] = ()  # what the asker was told


# -- asking ------------------------------------------------------------------------------------


def ask(world: World, wish: AskWish, who: Caller | None = None) -> Request:
    """Puts the question into the agent's inbox; from now on it is shutting down."""
    settle(world)
    who = who or asker(world)
    if wish.overdue not in set(Overdue):
        raise BadRequest(f"'{wish.overdue}' is no policy", f"use {' or '.join(Overdue)}")
    if len(wish.reason) > LONGEST_REASON:
        raise BadRequest(f"a reason has at most {LONGEST_REASON} characters", "send a letter")
    wait = world.settings.shutdown_wait if wish.deadline is None else checked_wait(wish.deadline)
    _, run = living(world, wish.agent)
    # Asking ends nobody who says no; only what becomes of silence needs the right to end.
    check_authority(world, [run], who, told_twice=not wait or wish.overdue == Overdue.REPORT)
    request = requested(world, who, run, wish.reason)._replace(
        deadline_at=world.moment(world.seconds() + wait) if wait else "", overdue=wish.overdue
    )
    asked = world.store.teamwork.ask(request)
    if not asked.news:
        raise InShutdown(asked.request)
    body = json.dumps(as_message(request))
    sent = (request.team, request.by, [request.agent], Letter.SHUTDOWN_REQUEST)
    world.store.teamwork.send(*sent, body, summary="You are asked to leave")
    return request


def living(world: World, name: str) -> tuple[Agent, Run]:
    agent = world.store.agent(name)
    if agent is None:
        raise NoSuchAgent(name)
    run = next((r for r in world.store.live_runs() if r.agent == name), None)
    if run is None:
        raise NotLive(name)
    return agent, run


def requested(world: World, who: Caller, run: Run, reason: str) -> Request:
    seat = world.store.seats().get(run.agent)
    return Request(
        id=world.new_uuid(),
        team=seat.team if seat else "",
        agent=run.agent,
        run=run.id,
        by=who.agent or who.by,
        phase=Phase.REQUESTED.value,
        reason=reason,
        requested_at=world.now(),
    )


def as_message(request: Request) -> dict[str, object]:
    """The body of the letter, in the contract's words."""
    return {
        "id": request.id,
        "requesterAgentId": request.by,
        "targetAgentId": request.agent,
        "teamName": request.team,
        "reason": request.reason,
        "phase": request.phase,
        "force": request.force,
        "requestedAt": request.requested_at,
        "deadlineAt": request.deadline_at,
        "answer": "quell approve, or quell reject --reason WHY; or a message shutdown_approved",
    }


def awaited(world: World, request: str, seconds: float) -> Request:
    """How the request stands once it is decided, or when the time is up."""
    left = checked_wait(seconds)
    while True:
        settle(world)  # an agent that was ended from inside is taken in by whoever looks
        known = world.store.teamwork.request(request)
        if known is None:
            raise NoSuchRequest(request)
        if not is_open(known) or left <= 0:
            return known
        step = min(GLANCE, left)
        world.kernel.wait([], step)
        left -= step


def withdraw(world: World, agent: str, who: Caller | None = None) -> Request:
    """The asker thought better of it: the agent goes on as before, and an answer comes too late."""
    settle(world)
    who = who or asker(world)
    _, run = living(world, agent)
    known = world.store.teamwork.open_of(run.id)
    if known is None:
        raise Refused(f"'{agent}' was not asked to leave", f"quell show {agent}")
    seat = world.store.seats().get(who.agent)
    leads = seat is not None and (seat.team, seat.role) == (known.team, Role.LEADER)
    if who.runs and known.by != who.agent and not leads:
        refuse(world, who, f"'{agent}' was asked by {known.by}", f"ask {known.by}")
    moved = world.store.teamwork.move(known.id, Move.WITHDRAW)
    if not moved.moved:
        why = f"it is too late: the request is {moved.request.phase}"
        raise Refused(why, f"quell show {agent}")
    return moved.request


# -- without asking ----------------------------------------------------------------------------


def forced(world: World, who: Caller, agent: str, reason: str = "") -> list[Receipt]:
    """Ends it without asking, or in spite of being asked, its child runs first; its own receipt is
    the last. That it was forced is written down before, that it was killed once that is proven."""
    settle(world)
    _, run = living(world, agent)
    world.store.teamwork.ask(requested(world, who, run, reason)._replace(force=True))
    ending = Ending(Outcome.TERMINATED, who.by, FORCED, reason)
    return end_runs(world, family(world, run), end_way(world, ending))


def force_request(world: World, run: Run) -> None:
    """What the run was asked is a demand from now on."""
    known = world.store.teamwork.open_of(run.id)
    if known is None:
        return
    try:
        world.store.teamwork.ask(known._replace(force=True))
    except NotLive:
        return  # it was faster


def end_way(world: World, ending: Ending) -> Way:
    ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace)
    return Way(ladder, ending, deregister=True)


def family(world: World, run: Run) -> Sequence[Run]:
    """The run and those that it started, children first; not those who belong to another team."""
    seats, team = world.store.seats(), ""
    if run.agent in seats:
        team = seats[run.agent].team
    below = [r for r in world.store.live_runs() if r.parent == run.id and r.host == world.host]
    ours = [r for r in below if r.agent not in seats or _ends_with(seats[r.agent], team)]
    return [*(member for child in ours for member in family(world, child)), run]


def _ends_with(seat: tuple[str, str], team: str) -> bool:
    return seat[0] == team and seat[1] != Role.LEADER
