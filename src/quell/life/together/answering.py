"""Takes an agent's answer to being asked to leave, and sees to it that a yes ends in an end."""

import json
from collections.abc import Sequence

from quell.core.errors import Refused
from quell.core.lifecycle import Outcome
from quell.core.message import Answer, Letter, Message, answer_from
from quell.core.ports import World
from quell.core.run import Ending
from quell.core.shutdown import Move, Phase, Request
from quell.core.teamwork import NoSuchRequest
from quell.life.caller import Caller, asker, note_refusal
from quell.life.ending import end_runs
from quell.life.settle import settle
from quell.life.together.ask import Answered, end_way, family

APPROVED = "shutdown_approved"


class NotAsked(Refused):
    def __init__(self) -> None:
        super().__init__("nobody asks you to leave", "the request may have been withdrawn")


def answer(world: World, told: Answer, who: Caller | None = None) -> Answered:
    """The answer of the agent that asks; the operator may answer for it, naming the request or
    the agent. One that comes too late, or to somebody else's request, is refused."""
    settle(world)
    who = who or asker(world)
    try:
        request = _meant(world, who, told.request)
        moved = _moved(world, request, told)
    except (NoSuchRequest, Refused) as error:
        note_refusal(world, who, str(error), request=told.request)
        raise
    letters = _tell_asker(world, moved, told)
    if not told.approved:
        return Answered(moved, None, letters)
    return _seen_off(world, who, moved)._replace(letters=letters)


def _meant(world: World, who: Caller, named: str) -> Request:
    """A named request must be this agent's, in its present life."""
    store = world.store.teamwork
    if not named and not who.run:
        raise NotAsked
    if not named:
        request = store.open_of(who.run)
        if request is None:
            raise NotAsked
        return request
    request = store.request(named) or _open_of_agent(world, named)
    if request is None or (who.runs and request.run != who.run):
        raise NoSuchRequest(named)
    return request


def _open_of_agent(world: World, agent: str) -> Request | None:
    runs = [run for run in world.store.live_runs() if run.agent == agent]
    return world.store.teamwork.open_of(runs[0].id) if runs else None


def _moved(world: World, request: Request, told: Answer) -> Request:
    move = Move.APPROVE if told.approved else Move.REJECT
    moved = world.store.teamwork.move(request.id, move, told.reason)
    if not moved.moved:
        raise Refused(
            f"the request is {moved.request.phase}: it cannot be answered any more",
            f"quell show {moved.request.agent}",
        )
    return moved.request


def _tell_asker(world: World, request: Request, told: Answer) -> tuple[Message, ...]:
    if world.store.agent(request.by) is None:
        return ()  # the operator reads the events
    store = world.store.teamwork
    team = store.team(request.team) if request.team else None
    name = team.name if team and not team.dissolved_at else ""
    body = {"requestId": request.id, "approved": told.approved, "reason": told.reason}
    word = "agrees to leave" if told.approved else "does not leave"
    letter = (name, request.agent, [request.by], Letter.SHUTDOWN_APPROVED.value, json.dumps(body))
    return tuple(store.send(*letter, summary=f"{request.agent} {word}"))


def answered_by_letter(world: World, who: Caller, type: str, body: str) -> Sequence[Message]:
    """A plain letter of that type counts as the answer; what the asker got to read of it."""
    return list(answer(world, answer_from(type, body), who).letters)


# -- the end of it -----------------------------------------------------------------------------


def _seen_off(world: World, who: Caller, request: Request) -> Answered:
    """An agent that approved hears that it did before it is ended, by a process that does not
    depend on the one that answered."""
    if request.run not in who.runs:
        return finish(world, request.id)
    dropped = ("QUELL_RUN", "QUELL_AGENT", "QUELL_TOKEN")
    env = {name: value for name, value in world.env.items() if name not in dropped}
    command = ("approve", request.id, "--finish")
    world.kernel.detach(command, {**env, "QUELL_ON_BEHALF": who.by})
    return Answered(request, None)


def finish(world: World, id: str) -> Answered:
    """Ends the run of a request that was approved. Anybody may: its agent has agreed."""
    settle(world)
    store = world.store.teamwork
    request = store.request(id)
    if request is None:
        raise NoSuchRequest(id)
    if request.phase == Phase.CONFIRMED:
        return Answered(request, world.store.receipt(request.run))
    run = world.store.run(request.run)
    if request.phase != Phase.APPROVED or run is None:
        why = f"the request is {request.phase}, not approved"
        raise Refused(why, f"quell show {request.agent}")
    by = f"agent:{request.by}" if world.store.agent(request.by) else request.by
    ending = Ending(Outcome.TERMINATED, by, APPROVED, request.reason)
    receipts = end_runs(world, family(world, run), end_way(world, ending))
    return Answered(store.request(id) or request, receipts[-1])
