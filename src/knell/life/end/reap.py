"""Lists and ends processes that outlived their run (orphans)."""

from collections.abc import Sequence
from typing import NamedTuple

from knell.core import ladder as ladders
from knell.core.authority import Deed, Relation, Subject
from knell.core.codes import Code
from knell.core.ending_steps import Case, Moment, Way
from knell.core.errors import NoSuchAgent, Refused, StoreFailed
from knell.core.ladder import Ladder
from knell.core.ports.endings import Callbacks, EndReport
from knell.core.ports.processes import Target
from knell.core.ports.world import World
from knell.core.receipt import Pane, Receipt, Result
from knell.core.run import Ending, Orphan, Outcome, Run
from knell.life.base.authority import check, check_agents
from knell.life.base.caller import caller
from knell.life.base.conversation import find_conversation
from knell.life.base.members import forget_dead, living_orphans, protected_now, target_of
from knell.life.base.receipts import blank, result_of, unrecorded, would_end
from knell.life.base.take_in import take_in_journals
from knell.life.end.engine import close_pane
from knell.life.end.owed import take_owed


class OrphanEnd(NamedTuple):
    orphan: Orphan
    receipt: Receipt


class Reaped(NamedTuple):
    orphans: list[Orphan]
    ends: list[OrphanEnd]


def reap(
    world: World,
    *,
    end: bool,
    names: Sequence[str] = (),
    grace: float | None = None,
    dry_run: bool = False,
) -> Reaped:
    """The orphans, of these agents if names are given; ended only if asked to."""
    take_in_journals(world)
    forget_dead(world)
    orphans = [o for o in living_orphans(world) if not names or o.agent in names]
    for name in names:
        if not any(o.agent == name for o in orphans) and world.store.runs.agent(name) is None:
            raise NoSuchAgent(name)
    who = caller(world)
    if not end and not dry_run:
        return Reaped(orphans, [])
    if not dry_run:
        check_agents(world, who, Deed.REAP, [o.agent for o in orphans], confirmed=True)
        take_owed(world, names)
        if not names:
            world.steps.reap_backends(who.by)
    way = _reaping(world, who.by, grace)
    return Reaped(orphans, end_or_preview(world, orphans, way, dry_run=dry_run))


def reap_foreign(world: World, pids: Sequence[int], *, dry_run: bool = False) -> list[OrphanEnd]:
    """Ends leftovers of agents that knell did not start: only those listed, only by PID."""
    who = caller(world)
    if not dry_run:
        strangers = [Subject(f"PID {pid}", Relation.STRANGE) for pid in pids]
        check(world, who, Deed.REAP_FOREIGN, strangers, confirmed=True)
    leftovers = world.processes.foreign_leftovers(world.kinds.everything()[0])
    listed = {member.process.pid: member for member in leftovers}
    for pid in pids:
        if pid not in listed:
            raise Refused(
                f"PID {pid} is not among the foreign leftovers",
                "knell reap --foreign lists them",
                code=Code.NOT_OURS,
            )
    meant = [listed[pid] for pid in pids]
    orphans = [Orphan("", "foreign", "", one.process, one.command, one.via) for one in meant]
    return end_or_preview(world, orphans, _reaping(world, who.by), dry_run=dry_run)


def _reaping(world: World, by: str, grace: float | None = None) -> Way:
    ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace if grace is None else grace)
    return Way(ladder, Ending(Outcome.KILLED, by, "reaped"))


# -- ending them -------------------------------------------------------------------------------


def end_or_preview(
    world: World, orphans: Sequence[Orphan], way: Way, *, dry_run: bool
) -> list[OrphanEnd]:
    """Ends them, with everything below them; or says what that would end.

    What has ended is no longer on record. An agent that was let go ends only now, so it gets the
    steps of every ending. What they warn of after the record is in the receipt that is returned:
    the event is written before them, so that a kill of this process cannot lose it, and events
    never change."""
    if not orphans:
        return []
    owners = {orphan: _own_run(world, orphan) for orphan in orphans}
    targets = {orphan: _target(world, orphan, owners[orphan], way.ladder) for orphan in orphans}
    if dry_run:
        return [OrphanEnd(one, _preview(world, one, targets[one], way.ending)) for one in orphans]
    found = [_agents_case(world, run, targets[orphan], way) for orphan, run in owners.items()]
    cases = world.steps.take(Moment.ALIVE, [case for case in found if case])
    reports = world.endings.end(list(targets.values()), Callbacks(lambda: protected_now(world)))
    receipts = {
        target.run: _finish(world, orphan, owners[orphan], reports[target.run], way.ending)
        for orphan, target in targets.items()
    }
    cases = [
        case._replace(receipt=receipts[case.target.run], warnings=()).warn(*case.warnings)
        for case in cases
    ]
    cases = world.steps.take(Moment.DEAD, cases)
    receipts |= {case.target.run: case.receipt for case in cases if case.receipt}
    for orphan, target in targets.items():
        receipts[target.run] = _record(world, orphan, receipts[target.run])
    cases = [case._replace(receipt=receipts[case.target.run]) for case in cases]
    cases = world.steps.take(Moment.RECORDED, cases)
    receipts |= {case.target.run: case.receipt for case in cases if case.receipt}
    return [OrphanEnd(orphan, receipts[target.run]) for orphan, target in targets.items()]


def _own_run(world: World, orphan: Orphan) -> Run | None:
    """The run whose agent this process is; None for what an agent left behind."""
    run = world.store.runs.run(orphan.run)
    own = run is not None and run.process is not None and run.process.same_as(orphan.process)
    return run if own else None


def _target(world: World, orphan: Orphan, run: Run | None, ladder: Ladder) -> Target:
    """With its keeper, if that still holds it; else just that process and what is below it."""
    key = f"{orphan.run}/{orphan.process.pid}"
    if run and run.keeper:
        return target_of(world, run)._replace(run=key, ladder=ladder)
    return Target(key, "", None, orphan.process, "", ladder, alone=True)


def _agents_case(world: World, run: Run | None, target: Target, way: Way) -> Case | None:
    """The case of an agent that was let go; None for what an agent left behind. The words with
    which it was let go are not those of its end."""
    agent = world.store.runs.agent(run.agent) if run else None
    if run is None or agent is None:
        return None
    kind, conversation = world.kinds.kind_or_command(agent.kind), find_conversation(world, agent)
    return Case(run._replace(ending=None), agent, kind, way, way.ending, target, conversation)


def _finish(
    world: World, orphan: Orphan, run: Run | None, report: EndReport, ending: Ending
) -> Receipt:
    """Closes the pane that an agent that was let go may still have; returns the receipt."""
    pane, trouble = close_pane(world, run, report) if run else (Pane("headless"), ())
    return _orphan_receipt(orphan, ending, result_of(report), world.now())._replace(
        outcome="" if report.survivors else ending.outcome.value,
        duration_ms=report.millis,
        proof=report.proof,
        rungs=report.rungs,
        processes=report.processes,
        survivors=report.survivors,
        pane=pane,
        warnings=(*trouble, *report.warnings),
    )


def _orphan_receipt(orphan: Orphan, ending: Ending, result: Result, at: str) -> Receipt:
    return blank(orphan.agent, result, at)._replace(
        run=orphan.run,
        place="orphan",
        by=ending.by,
        reason=ending.reason,
        pid=orphan.process.pid,
        detail=orphan.why,
    )


def _preview(world: World, orphan: Orphan, target: Target, ending: Ending) -> Receipt:
    """What ending it would mean, without doing it."""
    members = world.processes.members(target, protected_now(world))
    receipt = _orphan_receipt(orphan, ending, Result.WOULD_END, world.now())
    return receipt._replace(processes=would_end(members))


def _record(world: World, orphan: Orphan, receipt: Receipt) -> Receipt:
    try:
        if not receipt.survivors:
            world.store.runs.untrack_orphans([orphan.process])
        world.store.events.record("orphan.ended", orphan.agent, orphan.run, receipt.to_json())
    except StoreFailed as error:
        return receipt._replace(warnings=(*receipt.warnings, unrecorded(error)))
    return receipt
