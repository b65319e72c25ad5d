"""What the watch does about requests to leave that nobody else brings to an end."""

from datetime import datetime

from quell.core.message import Letter
from quell.core.ports import World
from quell.core.process import Gone
from quell.core.run import Run
from quell.core.shutdown import Overdue, Phase, Request
from quell.life.caller import Caller
from quell.life.together.answering import finish
from quell.life.together.ask import forced

OVERDUE = "shutdown.overdue"


class Seer:
    def __init__(self, world: World, by: str) -> None:
        self.world, self.by = world, by
        self.asleep = asleep(world)
        self.began_at: dict[str, float] = {}  # request → when this boot began, by the wall's clock

    def see_through(self) -> None:
        """Ends who has agreed, who is to be forced, and whose time for an answer is up."""
        slept = self.has_slept()
        if not self.world.store.leaving():
            return
        requests = self.world.store.teamwork.open_ones()
        booted = booted_at(self.world)
        self.began_at = {one.id: self.began_at.get(one.id, booted) for one in requests}
        for request in requests:
            run = self.world.store.run(request.run)
            if run and run.live and run.host == self.world.host and not _in_hand(self.world, run):
                self.act(request, slept=slept)

    def has_slept(self) -> bool:
        """Since the last look: then nobody could answer, and everybody gets another round."""
        before, self.asleep = self.asleep, asleep(self.world)
        return self.asleep - before > 1.0

    def act(self, request: Request, *, slept: bool) -> None:
        world = self.world
        if request.phase == Phase.APPROVED:
            finish(world, request.id)
        elif request.force and world.store.receipt(request.run) is None:  # else tried, and told
            forced(world, Caller(self.by), request.agent, request.reason)
        elif not slept and not request.force and self.is_overdue(request):
            overdue(world, self.by, request)

    def is_overdue(self, request: Request) -> bool:
        """By a clock that nobody has set since the request was first seen here."""
        if not request.deadline_at:
            return False
        set_by = booted_at(self.world) - self.began_at[request.id]
        deadline = datetime.fromisoformat(request.deadline_at).timestamp()
        return self.world.seconds() - set_by > deadline


def booted_at(world: World) -> float:
    """Moves with the clock of the wall when that is set, and only then."""
    now = world.clock()
    return now.wall - now.up


def asleep(world: World) -> float:
    """Seconds since boot in which the machine was suspended."""
    now = world.clock()
    return now.up - now.awake


def _in_hand(world: World, run: Run) -> bool:
    """Somebody is ending it right now."""
    return run.owner is not None and not isinstance(world.kernel.look(run.owner), Gone)


def overdue(world: World, by: str, request: Request) -> None:
    if request.overdue == Overdue.FORCE:
        forced(world, Caller(by), request.agent, "its answer is overdue")
        return
    told = world.store.events(0, request.agent, 1000)
    if any(event.type == OVERDUE and event.data.get("request") == request.id for event in told):
        return
    facts = {"request": request.id, "by": request.by, "deadline": request.deadline_at}
    world.store.note(OVERDUE, request.agent, request.run, facts)
    if world.store.agent(request.by):
        body = f"{request.agent} has not answered by {request.deadline_at}: ask again, or force it"
        world.store.teamwork.send("", by, [request.by], Letter.PLAIN, body)
