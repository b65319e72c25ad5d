"""Ends runs: claim → prepare → climb → close the pane → record, and the steps that all endings get.

Every verb that ends runs comes through `end`; they differ in the ladder and in the words. The steps
are listed in knell/start_end_steps.py, which this module does not know.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from knell.core import ladder as ladders
from knell.core.codes import Code, Notice
from knell.core.ending_steps import Case, Moment, Way
from knell.core.errors import Refused, StoreFailed
from knell.core.ports.ending_store import Claim, ClaimRequest, End, Over, Won
from knell.core.ports.endings import Callbacks, EndReport
from knell.core.ports.processes import Target
from knell.core.process import Gone, ProcessId
from knell.core.receipt import Pane, Receipt
from knell.core.run import Ending, Orphan, Outcome, Run, State
from knell.life.base.members import SURVIVED, protected_now, with_helpers
from knell.life.base.receipts import (
    already_ended,
    kept_orphans,
    receipt_of,
    refused_receipt,
    unrecorded,
)
from knell.life.base.take_in import take_in
from knell.life.end.prepare import prepare, record_conversation

if TYPE_CHECKING:
    from knell.core.ports.world import World

PATIENCE = 60.0  # seconds; an agent that ends itself is usually ended long before
STEP = 0.02  # seconds between two looks
RECORD_LEFT = Notice(
    Code.RECORD_IN_RUN_DIRECTORY,
    "the record is in the run's directory, and is taken in once the store can be written",
)


def end(world: "World", runs: Sequence[Run], way: Way) -> list[Receipt]:
    """Ends them side by side; one receipt each, in the order given."""
    myself = next((run for run in runs if run.id == way.own_run and run.keeper is None), None)
    others = [run for run in runs if run is not myself]
    receipts = end_ours(world, others, way)
    for run in others:
        if run.id not in receipts:
            receipts[run.id] = await_other(world, run, way)
    if myself is not None:
        receipts[myself.id] = end_from_outside(world, myself, way)
    return [receipts[run.id] for run in runs]


def end_ours(world: "World", runs: Sequence[Run], way: Way) -> dict[str, Receipt]:
    """By run; those that another thread or process is ending are left out."""
    call, begun = object(), world.steps.endings_begun
    mine = [run for run in runs if begun.setdefault(run.id, call) is call]  # lets one call through
    try:
        return end_claimed(world, mine, way)
    finally:
        for run in mine:
            begun.pop(run.id, None)


def end_claimed(world: "World", runs: Sequence[Run], way: Way) -> dict[str, Receipt]:
    """Ends those that the store lets this process end."""
    receipts: dict[str, Receipt] = {}
    cases: list[Case] = []
    over: list[Case] = []
    for run, found in zip(runs, claim_runs(world, runs, way), strict=True):
        if isinstance(found, Receipt):
            receipts[run.id] = found
        elif isinstance(found, Case):
            (cases if found.receipt is None else over).append(found)
    dead = [finish(world, *each) for each in climb(world, cases)]
    over += record_all(world, world.steps.take(Moment.DEAD, dead))
    over = take_last_steps(world, over)
    return receipts | {case.run.id: case.receipt for case in over if case.receipt}


def take_last_steps(world: "World", cases: list[Case], *, let_go: bool = False) -> list[Case]:
    """The steps after the record; what they warn of is added to the stored receipts."""
    done = world.steps.take(Moment.RECORDED, cases, let_go=let_go)
    known = {case.run.id: case.receipt for case in cases}
    amended = [one.receipt for one in done if one.receipt and one.receipt != known[one.run.id]]
    if amended:
        with suppress(StoreFailed):  # the caller gets the receipts, and the store has the end
            world.store.endings.amend(amended)
    return done


# -- claim -------------------------------------------------------------------------------------


def claim_runs(
    world: "World", runs: Sequence[Run], way: Way, *, let_go: bool = False
) -> list[Case | Receipt | None]:
    """Each run prepared, if it is ours to end; its receipt if it is over; None if another process
    is ending it."""
    found: list[Case | Receipt | None] = []
    for run, (claim, warnings) in zip(runs, _claim(world, runs, way), strict=True):
        if isinstance(claim, Over):
            found.append(already_ended(world, claim.run))
        elif isinstance(claim, Won):
            case = prepare(world, claim.run, way, ending_of(way, run), warnings)
            if case.receipt is None or case.ended:
                [case] = world.steps.take(Moment.ALIVE, [case], let_go=let_go)
            found.append(record_conversation(world, case) if case.receipt is None else case)
        else:
            found.append(None)
    return found


def _claim(world: "World", runs: Sequence[Run], way: Way) -> list[tuple[Claim, tuple[Notice, ...]]]:
    """Records in one transaction who may end each; returns that, and what went wrong with it.

    If the store cannot be written, the runs are ended all the same; a bad row harms no other."""
    asked = [ClaimRequest(run.id, ending_of(way, run), _dead_owner(world, run)) for run in runs]
    try:
        won = world.store.endings.claim(asked, world.processes.me())
        return [(claim, ()) for claim in won]
    except StoreFailed as error:
        if len(runs) == 1:
            return [(Won(runs[0]), (unrecorded(error),))]
    return [one for run in runs for one in _claim(world, [run], way)]


def ending_of(way: Way, run: Run) -> Ending:
    """What to call the ending of that run in particular."""
    return way.ending._replace(detail=way.details.get(run.id, way.ending.detail))


def _dead_owner(world: "World", run: Run) -> ProcessId | None:
    return run.owner if run.owner and isinstance(world.processes.look(run.owner), Gone) else None


def await_other(world: "World", run: Run, way: Way) -> Receipt:
    """The receipt of the thread or process that is ending or spawning it; takes over if that one
    dies or gives up."""
    while True:
        now = world.store.runs.run(run.id)
        if now and now.state is State.SPAWNING:
            now = take_in(world, now, {})  # `knell run` turns into its keeper, and records no more
        if now is None or not now.live:
            return already_ended(world, now or run)
        if now.owner is None or isinstance(world.processes.look(now.owner), Gone):
            receipts = end_ours(world, [now], way)
            if now.id in receipts:
                return receipts[now.id]
        world.wait([now.owner] if now.owner else [], STEP)


# -- climb -------------------------------------------------------------------------------------


def climb(world: "World", cases: Sequence[Case]) -> list[tuple[Case, EndReport]]:
    """Signals all of them side by side, rung by rung; each with what came of it."""
    if not cases:
        return []
    by_run = {case.run.id: case for case in cases}

    def record(rungs: Sequence[tuple[str, str]]) -> None:
        # It is said once, in the receipt: a full disk must not save an agent.
        with suppress(StoreFailed):
            world.store.endings.record_rungs([(by_run[run].run, rung) for run, rung in rungs])

    def ask(runs: Sequence[str]) -> dict[str, Notice | None]:
        from knell.life.end.exit_keys import type_exits  # only a stop types

        return type_exits(world, [by_run[run] for run in runs])

    def whole(target: Target) -> Target:
        return with_helpers(world, by_run[target.run].run, target)

    targets = [case.target for case in cases]
    callbacks = Callbacks(lambda: protected_now(world), record, ask, whole)
    reports = world.endings.end(targets, callbacks)
    return [(case, reports[case.run.id]) for case in cases]


# -- close the pane, record --------------------------------------------------------------------


def finish(world: "World", case: Case, report: EndReport) -> Case:
    """Closes the pane last: closing it first would hang up a program in the middle of a write."""
    pane, trouble = close_pane(world, case.run, report)
    conversation = case.conversation
    if case.kind.resume:  # again: a program writes its last words as it leaves; KILL cuts them
        from knell.life.base.conversation import find_conversation

        found = find_conversation(world, case.agent)
        conversation = found if found.id else conversation
    receipt = receipt_of(case.run, case.agent, report, case.asked, world.now())._replace(
        pane=pane,
        conversation=conversation,
        screen=case.screen,
        warnings=(*case.warnings, *trouble, *report.warnings),
    )
    return case._replace(report=report, receipt=receipt)


def close_pane(world: "World", run: Run, report: EndReport) -> tuple[Pane, tuple[Notice, ...]]:
    """The run's pane, closed unless something in it survived, and what went wrong with that."""
    pane = Pane(run.place.name, run.place.pane)
    terminal = world.place(run.place.name)
    if report.survivors or not terminal.has_panes:
        return pane, ()
    closing = terminal.close(run.place, run.id)
    pane = pane._replace(closed=closing.closed, retry=closing.retry)
    if closing.closed:
        return pane, ()
    why = f"pane close failed for {pane.place}: {closing.why}"
    return pane, (Notice(Code.PANE_NOT_CLOSED, why),)


def record_all(world: "World", cases: Sequence[Case]) -> list[Case]:
    """With the receipts as they are kept: all at once, for a commit waits for the disk; where that
    fails, one by one. Until then each keeper's journal speaks for its run."""
    over = [
        (case, case.report, case.receipt)
        for case in cases
        if case.report and case.receipt and not case.report.survivors
    ]
    kept: dict[str, Receipt] = {}
    if len(over) > 1:
        with suppress(StoreFailed):  # one bad row must not harm the others
            ends = [end_of(*one) for one in over]
            kept = {receipt.run: receipt for receipt in world.store.endings.end_all(ends)}
    return [
        case._replace(receipt=kept[case.run.id]) if case.run.id in kept else record(world, case)
        for case in cases
    ]


def end_of(case: Case, report: EndReport, receipt: Receipt) -> End:
    codes = {"exit_code": report.journal.exit_code, "exit_signal": report.journal.exit_signal}
    run = case.run._replace(ending=case.asked._replace(**codes), ended_at=receipt.finished_at)
    return End(run, receipt, kept_orphans(case.run, report.journal, case.agent.tag))


def record(world: "World", case: Case) -> Case:
    run, report, receipt = case.run, case.report, case.receipt
    if report is None or receipt is None:
        return case
    try:
        if report.survivors:
            world.store.runs.track_orphans(survived_orphans(run, report, case.agent.tag))
            world.store.endings.spare(run.id, receipt)
        else:
            receipt = world.store.endings.end_all([end_of(case, report, receipt)])[0]
        return case._replace(receipt=receipt)
    except StoreFailed as error:
        warnings = tuple(dict.fromkeys((*receipt.warnings, unrecorded(error))))
        receipt = receipt._replace(warnings=warnings)
        left = (RECORD_LEFT,) if world.leave_receipt(run.id, receipt) else ()
        return case._replace(receipt=receipt).warn(*left)


def survived_orphans(run: Run, report: EndReport, tag: str) -> list[Orphan]:
    """Records by which its survivors are found again. The agent and its keeper have theirs."""
    pairs = zip(report.survivors, report.survivor_ids, strict=False)  # a keeper names them itself
    own = {process.pid for process in run.processes}
    return [
        Orphan(run.id, run.agent, tag, process, one.command, SURVIVED)
        for one, process in pairs
        if process.pid not in own
    ]


def end_from_outside(world: "World", run: Run, way: Way) -> Receipt:
    """Hands the ending of the caller's own run to a process that is not part of it, and waits.

    With a keeper this is not needed: the keeper finishes the ending."""
    from knell.core.environment import TOKEN, without_caller
    from knell.life.base.caller import give_token

    kill = way.ending.outcome is Outcome.KILLED
    why = way.ending.detail if kill else way.ending.reason
    grace = str(ladders.grace_of(way.ladder))
    # Its children were ended before it, or were meant to be spared.
    command = ("kill" if kill else "stop", f"id:{run.id}", "--no-children", "--grace", grace)
    # An adopted run has no token of its own, so that this one is the only one.
    _, token = give_token(world, run)
    env = {**without_caller(world.env), TOKEN: token}
    world.keepers.run_detached((*command, "--reason", why), env)
    for _ in range(round(PATIENCE / STEP)):
        world.wait([], STEP)
        now = world.store.runs.run(run.id)
        if now is None or not now.live:
            return already_ended(world, now or run)
    error = Refused(
        f"the ending of '{run.agent}' did not finish",
        f"knell show {run.agent}",
        code=Code.ENDING_UNFINISHED,
    )
    return refused_receipt(run.agent, error, world.now())
