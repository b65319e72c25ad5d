"""Starts agents again: by hand, or those that ended unasked and were meant to come back."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quell.core.agent import Agent
from quell.core.errors import NotResumable, QuellError, Refused, StillRunning, StoreFailed
from quell.core.ports import World
from quell.core.receipt import Receipt
from quell.core.restart import FIRST, LONG_AGO, LONGEST, Decision, decide
from quell.core.run import Ending, Run
from quell.core.store import Plan
from quell.life.birth import SPAWNER_DIED
from quell.life.choose import Crowd
from quell.life.conversation import find_conversation
from quell.life.environment import forget_earlier, forget_environment
from quell.life.settle import settle
from quell.life.spawn import How, Spawned, first_conversation, start

RESTART = "restart"  # why it was stopped
IN_HAND = 60.0  # seconds that a restart by hand may take
LAST_LINES = 5  # of its screen: what scrolled up earlier did not end it


class RestartWish(NamedTuple):
    name: str
    resume: bool = False  # go on with its conversation instead of beginning a new one
    grace: float | None = None  # for the run that still lives, if one does
    yes: bool = False


class Restarted(NamedTuple):
    spawned: Spawned
    receipt: Receipt | None  # of the run that had to end first
    resumed: bool


# -- by hand -----------------------------------------------------------------------------------


def restart(world: World, wish: RestartWish) -> Restarted:
    """A fresh run of an agent; one that lives is stopped first, and stays if that fails."""
    settle(world)
    crowd = Crowd(world, targets=[wish.name])
    chosen = crowd.only(wish.name)
    receipt = stopped_first(world, chosen.run, wish) if chosen.live else None
    agent = world.store.agent(chosen.agent)
    last = world.store.run(chosen.run)
    if agent is None or last is None:
        raise Refused(f"'{wish.name}' has no record to start from", "quell spawn starts a new one")
    spawned, resumed = started_again(world, agent, last, resume=wish.resume)
    return Restarted(spawned, receipt, resumed)


def stopped_first(world: World, run: str, wish: RestartWish) -> Receipt:
    from quell.core.stopping import StopOptions
    from quell.life.stop import StopWish, stop

    options = StopOptions(reason=RESTART)
    [slain] = stop(world, StopWish((f"id:{run}",), options, grace=wish.grace, yes=wish.yes))
    receipt = slain.receipts[-1]
    ended = world.store.run(run)
    if ended is not None and ended.live:
        raise Refused(
            f"'{receipt.agent}' could not be ended, so it was not started again",
            f"quell receipt {receipt.agent} names what is still there",
        )
    return receipt


def started_again(
    world: World, agent: Agent, last: Run, *, resume: bool, attempt: int = 0
) -> tuple[Spawned, bool]:
    """The new run, linked to the old; and whether it goes on with the conversation."""
    kind = world.kind(agent.kind)
    place = "headless" if agent.place == "terminal" else agent.place
    agent = agent._replace(place=place)
    if not world.disk.is_directory(agent.cwd):
        raise NotResumable(f"its directory {agent.cwd} is gone", f"quell show {agent.name}")
    goes_on = bool(resume and kind.resume and find_conversation(world, agent).exists)
    if goes_on:
        argv = kind.resume_argv(agent.conversation, agent.args)
    else:
        agent = agent._replace(conversation=first_conversation(world, kind, agent.args))
        argv = kind.start_argv(agent.conversation, agent.args)
    session = last.place.session if last.place.name == "tmux" else ""
    after = last._replace(attempt=attempt - 1)
    return start(world, agent, argv, How(session), after), goes_on


# -- by the watch ------------------------------------------------------------------------------


def plan_restarts(world: World) -> list[Plan]:
    """Decides once about every ended run whose agent was meant to come back; what is new."""
    decided = {plan.run for plan in world.store.plans()}
    wanted = {agent.name: agent for agent in world.store.agents() if agent.restart > 0}
    if not wanted:
        return []
    newest = [
        run
        for name, run in world.store.last_runs().items()
        if name in wanted and run.host == world.host
    ]
    for run in newest:
        if run.process is not None:  # it has an environment of its own by now
            forget_earlier(world, run)
    ended = [
        run for run in newest if not run.live and run.id not in decided and not _in_hand(world, run)
    ]
    plans: list[Plan] = []
    for run in ended:
        plan = planned(world, wanted[run.agent], run, run.ending) if run.ending else None
        if plan and plan.decision == "refused":
            forget_environment(world, run)
        if plan and world.store.plan(plan):
            plans.append(plan)
    return plans


def _in_hand(world: World, run: Run) -> bool:
    """Stopped a moment ago by `restart`, which is about to start it and needs its environment."""
    fresh = abs(world.seconds() - _seconds(run.ended_at)) < IN_HAND
    return fresh and run.ending is not None and run.ending.reason == RESTART


def planned(world: World, agent: Agent, run: Run, ending: Ending) -> Plan:
    decision = decided_for(world, agent, run, ending)
    if not decision.again:
        return Plan(run.id, agent.name, "refused", decision.why)
    due = world.moment(_seconds(run.ended_at) + decision.delay)
    return Plan(run.id, agent.name, "planned", decision.why, decision.attempt, due)


def decided_for(world: World, agent: Agent, run: Run, ending: Ending) -> Decision:
    receipt = world.store.receipt(run.id)
    shown = receipt.screen.strip().split("\n")[-LAST_LINES:] if receipt else []
    ended, began = _seconds(run.ended_at), _seconds(run.started_at)
    if world.seconds() - ended > LONG_AGO:
        return Decision(again=False, why="it ended more than a day before anybody watched")
    if cut_short(run, ending):
        why = "whoever started it again died over it"
        return Decision(again=True, why=why, attempt=run.attempt, delay=FIRST)
    return decide(
        ending,
        wanted=agent.restart,
        attempt=run.attempt,
        lived=max(0.0, ended - began),
        words="\n".join(shown),
    )


def call_off(world: World, runs: Sequence[Run], by: str) -> None:
    """A kill or a stop is the last word, also about who has ended and would have come back."""
    decided = {plan.run: plan.decision for plan in world.store.plans()}
    for run in runs:
        if decided.get(run.id, "planned") != "planned" or run.host != world.host:
            continue
        if world.store.plan(Plan(run.id, run.agent, "refused", f"called off by {by}")):
            forget_environment(world, run)


def cut_short(run: Run, ending: Ending) -> bool:
    """A restart that never came to anything, through no fault of the agent: it does not count."""
    never_began = ending.reason == "not_started" and ending.detail == SPAWNER_DIED
    return never_began and run.process is None and bool(run.restarted_from)


def start_due(world: World) -> list[tuple[Plan, Spawned | QuellError]]:
    """Starts whatever is due. Of any number of watchers, one starts it: the store sees to that."""
    done: list[tuple[Plan, Spawned | QuellError]] = []
    for plan in due_plans(world):
        agent, last = world.store.agent(plan.agent), world.store.run(plan.run)
        if agent is None or last is None:
            continue
        if newer_than(world, last):
            world.store.plan(plan._replace(decision="refused", why="somebody started it meanwhile"))
            forget_environment(world, last)
            continue
        try:
            spawned, _ = started_again(world, agent, last, resume=True, attempt=plan.attempt)
        except StillRunning:
            continue  # somebody else is just starting it, and needs its environment
        except StoreFailed:
            raise  # nothing was decided: the next round tries again
        except QuellError as error:
            world.store.plan(plan._replace(decision="failed", why=str(error)))
            forget_environment(world, last)
            done.append((plan, error))
        else:
            done.append((plan, spawned))
    return done


def due_plans(world: World) -> list[Plan]:
    return [plan for plan in open_plans(world) if not _wait(world, plan)]


def next_due(world: World) -> float | None:
    """Seconds until the next restart; None if none is planned."""
    waits = [_wait(world, plan) for plan in open_plans(world)]
    return min(waits) if waits else None


def _wait(world: World, plan: Plan) -> float:
    """Seconds until it is due. Nobody was ever told to wait longer than LONGEST: then the clock
    was set back, and that makes nobody wait."""
    wait = _seconds(plan.due_at) - world.seconds()
    return wait if 0 < wait <= LONGEST else 0.0


def open_plans(world: World) -> list[Plan]:
    """Those of this host: what ran elsewhere comes back there."""
    planned = [plan for plan in world.store.plans() if plan.decision == "planned"]
    runs = {plan.run: world.store.run(plan.run) for plan in planned}
    return [plan for plan in planned if (run := runs[plan.run]) and run.host == world.host]


def newer_than(world: World, run: Run) -> bool:
    newest = world.store.runs_of(run.agent)[0]
    return newest.id != run.id


def _seconds(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp() if iso else 0.0
