"""Whether an ended run comes back; what it was started with is kept for that and no longer."""

from collections.abc import Sequence

from knell.core.agent import Agent
from knell.core.ending_steps import Case
from knell.core.ports.world import World
from knell.core.restart import EndedRun, PlanState, RestartPlan, RestartRules, decide
from knell.core.run import Ending, Run
from knell.core.times import seconds_of

SPAWNER_DIED = "the process that started it died"
RESTART = "restart"  # why a run was stopped that `restart` is about to start again
IN_HAND = 60.0  # seconds that a restart by hand may take
LAST_LINES = 5  # of its screen: what scrolled up earlier did not end it


# -- the decision ------------------------------------------------------------------------------


def make_plan(world: World, agent: Agent, run: Run, ending: Ending) -> RestartPlan:
    ended = seconds_of(run.ended_at)
    # A restart that failed before the agent began does not count as an attempt.
    never_began = ending.reason == "not_started" and ending.detail == SPAWNER_DIED
    known = EndedRun(
        ending,
        attempt=run.attempt,
        lived=max(0.0, ended - seconds_of(run.started_at)),
        words=last_words(world, run),
        ended_ago=world.seconds() - ended,
        cut_short=never_began and run.process is None and bool(run.restarted_from),
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


def call_off(world: World, runs: Sequence[Run], by: str) -> None:
    """The watch will not start these ended runs again: a kill or a stop has the last word."""
    decided = {plan.run: plan.decision for plan in world.store.restarts.plans()}
    for run in runs:
        if decided.get(run.id, PlanState.PLANNED) == PlanState.PLANNED and run.host == world.host:
            plan = RestartPlan(run.id, run.agent, PlanState.REFUSED, f"called off by {by}")
            world.store.restarts.record(plan)
    forget_unneeded(world)


def in_hand(world: World, run: Run) -> bool:
    """Stopped a moment ago by `restart`, which is about to start it and needs its environment."""
    by_restart = run.ending is not None and run.ending.reason == RESTART
    return by_restart and abs(world.seconds() - seconds_of(run.ended_at)) < IN_HAND


# -- what it was started with ------------------------------------------------------------------


def kept_environment(world: World, run: Run) -> dict[str, str] | None:
    """As it was for this run; for one whose start was cut short, as for the run before it."""
    kept = world.keepers.kept_environment(world.rundir(run.id))
    if kept is not None or run.process is not None or not run.restarted_from:
        return kept
    before = world.store.runs.run(run.restarted_from)
    return kept_environment(world, before) if before else None


def forget_after(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (knell/start_end_steps.py)."""
    forget_unneeded(world)
    return cases


def forget_unneeded(world: World, *, everywhere: bool = False) -> None:
    """Deletes what runs were started with, which holds the API keys of the person who started
    them, unless the run lives or its agent will be started again with that.

    It looks at what is on disk, not at what was just done, so the next caller also deletes what a
    killed process could not. `everywhere` as in `kept_environments`."""
    kept = world.keepers.kept_environments(world.rundir(""), everywhere=everywhere)
    runs = {id: world.store.runs.run(id) for id in kept}
    needed = {
        id for agent in {run.agent for run in runs.values() if run} for id in _needed(world, agent)
    }
    for id, run in runs.items():
        # A run that is not on record and has a directory may be one that a lost store knew.
        known = run.host == world.host if run else not world.disk.is_directory(world.rundir(id))
        if known and id not in needed:
            world.keepers.forget_environment(world.rundir(id))


def forget_everywhere(world: World) -> None:
    """The same, and also deletes the orders and last screens of ended runs, which hold secrets."""
    forget_unneeded(world, everywhere=True)
    for id in world.keepers.undiscarded(world.rundir("")):
        run = world.store.runs.run(id)
        if run and not run.live and run.host == world.host:
            world.keepers.discard(world.rundir(id))


def _needed(world: World, agent: str) -> list[str]:
    """The runs whose environments are needed to start the agent's newest run again: its own, and
    earlier ones that would be used in its place."""
    run = world.store.runs.newest_of(agent)
    if run is None or not (run.live or _comes_back(world, run)):
        return []
    needed = [run.id]
    while run and run.process is None and run.restarted_from not in ("", *needed):
        if world.keepers.kept_environment(world.rundir(run.id)) is not None:
            break
        needed.append(run.restarted_from)
        run = world.store.runs.run(run.restarted_from)
    return needed


def _comes_back(world: World, run: Run) -> bool:
    """Whether an ended run will be started again, as far as that is decided or would be now."""
    decided = {plan.run: plan.decision for plan in world.store.restarts.plans()}
    if run.id in decided:
        return decided[run.id] == PlanState.PLANNED
    agent = world.store.runs.agent(run.agent)
    if agent is None or run.ending is None:
        return False
    plan = make_plan(world, agent, run, run.ending)
    return in_hand(world, run) or plan.decision == PlanState.PLANNED
