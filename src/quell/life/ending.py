"""The one way in which runs are ended: claim → look → climb → close the pane → record.

Every verb that ends runs comes through `end_runs`; they differ in the ladder and in the words.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quell.core.climbing import Fall
from quell.core.environment import SHARED, shares
from quell.core.errors import StoreFailed
from quell.core.lifecycle import Outcome
from quell.core.process import Gone, ProcessId
from quell.core.receipt import Pane, Receipt
from quell.core.run import Ending, Run
from quell.core.store import Asked, Claim, End, Over, Won
from quell.life.before import Doomed, Way, looked_at, others_alive
from quell.life.conversation import find_conversation
from quell.life.exitkeys import type_exit
from quell.life.mirror import write_end
from quell.life.receipts import already_ended, receipt_of
from quell.life.settle import ended, kept_orphans, survived_orphans

if TYPE_CHECKING:
    from quell.core.ports import World

UNRECORDED = "the store could not be written ({})"
# A claim in the store is this process's, so that threads of it, as in a server, need one as well.
_AT_WORK: dict[str, object] = {}  # run → the call that ends it; setdefault lets one through
LEFT = "the record is in the run's directory, and is taken in once the store can be written"


def end_runs(world: "World", runs: Sequence[Run], way: Way) -> list[Receipt]:
    """Ends them side by side; one receipt each, in the order given."""
    me = object()
    mine = [run for run in runs if _AT_WORK.setdefault(run.id, me) is me]
    try:
        receipts = ended_by_us(world, mine, way)
    finally:
        for run in mine:
            del _AT_WORK[run.id]
    for run in runs:
        if run.id not in receipts:
            receipts[run.id] = await_other(world, run, way)
    return [receipts[run.id] for run in runs]


def ended_by_us(world: "World", runs: Sequence[Run], way: Way) -> dict[str, Receipt]:
    """By run; those that somebody else is ending are left out."""
    receipts: dict[str, Receipt] = {}
    doomed: list[Doomed] = []
    for run, claim in zip(runs, claimed(world, runs, way), strict=True):
        if isinstance(claim, Receipt):
            receipts[run.id] = claim
        elif isinstance(claim, Doomed):
            doomed.append(claim)
    falls = climb(world, doomed)
    if any(shares(one.agent.env) for one in doomed):
        from quell.life.backends.server_ends import parted

        doomed = parted(world, doomed)
    receipts |= finished(world, [(one, falls[one.run.id]) for one in doomed], way)
    if any(SHARED in dict(one.agent.env) for one in doomed):
        from quell.life.backends.server_ends import reap_unused

        reap_unused(world, way.ending.by)
    return receipts


# -- claim -------------------------------------------------------------------------------------


def claimed(world: "World", runs: Sequence[Run], way: Way) -> list[Doomed | Receipt | None]:
    """Each run, ours to end; or its receipt if it is over; or None while another is at it."""
    found: list[Doomed | Receipt | None] = []
    for claim, warnings in claims(world, runs, way):
        if isinstance(claim, Over):
            found.append(already_ended(world, claim.run))
        else:
            ours = isinstance(claim, Won)
            found.append(looked_at(world, claim.run, way, warnings) if ours else None)
    return found


def claims(world: "World", runs: Sequence[Run], way: Way) -> list[tuple[Claim, tuple[str, ...]]]:
    """Who may end each, all written down at once, and what went wrong with that.

    A store that cannot be written saves nobody; one bad row spoils it for no other."""
    asked = [Asked(run.id, way.ending_of(run.id), _dead_owner(world, run)) for run in runs]
    try:
        won = world.store.claim_all(asked, world.kernel.me())
        return [(claim, ()) for claim in won]
    except StoreFailed as error:
        if len(runs) == 1:
            return [(Won(runs[0]), (UNRECORDED.format(error),))]
    return [one for run in runs for one in claims(world, [run], way)]


def _dead_owner(world: "World", run: Run) -> ProcessId | None:
    return run.owner if run.owner and isinstance(world.kernel.look(run.owner), Gone) else None


def await_other(world: "World", run: Run, way: Way) -> Receipt:
    """The receipt of whoever is ending or spawning it; takes over if that one dies."""
    while True:
        now = world.store.run(run.id)
        if now is None or not now.live:
            return already_ended(world, now or run)
        world.kernel.wait([now.owner] if now.owner else [], 0.02 if now.owner else 0.0)
        if now.owner is None or isinstance(world.kernel.look(now.owner), Gone):
            return end_runs(world, [now], way)[0]


# -- climb -------------------------------------------------------------------------------------


def climb(world: "World", doomed: Sequence[Doomed]) -> dict[str, Fall]:
    if not doomed:
        return {}
    by_run = {one.run.id: one for one in doomed}

    def record(rungs: Sequence[tuple[str, str]]) -> None:
        try:
            world.store.climbing(rungs)
        except StoreFailed:
            return  # said once, in the receipt: a full disk must not save an agent

    def ask(run: str) -> str:
        return type_exit(world, by_run[run].run, by_run[run].agent)

    return world.kernel.climb([one.target for one in doomed], others_alive(world), record, ask)


# -- close the pane, record --------------------------------------------------------------------


def finished(world: "World", fallen: Sequence[tuple[Doomed, Fall]], way: Way) -> dict[str, Receipt]:
    """By run. Until it is written down, each keeper's journal speaks for it."""
    if len(fallen) > 1 and any(asked_of(one, way).cleanup for one, _ in fallen):
        # Each sees in the books whether another still works in the worktree that it tidies up.
        alone = [finished(world, [each], way) for each in fallen]
        return {run: receipt for one in alone for run, receipt in one.items()}
    receipts = [finish(world, one, fall, way) for one, fall in fallen]
    kept = recorded_all(world, fallen, receipts)
    return {
        one.run.id: mirrored_end(one, fall, receipt, way)
        for (one, fall), receipt in zip(fallen, kept, strict=True)
    }


def asked_of(one: Doomed, way: Way) -> Ending:
    return one.run.ending or way.ending_of(one.run.id)


def finish(world: "World", one: Doomed, fall: Fall, way: Way) -> Receipt:
    """Closes the pane last: closing it first would hang up a program in the middle of a write."""
    pane, trouble = closed_pane(world, one.run, fall)
    asked = asked_of(one, way)
    receipt = receipt_of(one.run, one.agent, fall, asked, world.now())._replace(
        pane=pane,
        # Looked up again: a program writes its last words as it leaves, and KILL cuts them short.
        conversation=find_conversation(world, one.agent, one.conversation.found_by),
        screen=one.screen,
        warnings=(*one.warnings, *trouble, *fall.warnings),
    )
    if asked.cleanup and not fall.survivors:
        receipt = cleaned_up(world, one, receipt, asked.cleanup)
    return receipt


def mirrored_end(one: Doomed, fall: Fall, receipt: Receipt, way: Way) -> Receipt:
    """The registry file's row too, if it has one."""
    if one.mirrored is None or fall.survivors:
        return receipt
    asked = asked_of(one, way)
    trouble = write_end(one.mirrored, asked, receipt, capture_id=way.capture_id)
    return receipt._replace(warnings=(*receipt.warnings, *trouble))


def closed_pane(world: "World", run: Run, fall: Fall) -> tuple[Pane, tuple[str, ...]]:
    """The run's pane, closed unless something in it survived, and what went wrong with that."""
    pane = Pane(run.place.name, run.place.pane)
    terminal = world.place(run.place.name)
    if fall.survivors or not terminal.has_panes:
        return pane, ()
    closing = terminal.close(run.place, run.id)
    pane = pane._replace(closed=closing.closed, retry=closing.retry)
    if closing.closed:
        return pane, ()
    return pane, (f"pane close failed for {pane.place}: {closing.why}",)


def cleaned_up(world: "World", one: Doomed, receipt: Receipt, mode: str) -> Receipt:
    """Before the end is written: whoever finishes an interrupted ending cleans up as well."""
    from quell.core.worktree import Cleanup
    from quell.life.cleanup import cleaned

    cleaning = cleaned(world, one.run, one.agent, Cleanup(mode))
    if cleaning.state in ("removed", "gone"):
        try:
            world.store.set_worktree(cleaning.worktree, "cleaned")
        except StoreFailed:
            pass  # said with the ending, which cannot be written either
    return receipt._replace(worktree=cleaning.worktree, cleaning=cleaning)


def recorded_all(
    world: "World", fallen: Sequence[tuple[Doomed, Fall]], receipts: Sequence[Receipt]
) -> list[Receipt]:
    """As they are kept: all at once, for a commit waits for the disk; else one by one."""
    told = [(one, fall, receipt) for (one, fall), receipt in zip(fallen, receipts, strict=True)]
    ends = [end_of(*each) for each in told if not each[1].survivors]
    kept: dict[str, Receipt] = {}
    if len(ends) > 1:
        try:
            written = world.store.end_all(ends)
        except StoreFailed:
            written = []  # one bad row spoils it for no other
        kept = {receipt.run: receipt for receipt in written}
    return [
        kept.get(one.run.id) or recorded(world, one, fall, receipt) for one, fall, receipt in told
    ]


def end_of(one: Doomed, fall: Fall, receipt: Receipt) -> End:
    ending = (one.run.ending or Ending(*_killed(receipt)))._replace(
        exit_code=fall.journal.exit_code, exit_signal=fall.journal.exit_signal
    )
    orphans = kept_orphans(one.run, fall.journal, one.agent.tag)
    return End(ended(one.run, ending, receipt.finished_at), receipt, orphans)


def recorded(world: "World", one: Doomed, fall: Fall, receipt: Receipt) -> Receipt:
    run = one.run
    try:
        if fall.survivors:
            world.store.track(survived_orphans(run, fall, one.agent.tag))
            world.store.spare(run.id, receipt)
            return receipt
        return world.store.end(*end_of(one, fall, receipt))
    except StoreFailed as error:
        told = tuple(dict.fromkeys((*receipt.warnings, UNRECORDED.format(error))))
        receipt = receipt._replace(warnings=told)
        if world.leave_receipt(run.id, receipt):
            return receipt._replace(warnings=(*told, LEFT))
    return receipt


def _killed(receipt: Receipt) -> tuple[Outcome, str, str]:
    return Outcome(receipt.outcome), receipt.by, receipt.reason
