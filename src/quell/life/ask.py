"""Asks an agent to leave, takes its answer, and sees to it that a yes ends in an end.

requested → approved → confirmed, or rejected, or force_killed: core/shutdown.py has the table.
Nobody has to wait for the answer: whoever takes it in ends the run, or else the watch does.
"""

import json
from datetime import datetime
from typing import NamedTuple

from quell.core import ladder as ladders
from quell.core.agent import Agent
from quell.core.errors import NoSuchAgent, Refused
from quell.core.ladder import checked_wait
from quell.core.lifecycle import Outcome
from quell.core.message import Answer, Letter, Message, answer_from
from quell.core.ports import World
from quell.core.receipt import Receipt
from quell.core.run import Ending, Run
from quell.core.shutdown import Move, Phase, Request, is_open
from quell.core.teamwork import NoSuchRequest, NotLive
from quell.life.before import Way
from quell.life.caller import Caller, caller
from quell.life.ending import end_runs
from quell.life.settle import settle

APPROVED, FORCED = "shutdown_approved", "force_killed"


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
    overdue: str = "force"  # what happens then: force, or report


class Answered(NamedTuple):
    request: Request
    receipt: Receipt | None  # of the run, if it was ended right here


# -- asking ------------------------------------------------------------------------------------


def ask(world: World, wish: AskWish, who: Caller | None = None) -> Request:
    """Puts the question into the agent's inbox; from now on it is shutting down."""
    settle(world)
    who = who or caller(world)
    agent, run = living(world, wish.agent)
    wait = world.settings.shutdown_wait if wish.deadline is None else checked_wait(wish.deadline)
    request = Request(
        id=world.new_uuid(),
        team=wish.team or agent.team,
        agent=agent.name,
        run=run.id,
        by=who.agent or who.by,
        phase=Phase.REQUESTED.value,
        reason=wish.reason,
        requested_at=world.now(),
        deadline_at=world.moment(world.seconds() + wait) if wait else "",
        overdue=wish.overdue,
    )
    asked = world.store.teamwork.ask(request)
    if not asked.news:
        raise InShutdown(asked.request)
    body = json.dumps(as_message(request))
    team, sender = request.team, request.by
    world.store.teamwork.send(team, sender, [agent.name], Letter.SHUTDOWN_REQUEST, body)
    return request


def living(world: World, name: str) -> tuple[Agent, Run]:
    agent = world.store.agent(name)
    if agent is None:
        raise NoSuchAgent(name)
    run = next((r for r in world.store.live_runs() if r.agent == name), None)
    if run is None:
        raise NotLive(name)
    return agent, run


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
        "answer": "quell approve, or quell reject --reason WHY; or a message shutdown_approved",
    }


# -- answering ---------------------------------------------------------------------------------


def answer(world: World, told: Answer, who: Caller | None = None) -> Answered:
    """The answer of the agent that asks; the operator may answer for it, naming the request."""
    settle(world)
    who = who or caller(world)
    request = _asked(world, who, told.request)
    move = Move.APPROVE if told.approved else Move.REJECT
    moved = world.store.teamwork.move(request.id, move, told.reason)
    if not moved.moved:
        raise Refused(
            f"the request is {moved.request.phase}: it cannot be answered any more",
            f"quell show {moved.request.agent}",
        )
    _tell_asker(world, moved.request, told)
    if not told.approved:
        return Answered(moved.request, None)
    return finished(world, who, moved.request)


def _asked(world: World, who: Caller, named: str) -> Request:
    """The request that is meant: a named one must be this agent's, and its present life's."""
    store = world.store.teamwork
    if named:
        request = store.request(named)
        if request is None or (who.runs and request.run != who.run):
            raise NoSuchRequest(named)
        return request
    request = store.open_of(who.run) if who.run else None
    if request is None:
        raise NoSuchRequest("of yours")
    return request


def _tell_asker(world: World, request: Request, told: Answer) -> None:
    if world.store.agent(request.by) is None:
        return  # the operator reads the events
    body = {"requestId": request.id, "approved": told.approved, "reason": told.reason}
    store = world.store.teamwork
    letter = Letter.SHUTDOWN_APPROVED.value
    store.send(request.team, request.agent, [request.by], letter, json.dumps(body))


def answered_by_letter(world: World, who: Caller, type: str, body: str) -> list[Message]:
    """A plain letter of that type counts as the answer."""
    answer(world, answer_from(type, body), who)
    return []


# -- the end of it -----------------------------------------------------------------------------


def finished(world: World, who: Caller, request: Request) -> Answered:
    """Ends the run of an approved request. From inside the run, a process outside does it."""
    run = world.store.run(request.run)
    if run is None or not run.live:
        return Answered(world.store.teamwork.request(request.id) or request, None)
    if run.id in who.runs:
        dropped = ("QUELL_RUN", "QUELL_AGENT", "QUELL_TOKEN")
        env = {name: value for name, value in world.env.items() if name not in dropped}
        command = ("kill", f"id:{run.id}", "--no-children", "--reason", APPROVED)
        world.kernel.detach(command, {**env, "QUELL_ON_BEHALF": who.by})
        return Answered(request, None)
    [receipt] = end_runs(world, [run], approved_way(world, request.by))
    return Answered(world.store.teamwork.request(request.id) or request, receipt)


def approved_way(world: World, by: str) -> Way:
    ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace)
    return Way(ladder, Ending(Outcome.TERMINATED, by, APPROVED), deregister=True)


def forced(world: World, who: Caller, agent: str, reason: str = "") -> Receipt:
    """Ends it without asking, or in spite of being asked; the request says so."""
    settle(world)
    record, run = living(world, agent)
    store = world.store.teamwork
    known = store.open_of(run.id)
    if known is None:
        new = Request(
            id=world.new_uuid(),
            team=record.team,
            agent=agent,
            run=run.id,
            by=who.agent or who.by,
            phase=Phase.REQUESTED.value,
            reason=reason,
            force=True,
            requested_at=world.now(),
        )
        known = store.ask(new).request
    ending = Ending(Outcome.TERMINATED, who.by, FORCED, reason)
    ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace)
    [receipt] = end_runs(world, [run], Way(ladder, ending, deregister=True))
    if not receipt.survivors:
        store.move(known.id, Move.FORCE)
    return receipt


# -- the watch ---------------------------------------------------------------------------------


def see_through(world: World, by: str) -> None:
    """Approved requests whose end nobody brought about, and those that were never answered."""
    for request in world.store.teamwork.open_ones():
        run = world.store.run(request.run)
        if run is None or not run.live or run.host != world.host:
            continue
        if request.phase == Phase.APPROVED:
            end_runs(world, [run], approved_way(world, request.by))
        elif is_open(request) and overdue(world, request) and request.overdue == "force":
            forced(world, Caller(by), request.agent, "its answer is overdue")


def overdue(world: World, request: Request) -> bool:
    if not request.deadline_at:
        return False
    return world.seconds() > datetime.fromisoformat(request.deadline_at).timestamp()
