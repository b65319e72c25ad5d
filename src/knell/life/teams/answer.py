"""Records an agent's answer to a shutdown request, ends the run of an agent that approved, and acts
on requests that are overdue."""

import json

from knell.core.authority import Deed, Relation, Subject, decide
from knell.core.codes import Code
from knell.core.environment import without_caller
from knell.core.errors import Refused
from knell.core.ladder import checked_wait
from knell.core.ports.teams import NoSuchRequest
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Ending, Outcome, Run
from knell.core.shutdown import Move, Overdue, Phase, ShutdownAnswer, ShutdownRequest
from knell.core.teams import Message, MessageType
from knell.core.times import seconds_of
from knell.life.base.caller import Caller, asker, note_refusal
from knell.life.base.take_in import take_in_journals
from knell.life.teams.ask import ShutdownResult, end_with_children, force_end
from knell.life.teams.team import live_run_id

OVERDUE = "shutdown.overdue"
POLL = 0.5  # seconds between two looks whether an agent that approved is ready


def answer(world: World, given: ShutdownAnswer) -> ShutdownResult:
    """Records the calling agent's answer; the operator may answer for an agent, naming the request
    or the agent. An answer that is too late, or to the request of another agent, is refused.

    An agent that approves finishes its work and then confirms, or exits; when its time is up, it is
    ended. A detached process sees to that, so that the agent still receives the result of its call.
    """
    take_in_journals(world)
    who = asker(world)
    try:
        request = _find_request(world, who, given.request)
        move, deadline = _move_of(world, given)
        moved = world.store.shutdowns.move(request.id, move, given.reason, deadline)
        if not moved.moved:
            so = "it is not approved" if given.confirmed else "it cannot be answered any more"
            raise _closed(moved.request, so)
    except (NoSuchRequest, Refused) as error:
        note_refusal(world, who, str(error), request=given.request)
        raise
    if given.confirmed and request.run not in who.runs:
        return finish(world, request.id)
    messages = () if given.confirmed else _notify_requester(world, moved.request, given)
    if given.approved:
        finishing = ("approve", request.id, "--finish")
        world.keepers.run_detached(finishing, without_caller(world.env))
    phase = Phase.CONFIRMED.value if given.confirmed else moved.request.phase
    return ShutdownResult(moved.request._replace(phase=phase), None, messages)


def _move_of(world: World, given: ShutdownAnswer) -> tuple[Move, str]:
    """What the answer does to the request, and until when the agent may finish its work."""
    needs = world.settings.team_finish_wait if given.needs is None else checked_wait(given.needs)
    if given.confirmed or not given.approved:
        return Move.CONFIRM if given.confirmed else Move.REJECT, ""
    return Move.APPROVE, world.moment(world.seconds() + needs) if needs else ""


def _closed(request: ShutdownRequest, so: str) -> Refused:
    why = f"the request is {request.phase}: {so}"
    return Refused(why, f"knell show {request.agent}", code=Code.REQUEST_CLOSED)


def _find_request(world: World, who: Caller, named: str) -> ShutdownRequest:
    """The request that is meant; a named one must belong to the caller's present run."""
    shutdowns = world.store.shutdowns
    if not named:
        request = shutdowns.open_of(who.run) if who.run else None
        if request is None:
            why = "there is no open request for you to leave"
            hint = "it may have been withdrawn" if who.run else "name the agent that was asked"
            raise Refused(why, hint, code=Code.NOT_ASKED)
        return request
    request = shutdowns.request(named) or shutdowns.open_of(live_run_id(world, named))
    if request is None:
        raise NoSuchRequest(named)
    relation = Relation.ITSELF if request.run == who.run else Relation.TEAMED
    if decide(who, Deed.ANSWER, [Subject(request.agent, relation)]):
        raise NoSuchRequest(named)  # it learns no more
    return request


def _notify_requester(
    world: World, request: ShutdownRequest, given: ShutdownAnswer
) -> tuple[Message, ...]:
    store = world.store
    if store.runs.agent(request.by) is None:
        return ()  # the operator reads the events
    team = store.teams.team(request.team)
    name = team.name if team and not team.dissolved_at else ""
    body = {"requestId": request.id, "approved": given.approved, "reason": given.reason}
    body |= {"deadlineAt": request.deadline_at} if given.approved else {}
    word = "agrees to leave" if given.approved else "does not leave"
    message = (name, request.agent, [request.by], MessageType.SHUTDOWN_APPROVED.value)
    summary = f"{request.agent} {word}"
    return tuple(store.messages.send(*message, json.dumps(body), summary=summary))


# -- ending an agent that approved -------------------------------------------------------------


def finish(world: World, id: str) -> ShutdownResult:
    """Ends the run of an approved request, once the agent is ready or its time is up. Every caller
    may: the agent has agreed."""
    store, until = world.store, 0.0
    while True:
        take_in_journals(world)  # an agent that ended itself is recorded by this look
        request = store.shutdowns.request(id)
        if request is None:
            raise NoSuchRequest(id)
        if request.phase == Phase.CONFIRMED:
            return ShutdownResult(request, store.endings.receipt(request.run))
        run = store.runs.run(request.run)
        if request.phase != Phase.APPROVED or run is None:
            raise _closed(request, "it is not approved")
        if not request.deadline_at:
            break
        if run.process and isinstance(world.processes.look(run.process), Gone):
            return ShutdownResult(request, None)  # it has left; its keeper records that
        # Counted by a clock that stands still while the machine sleeps, and that none can set.
        left = seconds_of(request.deadline_at) - world.seconds()
        until = until or world.clock().awake + left
        left = until - world.clock().awake
        if left <= 0:
            return end_late(world, _asker_of(world, request), request)
        world.wait([one for one in (run.keeper, run.process) if one], min(POLL, left))
    ending = Ending(
        Outcome.TERMINATED, _asker_of(world, request), "shutdown_approved", request.reason
    )
    receipts = end_with_children(world, run, ending)
    return ShutdownResult(store.shutdowns.request(id) or request, receipts[-1])


def _asker_of(world: World, request: ShutdownRequest) -> str:
    return f"agent:{request.by}" if world.store.runs.agent(request.by) else request.by


def end_late(world: World, by: str, request: ShutdownRequest) -> ShutdownResult:
    """Ends an agent that approved and did not confirm in time, and tells the requester."""
    late = f"{request.agent} approved, but did not confirm by {request.deadline_at}"
    tell_overdue(world, by, request, f"{late}: it is ended now")
    receipts = force_end(world, Caller(by), request.agent, "it did not confirm in time")
    return ShutdownResult(world.store.shutdowns.request(request.id) or request, receipts[-1])


def tell_overdue(world: World, by: str, request: ShutdownRequest, text: str) -> None:
    """Reports a deadline that has passed, once: in the events, and to the agent that asked; if a
    person asked, to the leader of the team."""
    store = world.store
    facts = {"request": request.id, "by": request.by, "deadline": request.deadline_at}
    events = store.events.read(0, request.agent, 1000)
    if any(one.type == OVERDUE and facts.items() <= one.data.items() for one in events):
        return
    store.events.record(OVERDUE, request.agent, request.run, facts)
    team = store.teams.team(request.team)
    reader = request.by if store.runs.agent(request.by) else team.leader if team else ""
    if reader and reader != request.agent:
        store.messages.send("", by, [reader], MessageType.PLAIN, text)


# -- requests that are overdue -----------------------------------------------------------------


class OpenRequests:
    """What the watch does about requests that no other process brings to an end."""

    def __init__(self, world: World, by: str) -> None:
        self.world, self.by = world, by
        self.suspended = world.clock().suspended
        self.began_at: dict[str, float] = {}  # request → when this boot began, by the wall's clock

    def act(self) -> None:
        """Ends agents that are ready, that are to be forced, or whose time is up."""
        clock = self.world.clock()
        before, self.suspended = self.suspended, clock.suspended
        slept = self.suspended - before > 1.0  # while the machine slept, no agent could answer
        store = self.world.store
        if not store.runs.leaving():
            return
        requests = store.shutdowns.open_requests()
        self.began_at = {one.id: self.began_at.get(one.id, clock.booted) for one in requests}
        for request in requests:
            run = store.runs.run(request.run)
            if run and run.live and run.host == self.world.host and not self._is_being_ended(run):
                self._act_on(request, slept=slept)

    def _is_being_ended(self, run: Run) -> bool:
        """Whether another process is ending it right now."""
        return run.owner is not None and not isinstance(self.world.processes.look(run.owner), Gone)

    def _act_on(self, request: ShutdownRequest, *, slept: bool) -> None:
        world = self.world
        approved = request.phase == Phase.APPROVED
        if approved and not request.deadline_at:
            finish(world, request.id)
        elif request.force:
            if world.store.endings.receipt(request.run) is None:  # else it was tried and reported
                force_end(world, Caller(self.by), request.agent, request.reason)
        elif slept or not self._is_overdue(request):
            return
        elif approved:
            end_late(world, self.by, request)
        elif request.overdue == Overdue.FORCE:
            force_end(world, Caller(self.by), request.agent, "its answer is overdue")
        else:
            late = f"{request.agent} has not answered by {request.deadline_at}"
            tell_overdue(world, self.by, request, f"{late}: ask again, or force it")

    # -- clocks --------------------------------------------------------------------------------

    def _is_overdue(self, request: ShutdownRequest) -> bool:
        """By the wall clock, corrected by what it was set since the request was first seen here."""
        if not request.deadline_at:
            return False
        set_by = self.world.clock().booted - self.began_at[request.id]
        return self.world.seconds() - set_by > seconds_of(request.deadline_at)
