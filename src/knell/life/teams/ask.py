"""Asks an agent to leave: requested → approved → confirmed, or rejected, or force_killed.

core/shutdown.py has the table. The requester need not wait for the answer: the process that
records an approval ends the run (answer.py); if none does, the watch ends it.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from knell.core import ladder as ladders
from knell.core.codes import Code
from knell.core.ending_steps import Way
from knell.core.errors import BadRequest, Refused
from knell.core.ladder import checked_wait
from knell.core.ports.teams import NoSuchRequest
from knell.core.ports.world import World
from knell.core.receipt import Receipt
from knell.core.run import Ending, Outcome, Run
from knell.core.shutdown import OPEN, Move, Overdue, Phase, ShutdownRequest
from knell.core.teams import Message, MessageType, Role
from knell.life.base.authority import check_authority
from knell.life.base.caller import Caller, asker, refuse
from knell.life.base.take_in import take_in_journals
from knell.life.end.engine import end
from knell.life.teams.team import leads, live_run

POLL = 0.1  # seconds between two looks at what came of a request
LONGEST_REASON = 2000


class InShutdown(Refused):
    code = Code.IN_SHUTDOWN

    def __init__(self, request: ShutdownRequest) -> None:
        super().__init__(
            "Agent already in shutdown. Use force=true to override.",
            f"it was asked at {request.requested_at}",
        )


class ShutdownResult(NamedTuple):
    request: ShutdownRequest
    receipt: Receipt | None  # of the run, if it was ended right here
    messages: tuple[Message, ...] = ()  # what the requester was sent


# -- asking ------------------------------------------------------------------------------------


def ask(
    world: World,
    agent: str,
    reason: str = "",
    deadline: float | None = None,
    overdue: str = Overdue.FORCE.value,
) -> ShutdownRequest:
    """Puts the question into the agent's inbox; from now on it is shutting down. `deadline`:
    seconds, 0: for ever, None: as configured; `overdue`: what the watch does then."""
    take_in_journals(world)
    who = asker(world)
    if overdue not in set(Overdue):
        raise BadRequest(f"'{overdue}' is no policy", f"use {' or '.join(Overdue)}")
    if len(reason) > LONGEST_REASON:
        raise BadRequest(f"a reason has at most {LONGEST_REASON} characters", "send a message")
    settings = world.settings
    wait = settings.team_shutdown_wait if deadline is None else checked_wait(deadline)
    run = live_run(world, agent)
    # An agent may say no to a question; only ending it after silence needs the right to end it.
    check_authority(world, [run], who, confirmed=not wait or overdue == Overdue.REPORT)
    request = new_request(world, who, run, reason)._replace(
        deadline_at=world.moment(world.seconds() + wait) if wait else "", overdue=overdue
    )
    asked = world.store.shutdowns.ask(request)
    if not asked.news:
        raise InShutdown(asked.request)
    body = {  # in the contract's words
        "id": request.id,
        "requesterAgentId": request.by,
        "targetAgentId": request.agent,
        "teamName": request.team,
        "reason": request.reason,
        "phase": request.phase,
        "force": request.force,
        "requestedAt": request.requested_at,
        "deadlineAt": request.deadline_at,
        "answer": "knell approve, finish your work, then knell confirm;"
        " or knell reject --reason WHY; or a message shutdown_approved",
    }
    sent = (request.team, request.by, [request.agent], MessageType.SHUTDOWN_REQUEST)
    world.store.messages.send(*sent, json.dumps(body), summary="You are asked to leave")
    return request


def new_request(world: World, who: Caller, run: Run, reason: str) -> ShutdownRequest:
    seat = world.store.runs.seats().get(run.agent)
    return ShutdownRequest(
        id=world.new_uuid(),
        team=seat.team if seat else "",
        agent=run.agent,
        run=run.id,
        by=who.agent or who.by,
        phase=Phase.REQUESTED.value,
        reason=reason,
        requested_at=world.now(),
    )


def wait_for_answer(world: World, request: str, seconds: float) -> ShutdownRequest:
    """Waits until the request is decided or the time is up; the request as it is then."""
    left = checked_wait(seconds)
    while True:
        take_in_journals(world)  # an agent that ended itself is recorded by this look
        known = world.store.shutdowns.request(request)
        if known is None:
            raise NoSuchRequest(request)
        if known.phase not in OPEN or left <= 0:
            return known
        step = min(POLL, left)
        world.wait([], step)
        left -= step


def withdraw(world: World, agent: str) -> ShutdownRequest:
    """Takes the request back: the agent continues, and an answer is too late."""
    take_in_journals(world)
    who = asker(world)
    known = world.store.shutdowns.open_of(live_run(world, agent).id)
    if known is None:
        why = f"'{agent}' was not asked to leave"
        raise Refused(why, f"knell show {agent}", code=Code.NOT_ASKED)
    if who.runs and known.by != who.agent and not leads(who, world.store.teams.team(known.team)):
        refuse(world, who, f"'{agent}' was asked by {known.by}", f"ask {known.by}")
    moved = world.store.shutdowns.move(known.id, Move.WITHDRAW)
    if not moved.moved:
        why = f"it is too late: the request is {moved.request.phase}"
        raise Refused(why, f"knell show {agent}", code=Code.REQUEST_CLOSED)
    return moved.request


# -- ending without an answer ------------------------------------------------------------------


def force_end(world: World, who: Caller, agent: str, reason: str = "") -> list[Receipt]:
    """Ends the agent without asking, or without its answer, child runs first; its own receipt is
    the last. The force is recorded before the first signal, the kill once it is proven."""
    take_in_journals(world)
    run = live_run(world, agent)
    check_authority(world, [run], who, confirmed=True)
    world.store.shutdowns.ask(new_request(world, who, run, reason)._replace(force=True))
    return end_with_children(world, run, Ending(Outcome.TERMINATED, who.by, "force_killed", reason))


def end_with_children(world: World, run: Run, ending: Ending) -> list[Receipt]:
    """Ends the run and the runs that it started, children first, without members of other teams."""
    ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace)
    return end(world, _run_and_children(world, run), Way(ladder, ending, deregister=True))


def _run_and_children(world: World, run: Run) -> Sequence[Run]:
    seats = world.store.runs.seats()
    mine = seats.get(run.agent)
    found: list[Run] = []
    for child in world.store.runs.live():
        seat = seats.get(child.agent)
        same_team = seat is not None and mine is not None and seat.team == mine.team
        ends_too = seat is None or (same_team and seat.role != Role.LEADER)
        if child.parent == run.id and child.host == world.host and ends_too:
            found += _run_and_children(world, child)
    return [*found, run]
