"""Ends agents politely: their own exit, then TERM, then KILL. The conversation is kept."""

from collections.abc import Sequence
from typing import NamedTuple

from knell.core import ladder as ladders
from knell.core.ending_steps import Way
from knell.core.errors import BadRequest, NoTarget
from knell.core.ladder import Ladder, Rung
from knell.core.ports.world import World
from knell.core.receipt import Receipt, Result, TargetResult
from knell.core.run import Ending, Orphan, Run
from knell.core.selector import Chosen
from knell.core.stop_plan import StopOptions, StopPlan, stop_plan
from knell.life.base.authority import note_override
from knell.life.base.caller import Caller, caller
from knell.life.base.receipts import run_receipt
from knell.life.base.take_in import give_up_leaf
from knell.life.base.targets import ByOrphan, Crowd, Picture
from knell.life.end.engine import await_other, claim_runs, end, take_last_steps
from knell.life.end.kill import PURGE, call_off_restarts, check_meant, force_requests
from knell.life.end.prepare import preview
from knell.life.end.purge import check_purge, purge_all


class StopWish(NamedTuple):
    targets: tuple[str, ...]
    options: StopOptions = StopOptions()
    grace: float | None = None
    purge: bool = False  # also delete the conversation
    yes: bool = False
    children: bool = True
    dry_run: bool = False


def stop(world: World, wish: StopWish, who: Caller | None = None) -> list[TargetResult]:
    """Live agents only; orphans are for kill and reap. Without a target: the agent that asks."""
    picture = Picture(world)
    who = who or caller(world, picture.live, picture.seen)
    myself = next((run.agent for run in picture.live if run.id == who.run), "")
    targets = wish.targets or ((myself,) if myself else ())
    if not targets:
        raise NoTarget(
            "stop", "name an agent; only inside an agent, knell stop alone stops that agent"
        )
    plan = plan_of(world, wish)
    reason = "self" if targets == (myself,) and not wish.options.reason else plan.reason
    ending = Ending(plan.outcome, who.by, reason)
    crowd = Crowd(picture, targets=targets)
    meant = crowd.meaning(targets, with_children=wish.children and not plan.let_go)
    runs, seats = meant.runs, picture.seats
    signalled = meant._replace(orphans=[])  # those are for kill and reap
    check_meant(
        crowd, who, signalled, seats, confirmed=wish.yes, cleans=PURGE if wish.purge else ""
    )
    check_purge(wish.purge, confirmed=wish.yes)
    if plan.exit_keys:
        check_kinds(picture, runs)
    ladder = stop_ladder(world, wish, plan)
    own, capture = who.run_above, plan.capture_id
    way = Way(ladder, ending, deregister=True, capture_id=capture, own_run=own)
    way = way._replace(agents=picture.agents)
    if wish.dry_run:
        ended = [preview(world, run, ending) for run in runs]
    else:
        note_override(world, runs, who, seats)
        force_requests(picture, runs, who)
        ended = [let_go(world, run, way) for run in runs] if plan.let_go else end(world, runs, way)
        call_off_restarts(crowd, meant.over, who)
    left: ByOrphan = {} if wish.dry_run else stopped_before(world, meant.chosen)
    results = crowd.results(meant, ended, left)
    return purge_all(world, results) if wish.purge and not wish.dry_run else results


def plan_of(world: World, wish: StopWish) -> StopPlan:
    plan = stop_plan(wish.options, world.settings.stop_default_mode)
    if plan.let_go and wish.grace is not None:
        why = "a soft stop sends no signal, so --grace has no effect"
        raise BadRequest(why, "give --mode hard, or no --grace")
    return plan


def check_kinds(picture: Picture, runs: Sequence[Run]) -> None:
    """Raises if a kind is broken: its exit keys are unknown, and a TERM could lose what they save.
    `kill` ends such an agent all the same."""
    for run in runs:
        if agent := picture.agent(run.agent):
            picture.world.kind(agent.kind)


def stopped_before(world: World, chosen: Sequence[Chosen]) -> ByOrphan:
    """The receipts of named agents that have ended, and of which only orphans are left."""
    named = [c for one in chosen if not one.label for c in one.candidates if c.orphan]
    found: dict[tuple[str, int], Receipt] = {}
    for candidate in named:
        receipt = world.store.endings.receipt(candidate.run)
        if receipt and receipt.result is not Result.LET_GO:
            receipt = receipt._replace(result=Result.ALREADY_ENDED)
        if receipt:
            found |= {(candidate.run, pid): receipt for pid in candidate.pids}
    return found


def stop_ladder(world: World, wish: StopWish, plan: StopPlan) -> Ladder:
    grace = world.settings.stop_grace if wish.grace is None else wish.grace
    exit_wait = ladders.checked_wait(world.settings.stop_exit_wait)
    return tuple(
        step._replace(wait=exit_wait) if step.rung is Rung.EXIT_KEYS else step
        for step in ladders.with_grace(ladders.STOP, grace)
        if plan.exit_keys or step.rung is not Rung.EXIT_KEYS
    )


def let_go(world: World, run: Run, way: Way) -> Receipt:
    """Takes the agent off the books, signals nothing, and remembers its process as an orphan."""
    [case] = claim_runs(world, [run], way, let_go=True)
    if isinstance(case, Receipt):
        return case
    if case is None:
        return await_other(world, run, way)
    if case.receipt is not None:
        return case.receipt
    run, at = case.run, world.now()
    receipt = run_receipt(run, case.agent, way.ending, Result.LET_GO, at)._replace(
        conversation=case.conversation, screen=case.screen, warnings=case.warnings
    )
    left: list[Orphan] = []
    if run.process:
        command = world.processes.command(run.process.pid)
        left = [Orphan(run.id, run.agent, case.agent.tag, run.process, command, "archived")]
    world.store.endings.end(run._replace(ending=way.ending, ended_at=at), receipt, left)
    give_up_leaf(world, run)
    [case] = take_last_steps(world, [case._replace(receipt=receipt, way=way)], let_go=True)
    return case.receipt or receipt
