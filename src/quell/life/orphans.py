"""Processes that outlived their run: found by the tracker and by their stamp."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from quell.core.climbing import Fall, Target
from quell.core.errors import StoreFailed
from quell.core.ladder import Ladder
from quell.core.process import Gone
from quell.core.receipt import Ended, Pane, Receipt, Result
from quell.core.run import Ending, Orphan, Run
from quell.life.before import others_alive, target_of
from quell.life.ending import closed_pane
from quell.life.receipts import blank

if TYPE_CHECKING:
    from quell.core.ports import World


class OrphanEnd(NamedTuple):
    orphan: Orphan
    receipt: Receipt


def living_orphans(world: "World", *, by_stamp: bool) -> list[Orphan]:
    """Tracked ones that still live, and with `by_stamp` also those nobody wrote down."""
    tracked = [
        o for o in world.store.orphans() if not isinstance(world.kernel.look(o.process), Gone)
    ]
    if not by_stamp:
        return tracked
    known = {(o.process.pid, o.process.start) for o in tracked}
    archived = {o.run for o in tracked if o.why == "archived"}
    for run_id, members in world.kernel.stamps().items():
        run = world.store.run(run_id)
        if run is None or run_id in archived:
            continue  # another QUELL_HOME's, not ours to judge; or held by a keeper we know
        why = _why_orphaned(world, run)
        if not why:
            continue
        agent = world.store.agent(run.agent)
        tracked += [
            Orphan(run_id, run.agent, agent.tag if agent else "", m.process, m.command, why)
            for m in members
            if (m.process.pid, m.process.start) not in known
            and m.process.pid != world.kernel.me().pid
        ]
    return tracked


def of_ended_runs(world: "World", *, by_stamp: bool) -> list[Orphan]:
    """What no live run answers for: the leftovers of a live one go with it."""
    live = {run.id for run in world.store.live_runs()}
    return [o for o in living_orphans(world, by_stamp=by_stamp) if o.run not in live]


def _why_orphaned(world: "World", run: Run) -> str:
    if run.host != world.host:
        return ""
    if not run.live:
        return "outlived its run"
    if run.keeper and isinstance(world.kernel.look(run.keeper), Gone):
        return "its keeper is gone"
    return ""


def forget_dead(world: "World") -> None:
    dead = [
        o.process for o in world.store.orphans() if isinstance(world.kernel.look(o.process), Gone)
    ]
    try:
        world.store.untrack(dead)
    except StoreFailed:
        pass  # they are looked at again before anything is done to them


def end_orphans(
    world: "World", orphans: Sequence[Orphan], ladder: Ladder, ending: Ending
) -> list[OrphanEnd]:
    """Ends them, with everything below them; what has ended is no longer tracked."""
    if not orphans:
        return []
    targets = [_target(world, orphan, ladder) for orphan in orphans]
    falls = world.kernel.climb(targets, others_alive(world), lambda _: None, lambda _: "")
    ends = [
        OrphanEnd(orphan, _receipt(world, orphan, falls[target.run], ending))
        for orphan, target in zip(orphans, targets, strict=True)
    ]
    return [_recorded(world, end) for end in ends]


def _recorded(world: "World", end: OrphanEnd) -> OrphanEnd:
    orphan, receipt = end
    try:
        if not receipt.survivors:
            world.store.untrack([orphan.process])
        world.store.note("orphan.ended", orphan.agent, orphan.run, receipt.to_json())
    except StoreFailed as error:
        told = f"the store could not be written ({error})"
        return OrphanEnd(orphan, receipt._replace(warnings=(*receipt.warnings, told)))
    return end


def _target(world: "World", orphan: Orphan, ladder: Ladder) -> Target:
    """With its keeper, if that still holds it; else just that process and what is below it."""
    run = world.store.run(orphan.run)
    key = f"{orphan.run}/{orphan.process.pid}"
    if run and run.process and run.process.same_as(orphan.process) and run.keeper:
        return target_of(world, run)._replace(run=key, ladder=ladder)
    return Target(key, "", None, orphan.process, "", ladder, alone=True)


def _receipt(world: "World", orphan: Orphan, fall: Fall, ending: Ending) -> Receipt:
    result = Result.ENDED if fall.began else Result.ALREADY_ENDED
    if fall.survivors:
        result = Result.PERMISSION_DENIED if fall.denied else Result.SURVIVORS
    pane, trouble = _pane(world, orphan, fall)
    return blank(orphan.agent, result, world.now())._replace(
        run=orphan.run,
        place="orphan",
        by=ending.by,
        reason=ending.reason,
        outcome="" if fall.survivors else ending.outcome.value,
        pid=orphan.process.pid,
        duration_ms=fall.millis,
        proof=fall.proof,
        rungs=fall.rungs,
        processes=fall.processes,
        survivors=fall.survivors,
        pane=pane,
        detail=orphan.why,
        warnings=(*trouble, *fall.warnings),
    )


def _pane(world: "World", orphan: Orphan, fall: Fall) -> tuple[Pane, tuple[str, ...]]:
    """An agent that was let go of may still have its pane; a mere leftover never had one."""
    run = world.store.run(orphan.run)
    if run and run.process and run.process.same_as(orphan.process):
        return closed_pane(world, run, fall)
    return Pane("headless"), ()


def orphan_preview(world: "World", orphan: Orphan, ending: Ending) -> Receipt:
    """What ending it would mean, without doing it."""
    members = world.kernel.members(_target(world, orphan, ()), others_alive(world))
    return blank(orphan.agent, Result.WOULD_END, world.now())._replace(
        run=orphan.run,
        place="orphan",
        by=ending.by,
        reason=ending.reason,
        pid=orphan.process.pid,
        processes=tuple(Ended(m.process.pid, m.command, m.via, "") for m in members),
        detail=orphan.why,
    )
