"""Whether an ended run comes back; what it was started with is kept for that and no longer."""

from collections.abc import Sequence
from datetime import datetime

from knell.core.agent import Agent
from knell.core.ending_steps import Case
from knell.core.ports.world import World
from knell.core.restart import EndedRun, PlanState, RestartPlan, RestartRules, decide
from knell.core.run import Ending, Run

SPAWNER_DIED = "the process that started it died"
RESTART = "restart"  # why a run was stopped that `restart` is about to start again
LAST_LINES = 5  # of its screen: what scrolled up earlier did not end it


# -- the decision ------------------------------------------------------------------------------


def make_plan(world: World, agent: Agent, run: Run, ending: Ending) -> RestartPlan:
    ended = seconds_of(run.ended_at)
    known = EndedRun(
        ending,
        attempt=run.attempt,
        lived=max(0.0, ended - seconds_of(run.started_at)),
        words=last_words(world, run),
        ended_ago=world.seconds() - ended,
        cut_short=was_cut_short(run, ending),
    )
    decision = decide(known, RestartRules(agent.restart))
    if not decision.again:
        return RestartPlan(run.id, agent.name, PlanState.REFUSED, decision.why)
    due = world.moment(ended + decision.delay)
    return RestartPlan(run.id, agent.name, PlanState.PLANNED, decision.why, decision.attempt, due)


def last_words(world: World, run: Run) -> str:
    """The last lines of the run's last screen, as far as its receipt has them."""
    receipt = world.store.endings.receipt(run.id)
    return "\n".join(receipt.screen.strip().split("\n")[-LAST_LINES:]) if receipt else ""


def was_cut_short(run: Run, ending: Ending) -> bool:
    """Whether a restart failed before the agent began: then it does not count as an attempt."""
    never_began = ending.reason == "not_started" and ending.detail == SPAWNER_DIED
    return never_began and run.process is None and bool(run.restarted_from)


def seconds_of(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp() if iso else 0.0


def call_off(world: World, runs: Sequence[Run], by: str) -> None:
    """The watch will not start these ended runs again: a kill or a stop has the last word."""
    decided = {plan.run: plan.decision for plan in world.store.restarts.plans()}
    for run in runs:
        if decided.get(run.id, PlanState.PLANNED) != PlanState.PLANNED or run.host != world.host:
            continue
        plan = RestartPlan(run.id, run.agent, PlanState.REFUSED, f"called off by {by}")
        if world.store.restarts.record(plan):
            forget_environment(world, run)


def kept_environment(world: World, run: Run) -> dict[str, str] | None:
    """As it was for this run; for one whose start was cut short, as for the run before it."""
    kept = world.keepers.kept_environment(world.rundir(run.id))
    if kept is not None or run.process is not None or not run.restarted_from:
        return kept
    before = world.store.runs.run(run.restarted_from)
    return kept_environment(world, before) if before else None


def forget_environment(world: World, run: Run) -> None:
    """Of a run that was replaced, or stays ended."""
    world.keepers.forget_environment(world.rundir(run.id))
    forget_earlier(world, run)


def forget_earlier(world: World, run: Run) -> None:
    """Of earlier runs that still have theirs, because the process that replaced them was killed.
    A run that never began has none of its own, and then the one before it may still have one."""
    before = world.store.runs.run(run.restarted_from) if run.restarted_from else None
    if before is None:
        return
    kept = world.keepers.kept_environment(world.rundir(before.id))
    if kept is not None or before.process is None:
        forget_environment(world, before)


def forget_after(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (knell/start_end_steps.py)."""
    for case in cases:
        forget_unless_restarted(world, case.agent, case.run.id)
    return cases


def forget_unless_restarted(world: World, agent: Agent, run_id: str) -> None:
    """Deletes what the ended run was started with, which holds the API keys of the person who
    started it, unless the watch or a restart by hand will start it again with that."""
    run = world.store.runs.run(run_id)
    if run is None or run.live or run.ending is None or run.ending.reason == RESTART:
        return
    if make_plan(world, agent, run, run.ending).decision == PlanState.REFUSED:
        forget_environment(world, run)
