"""The one way in which runs are ended: claim → look → climb → close the pane → record.

Every verb that ends runs comes through `end_runs`; they differ in the ladder and in the words.
"""

from collections.abc import Sequence
from typing import NamedTuple

from quell.core.agent import Agent
from quell.core.errors import PlaceFailed, StoreFailed
from quell.core.ladder import Ladder, Rung
from quell.core.lifecycle import Outcome
from quell.core.ports import Absent, Fall, Over, Present, Target, Won, World
from quell.core.process import Gone, ProcessId, Unknown
from quell.core.receipt import Conversation, Pane, Receipt, Result
from quell.core.redact import kept_screen
from quell.core.run import Ending, Run
from quell.life.conversation import find_conversation
from quell.life.receipts import already_ended, no_pid_receipt, receipt_of
from quell.life.settle import agent_tag, born, ended, kept_orphans

UNRECORDED = "the store could not be written ({}); the record is kept in the run's directory"


class Way(NamedTuple):
    """How to end runs, and what to call it."""

    ladder: Ladder
    ending: Ending
    deregister: bool = False  # a run without any process is written off instead of refused


class Doomed(NamedTuple):
    """A run whose ending this process has claimed, and what was seen before the first signal."""

    run: Run
    agent: Agent
    target: Target
    conversation: Conversation
    screen: str
    warnings: tuple[str, ...]


def end_runs(world: World, runs: Sequence[Run], way: Way) -> list[Receipt]:
    """Ends them side by side; one receipt each, in the order given."""
    receipts: dict[str, Receipt] = {}
    doomed: list[Doomed] = []
    others: list[Run] = []
    for run in runs:
        claim = claimed(world, run, way)
        if isinstance(claim, Receipt):
            receipts[run.id] = claim
        elif isinstance(claim, Doomed):
            doomed.append(claim)
        else:
            others.append(run)
    falls = climb(world, doomed)
    for one in doomed:
        receipts[one.run.id] = finish(world, one, falls[one.run.id], way)
    for run in others:
        receipts[run.id] = await_other(world, run, way)
    return [receipts[run.id] for run in runs]


# -- claim -------------------------------------------------------------------------------------


def claimed(world: World, run: Run, way: Way) -> Doomed | Receipt | None:
    """The run, ours to end; or its receipt if it is over; or None while somebody else is at it."""
    dead = run.owner if run.owner and isinstance(world.kernel.look(run.owner), Gone) else None
    warnings: tuple[str, ...] = ()
    try:
        claim = world.store.claim(run.id, way.ending, world.kernel.me(), dead)
    except StoreFailed as error:
        claim, warnings = Won(run), (UNRECORDED.format(error),)
    if isinstance(claim, Over):
        return already_ended(world, claim.run)
    if not isinstance(claim, Won):
        return None
    return looked_at(world, claim.run, way, warnings)


def await_other(world: World, run: Run, way: Way) -> Receipt:
    """The receipt of whoever is ending or spawning it; takes over if that one dies."""
    while True:
        now = world.store.run(run.id)
        if now is None or not now.live:
            return already_ended(world, now or run)
        world.kernel.wait([now.owner] if now.owner else [], 0.02 if now.owner else 0.0)
        if now.owner is None or isinstance(world.kernel.look(now.owner), Gone):
            return end_runs(world, [now], way)[0]


# -- look --------------------------------------------------------------------------------------


def looked_at(world: World, run: Run, way: Way, warnings: tuple[str, ...]) -> Doomed | Receipt:
    """Everything that must be seen while the agent still lives."""
    agent = world.store.agent(run.agent) or Agent(run.agent, "command", "/")
    if run.process is None:
        run = born(run, world.kernel.journal(world.rundir(run.id)))
    if run.process is None and run.keeper is None:
        run = seen_in_pane(world, run)
    if run.process is None and run.keeper is None:
        return no_process(world, run, agent, way)
    terminal = world.place(run.place.name)
    seen = terminal.look(run.place, run.id) if terminal.has_panes else Absent()
    screen = ""
    if isinstance(seen, Unknown):
        warnings = (*warnings, f"{run.place.name} did not answer: {seen.why}")
    elif isinstance(seen, Present) or run.place.log:
        try:
            screen = kept_screen(terminal.screen(run.place))
        except PlaceFailed as error:
            warnings = (*warnings, f"the last screen could not be read: {error}")
    ladder = way.ladder
    if not isinstance(seen, Present) or not world.kind(agent.kind).exit_keys:
        ladder = tuple(step for step in ladder if step.rung is not Rung.EXIT_KEYS)
    target = target_of(world, run)._replace(ladder=ladder)
    return Doomed(run, agent, target, find_conversation(world, agent), screen, warnings)


def seen_in_pane(world: World, run: Run) -> Run:
    """A pane that carries the run's tag tells its process, though nobody wrote it down."""
    terminal = world.place(run.place.name)
    seen = terminal.look(run.place, run.id) if run.place.pane else Absent()
    pid = seen.pid if isinstance(seen, Present) else 0
    return run._replace(process=world.kernel.identify(pid)) if pid else run


def no_process(world: World, run: Run, agent: Agent, way: Way) -> Receipt:
    """A run that was written down and never started, as far as anybody knows."""
    world.kernel.cancel(world.rundir(run.id))
    receipt = no_pid_receipt(run, agent, way.ending, world.now())
    if way.deregister:
        receipt = receipt._replace(result=Result.ENDED, outcome=way.ending.outcome.value)
        world.store.end(ended(run, way.ending, world.now()), receipt, ())
    else:
        world.store.spare(run.id, receipt)
    return receipt


def target_of(world: World, run: Run) -> Target:
    return Target(
        run=run.id,
        rundir=world.rundir(run.id),
        keeper=run.keeper,
        process=run.process,
        cgroup=run.cgroup,
        ladder=(),
    )


def others_alive(world: World) -> list[ProcessId]:
    """What no ending may touch: every live run, for the sake of every other."""
    return [
        process
        for run in world.store.live_runs()
        for process in (run.keeper, run.process)
        if process and run.host == world.host
    ]


# -- climb -------------------------------------------------------------------------------------


def climb(world: World, doomed: Sequence[Doomed]) -> dict[str, Fall]:
    if not doomed:
        return {}
    by_run = {one.run.id: one for one in doomed}

    def record(rungs: Sequence[tuple[str, str]]) -> None:
        try:
            world.store.climbing(rungs)
        except StoreFailed:
            return  # said once, in the receipt: a full disk must not save an agent

    def ask(run: str) -> str:
        one = by_run[run]
        kind = world.kind(one.agent.kind)
        terminal = world.place(one.run.place.name)
        try:
            terminal.type_line(one.run.place, kind.clear_keys, kind.exit_keys[0])
        except PlaceFailed as error:
            return f"its exit keys could not be typed: {error}"
        return ""

    return world.kernel.climb([one.target for one in doomed], others_alive(world), record, ask)


# -- close the pane, record --------------------------------------------------------------------


def finish(world: World, one: Doomed, fall: Fall, way: Way) -> Receipt:
    """Closes the pane last: closing it first would hang up a program in the middle of a write."""
    pane, trouble = closed_pane(world, one.run, fall)
    receipt = receipt_of(one.run, one.agent, fall, way.ending, world.now())._replace(
        pane=pane,
        conversation=one.conversation,
        screen=one.screen,
        warnings=(*one.warnings, *trouble, *fall.warnings),
    )
    return recorded(world, one.run, receipt, fall)


def closed_pane(world: World, run: Run, fall: Fall) -> tuple[Pane, tuple[str, ...]]:
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


def recorded(world: World, run: Run, receipt: Receipt, fall: Fall) -> Receipt:
    try:
        if fall.survivors:
            world.store.spare(run.id, receipt)
            return receipt
        ending = (run.ending or Ending(*_killed(receipt)))._replace(
            exit_code=fall.journal.exit_code, exit_signal=fall.journal.exit_signal
        )
        orphans = kept_orphans(run, fall.journal, agent_tag(world, run))
        world.store.end(ended(run, ending, receipt.finished_at), receipt, orphans)
    except StoreFailed as error:
        told = UNRECORDED.format(error)
        if told not in receipt.warnings:
            receipt = receipt._replace(warnings=(*receipt.warnings, told))
        world.leave_receipt(run.id, receipt)
    return receipt


def _killed(receipt: Receipt) -> tuple[Outcome, str, str]:
    return Outcome(receipt.outcome), receipt.by, receipt.reason
