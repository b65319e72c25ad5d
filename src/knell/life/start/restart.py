"""Starts agents again: by hand, or those that ended unasked and were meant to come back."""

from collections.abc import Callable
from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.authority import Deed
from knell.core.codes import Code
from knell.core.conversation import given_conversation
from knell.core.errors import KnellError, NotResumable, Refused, StillRunning, StoreFailed
from knell.core.ports.world import World
from knell.core.receipt import Receipt
from knell.core.restart import LONGEST, PlanState, RestartPlan
from knell.core.run import Run
from knell.core.selector import Candidate
from knell.core.stop_plan import StopOptions
from knell.core.times import seconds_of
from knell.life.base.authority import check_agents
from knell.life.base.caller import caller
from knell.life.base.conversation import find_conversation
from knell.life.base.restart_plans import RESTART, in_hand, make_plan
from knell.life.base.targets import Crowd, Picture
from knell.life.end.stop import StopWish, stop
from knell.life.start.confirm_resume import Continuation, HowStarted, confirm_resume
from knell.life.start.spawn import (
    Spawned,
    StartOptions,
    first_conversation,
    last_tmux_server,
    new_run,
    start,
    start_here,
)
from knell.life.start.start_place import (
    TERMINAL,
    Wanted,
    check_prompt,
    continues_headless,
    place_to_restart_in,
)


class RestartWish(NamedTuple):
    name: str
    resume: bool = False  # go on with its conversation instead of beginning a new one
    grace: float | None = None  # for the run that still lives, if one does
    yes: bool = False
    here: Callable[[], None] | None = None  # as in ResumeWish


class Again(NamedTuple):
    """How an agent is started again."""

    resume: bool = False  # with its conversation, if that is there
    attempt: int = 0
    by_hand: bool = True  # a person waits to hear what came of it
    here: Callable[[], None] | None = None


class Restarted(NamedTuple):
    spawned: Spawned
    receipt: Receipt | None  # of the run that had to end first
    resumed: bool


# -- by hand -----------------------------------------------------------------------------------


def restart(world: World, wish: RestartWish) -> Restarted:
    """A fresh run of an agent; one that lives is stopped first, and stays if that fails."""
    chosen = Crowd(Picture(world), targets=[wish.name]).only(wish.name)
    check_agents(world, caller(world), Deed.START, [chosen.agent])
    check_restart(world, chosen, wish)
    receipt = stop_first(world, chosen.run, wish) if chosen.live else None
    agent, last = recorded(world, chosen)
    try:
        again = Again(wish.resume, here=wish.here)
        spawned, resumed = start_again(world, agent, last, again)
    except KnellError as error:
        if not isinstance(error, StillRunning):  # else another process is just starting it
            world.keepers.forget_environment(world.rundir(last.id))
        raise
    return Restarted(spawned, receipt, resumed)


def recorded(world: World, chosen: Candidate) -> tuple[Agent, Run]:
    agent = world.store.runs.agent(chosen.agent)
    last = world.store.runs.run(chosen.run)
    if agent is None or last is None:
        why = f"'{chosen.agent}' has no record to start from"
        raise Refused(why, "knell spawn starts a new one", code=Code.NO_RECORD)
    return agent, last


def check_restart(world: World, chosen: Candidate, wish: RestartWish) -> None:
    """Refuses what could not be started, before anything is stopped."""
    agent, last = recorded(world, chosen)
    agent = place_to_restart_in(world, agent, last.place, free=bool(wish.here))
    if wish.resume and continues_headless(agent, world.kind(agent.kind), Wanted()):
        check_prompt(agent, "")


def stop_first(world: World, run: str, wish: RestartWish) -> Receipt:
    options = StopOptions(reason=RESTART)
    [result] = stop(world, StopWish((f"id:{run}",), options, grace=wish.grace, yes=wish.yes))
    receipt = result.receipts[-1]
    ended = world.store.runs.run(run)
    if ended is not None and ended.live:
        why = f"'{receipt.agent}' could not be ended, so it was not started again"
        hint = f"knell receipt {receipt.agent} names what is still there"
        raise Refused(why, hint, code=Code.NOT_ENDED)
    return receipt


def start_again(world: World, agent: Agent, last: Run, again: Again) -> tuple[Spawned, bool]:
    """The new run, linked to the old; and whether it goes on with the conversation. One that works
    without a terminal does not: it works through its prompt again, in a new conversation."""
    kind = world.kind(agent.kind)
    agent = place_to_restart_in(world, agent, last.place, free=bool(again.here))
    agent = last_tmux_server(agent, last.place)
    if not world.disk.is_directory(agent.cwd):
        raise NotResumable(f"its directory {agent.cwd} is gone", f"knell show {agent.name}")
    can_go_on = kind.resume and not continues_headless(agent, kind, Wanted())
    goes_on = bool(again.resume and can_go_on and find_conversation(world, agent).exists)
    if goes_on:
        argv = kind.resume_argv(agent.conversation, agent.args)
    else:
        agent = given_conversation(agent, first_conversation(world, kind, agent.args), world.now())
        argv = kind.start_argv(agent.conversation, agent.args)
    session = last.place.session if last.place.name == "tmux" else ""
    after = last._replace(attempt=again.attempt - 1)
    if agent.place == TERMINAL and again.here:
        again.here()
        start_here(world, agent, argv, new_run(world, agent, world.here(), after))
    stay = world.settings.spawn_stay if again.by_hand and not goes_on else 0.0
    spawned = start(world, agent, argv, StartOptions(session, stay=stay), after)
    warnings = ()
    if goes_on and again.by_hand:
        verdict, warnings = confirm_resume(world, spawned, kind, HowStarted())
        goes_on = verdict is not Continuation.FRESH
    noted = world.steps.note_started(spawned.agent, spawned.run, fresh=not goes_on)
    return spawned._replace(warnings=(*warnings, *noted)), goes_on


# -- by the watch ------------------------------------------------------------------------------


def plan_restarts(world: World) -> None:
    """Decides once about every ended run whose agent was meant to come back."""
    wanted = {agent.name: agent for agent in world.store.runs.agents() if agent.restart > 0}
    if not wanted:
        return
    decided = {plan.run for plan in world.store.restarts.plans()}
    for name, run in world.store.runs.newest().items():
        if name not in wanted or run.host != world.host:
            continue
        if run.live or run.id in decided or run.ending is None or in_hand(world, run):
            continue
        world.store.restarts.record(make_plan(world, wanted[name], run, run.ending))


def start_due(world: World) -> None:
    """Starts whatever is due. Of any number of watchers, one starts it: the store sees to that."""
    for plan in open_plans(world):
        agent, last = world.store.runs.agent(plan.agent), world.store.runs.run(plan.run)
        if _seconds_until_due(world, plan) or agent is None or last is None:
            continue
        if world.store.runs.of(last.agent)[0].id != last.id:
            late = plan._replace(decision=PlanState.REFUSED, why="it was started meanwhile")
            world.store.restarts.record(late)
            continue
        try:
            again = Again(resume=True, attempt=plan.attempt, by_hand=False)
            start_again(world, agent, last, again)
        except StillRunning:
            pass  # another process is just starting it, and needs its environment
        except StoreFailed:
            raise  # nothing was decided: the next round tries again
        except KnellError as error:
            world.store.restarts.record(plan._replace(decision=PlanState.FAILED, why=str(error)))


def next_due(world: World) -> float | None:
    """Seconds until the next restart; None if none is planned."""
    return min((_seconds_until_due(world, plan) for plan in open_plans(world)), default=None)


def _seconds_until_due(world: World, plan: RestartPlan) -> float:
    """No plan waits longer than LONGEST: a longer wait means that the clock was set back, and then
    the restart is due at once."""
    wait = seconds_of(plan.due_at) - world.seconds()
    return wait if 0 < wait <= LONGEST else 0.0


def open_plans(world: World) -> list[RestartPlan]:
    """Those of this host: what ran elsewhere comes back there."""
    planned = [plan for plan in world.store.restarts.plans() if plan.decision == PlanState.PLANNED]
    runs = world.store.runs
    return [plan for plan in planned if (run := runs.run(plan.run)) and run.host == world.host]
