"""Ends agents politely: their own exit, then TERM, then KILL. The conversation is kept."""

from collections.abc import Sequence
from typing import NamedTuple

from quell.core import ladder as ladders
from quell.core.errors import NoTarget
from quell.core.ladder import Ladder, Rung
from quell.core.ports import World
from quell.core.receipt import Receipt, Result
from quell.core.run import Ending, Orphan, Run
from quell.core.selector import Chosen
from quell.core.stopping import StopOptions, StopPlan, stop_plan
from quell.life.authority import check_authority, note_override
from quell.life.before import Way
from quell.life.caller import Caller, caller
from quell.life.choose import Crowd
from quell.life.ending import await_other, claimed
from quell.life.kill import (
    Slain,
    choose_all,
    doomed_runs,
    end_all,
    force_requests,
    nobody_returns,
    self_target,
    told,
)
from quell.life.mirror import write_end
from quell.life.preview import preview
from quell.life.purge import check_purge, purged
from quell.life.receipts import blank
from quell.life.settle import ended, give_up_leaf, settle


class StopWish(NamedTuple):
    targets: tuple[str, ...]
    options: StopOptions = StopOptions()
    grace: float | None = None
    purge: bool = False  # also delete the conversation
    yes: bool = False
    children: bool = True
    dry_run: bool = False


def stop(world: World, wish: StopWish, who: Caller | None = None) -> list[Slain]:
    """Active agents only; orphans are kill's and reap's. Without a target: the asking agent."""
    settle(world)
    who = who or caller(world)
    myself = self_target(who, world)
    targets = wish.targets or ((myself,) if myself else ())
    if not targets:
        raise NoTarget("stop", "name an agent; only inside an agent does stop mean myself")
    plan = stop_plan(wish.options, world.settings.stop_mode)
    reason = "self" if targets == (myself,) and not wish.options.reason else plan.reason
    ending = Ending(plan.outcome, who.by, reason)
    crowd = Crowd(world, targets=targets)
    chosen, slain = choose_all(world, crowd, targets)
    runs = doomed_runs(world, crowd, chosen, with_children=wish.children and not plan.let_go)
    check_authority(world, runs, who, chosen, told_twice=wish.yes)
    check_purge(wish.purge, told_twice=wish.yes)
    way = Way(stop_ladder(world, wish, plan), ending, deregister=True, capture_id=plan.capture_id)
    if not wish.dry_run:
        note_override(world, runs, who)
        force_requests(world, runs, who)
    if wish.dry_run:
        receipts = {run.id: preview(world, run, ending) for run in runs}
    elif plan.let_go:
        receipts = {run.id: let_go(world, run, way) for run in runs}
    else:
        receipts = end_all(world, who, runs, way, "stop")
    left = {} if wish.dry_run else stopped_before(world, chosen)
    if not wish.dry_run:
        nobody_returns(world, crowd, chosen, who)
    slain += [told(world, crowd, one, receipts, left) for one in chosen]
    return purged(world, slain) if wish.purge and not wish.dry_run else slain


def stopped_before(world: World, chosen: Sequence[Chosen]) -> dict[tuple[str, int], Receipt]:
    """For whoever names an agent of which only orphans are left: how it ended, then."""
    named = [c for one in chosen if not one.label for c in one.candidates if c.orphan]
    found: dict[tuple[str, int], Receipt] = {}
    for candidate in named:
        receipt = world.store.receipt(candidate.run)
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
    [one] = claimed(world, [run], way)
    if isinstance(one, Receipt):
        return one
    if one is None:
        return await_other(world, run, way)
    run, agent, ending = one.run, one.agent, way.ending
    receipt = blank(run.agent, Result.LET_GO, world.now())._replace(
        run=run.id,
        kind=agent.kind,
        place=run.place.name,
        by=ending.by,
        reason=ending.reason,
        outcome=ending.outcome.value,
        pid=run.process.pid if run.process else None,
        started_at=run.started_at,
        conversation=one.conversation,
        screen=one.screen,
        warnings=one.warnings,
    )
    left: list[Orphan] = []
    if run.process:
        command = world.kernel.command(run.process.pid)
        left = [Orphan(run.id, run.agent, agent.tag, run.process, command, "archived")]
    world.store.end(ended(run, ending, world.now()), receipt, left)
    give_up_leaf(world, run)
    if one.mirrored:
        trouble = write_end(one.mirrored, ending, receipt, capture_id=way.capture_id)
        receipt = receipt._replace(warnings=(*receipt.warnings, *trouble))
    return receipt
