"""Ends agents politely: their own exit, then TERM, then KILL. The conversation is kept."""

from collections.abc import Sequence
from typing import NamedTuple

from quell.core import ladder as ladders
from quell.core.agent import Agent
from quell.core.errors import NoTarget
from quell.core.ladder import Ladder, Rung
from quell.core.lifecycle import Outcome
from quell.core.ports import Won, World
from quell.core.process import Gone
from quell.core.receipt import Receipt, Result
from quell.core.run import Ending, Orphan, Run
from quell.core.selector import Chosen
from quell.life.before import Way
from quell.life.caller import caller, check_authority
from quell.life.choose import Crowd
from quell.life.conversation import find_conversation
from quell.life.ending import await_other
from quell.life.kill import (
    Slain,
    choose_all,
    doomed_runs,
    end_all,
    groups_of,
    self_target,
    told,
)
from quell.life.preview import preview
from quell.life.receipts import blank
from quell.life.settle import ended, settle


class StopWish(NamedTuple):
    targets: tuple[str, ...]
    soft: bool = False  # let go: the process lives on, tracked as an orphan
    grace: float | None = None
    reason: str = ""
    yes: bool = False
    children: bool = True
    dry_run: bool = False


def stop(world: World, wish: StopWish) -> list[Slain]:
    """Active agents only; orphans are kill's and reap's. Without a target: the asking agent."""
    settle(world)
    who = caller(world)
    myself = self_target(who, world)
    targets = wish.targets or ((myself,) if myself else ())
    if not targets:
        raise NoTarget("stop", "name an agent; only inside an agent does stop mean myself")
    reason = wish.reason or ("self" if targets == (myself,) else "manual_stop")
    outcome = Outcome.ARCHIVED if wish.soft else Outcome.STOPPED
    ending = Ending(outcome, who.by, reason)
    crowd = Crowd(world)
    chosen, slain = choose_all(world, crowd, targets)
    runs = doomed_runs(world, crowd, chosen, with_children=wish.children and not wish.soft)
    check_authority(who, runs, groups_of(chosen), told_twice=wish.yes)
    if wish.dry_run:
        receipts = {run.id: preview(world, run, ending) for run in runs}
    elif wish.soft:
        receipts = {run.id: let_go(world, run, ending) for run in runs}
    else:
        way = Way(stop_ladder(world, wish), ending, deregister=True)
        receipts = end_all(world, who, runs, way, "stop")
    left = {} if wish.dry_run else stopped_before(world, chosen)
    return slain + [told(world, crowd, one, receipts, left) for one in chosen]


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


def stop_ladder(world: World, wish: StopWish) -> Ladder:
    grace = world.settings.stop_grace if wish.grace is None else wish.grace
    exit_wait = ladders.checked_wait(world.settings.stop_exit_wait)
    return tuple(
        step._replace(wait=exit_wait) if step.rung is Rung.EXIT_KEYS else step
        for step in ladders.with_grace(ladders.STOP, grace)
    )


def let_go(world: World, run: Run, ending: Ending) -> Receipt:
    """Takes the agent off the books, signals nothing, and remembers its process as an orphan."""
    dead = run.owner if run.owner and isinstance(world.kernel.look(run.owner), Gone) else None
    claim = world.store.claim(run.id, ending, world.kernel.me(), dead)
    if not isinstance(claim, Won):
        return await_other(world, run, Way((), ending))
    agent = world.store.agent(run.agent) or Agent(run.agent, "command", "/")
    receipt = blank(run.agent, Result.LET_GO, world.now())._replace(
        run=run.id,
        kind=agent.kind,
        place=run.place.name,
        by=ending.by,
        reason=ending.reason,
        outcome=ending.outcome.value,
        pid=run.process.pid if run.process else None,
        started_at=run.started_at,
        conversation=find_conversation(world, agent),
    )
    left: list[Orphan] = []
    if run.process:
        command = world.kernel.command(run.process.pid)
        left = [Orphan(run.id, run.agent, agent.tag, run.process, command, "archived")]
    world.store.end(ended(run, ending, world.now()), receipt, left)
    return receipt
