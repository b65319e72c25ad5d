"""Takes the steps after an ending that whoever asked for it could not take.

A keeper ends the command of an agent that ends itself together with the agent, and an ender may be
killed while the keeper goes on. The look that records such an end sends no signal and no HTTP
(decision 4), so it leaves word in the store, in the transaction that records the end; the watch and
`reap` come here. Whoever claims a run in the store takes its steps, and the claim of a process that
died passes on.
"""

from collections.abc import Sequence

from knell.core import ladder as ladders
from knell.core.ending_steps import Case, Moment, Way
from knell.core.ports.ending_store import Owed
from knell.core.ports.processes import Target
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Run
from knell.core.times import seconds_of
from knell.life.base.conversation import find_conversation
from knell.life.base.conversation_users import conversation_user


def take_owed(world: World, names: Sequence[str] = ()) -> None:
    """Takes the steps of the runs that lack them, of these agents if names are given, once."""
    call, begun = object(), world.steps.endings_begun  # the claim cannot tell threads apart
    waiting = [one for one in world.store.endings.owed() if _is_free(world, one)]
    mine = [one for one in waiting if begun.setdefault(one.run, call) is call]
    try:
        meant = {run.id: run for one in mine if (run := _run_here(world, one, names))}
        asked = [one for one in mine if one.run in meant]
        won = world.store.endings.claim_owed(asked, world.processes.me())
        _take_steps(world, [meant[id] for id in won])
    finally:
        for one in mine:
            begun.pop(one.run, None)


def _is_free(world: World, one: Owed) -> bool:
    """Whether no other process that lives is at it. This one may be there after an error."""
    if one.taker is None or one.taker.same_as(world.processes.me()):
        return True
    return isinstance(world.processes.look(one.taker), Gone)


def _run_here(world: World, one: Owed, names: Sequence[str]) -> Run | None:
    run = world.store.runs.run(one.run)
    here = run is not None and run.host == world.host
    return run if run and here and (not names or run.agent in names) else None


def _take_steps(world: World, runs: Sequence[Run]) -> None:
    if not runs:
        return
    cases = [case for run in runs if (case := _case_of(world, run))]
    done = world.steps.take(Moment.RECORDED, world.steps.take(Moment.DEAD, cases))
    known = {case.run.id: case.receipt for case in cases}
    amended = [one.receipt for one in done if one.receipt and one.receipt != known[one.run.id]]
    # Last, and at once with what came of it: if this process dies before, others do it again.
    world.store.endings.amend(amended, [run.id for run in runs])


def _case_of(world: World, run: Run) -> Case | None:
    """In the words of whoever asked for the ending; what is not on record of them, such as a
    cleanup, is not done. None if the steps could harm who works in the conversation now."""
    agent, receipt = world.store.runs.agent(run.agent), world.store.endings.receipt(run.id)
    if agent is None or receipt is None or run.ending is None:
        return None
    newest = world.store.runs.newest_of(run.agent)
    if newest is None or newest.id != run.id:
        return None  # it was started again, and with it perhaps the conversation
    kind = world.kinds.kind_or_command(agent.kind)
    # Every ending looks so long for what a supervisor starts again. Later it may be a person who
    # continues the conversation by hand.
    late = abs(world.seconds() - seconds_of(run.ended_at)) > world.settings.stop_watch_after
    if late and agent.conversation and conversation_user(world, agent, kind):
        return None
    way = Way(ladders.KILL, run.ending)
    target = Target(run.id, world.rundir(run.id), None, run.process, "", ())
    conversation = find_conversation(world, agent)
    return Case(run, agent, kind, way, run.ending, target, conversation, receipt=receipt)
