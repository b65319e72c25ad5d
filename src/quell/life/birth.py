"""What came of a start: a run that lives, or one that is over and has left nothing behind."""

from quell.core import ladder as ladders
from quell.core.climbing import Journal
from quell.core.errors import LaunchFailed, QuellError
from quell.core.lifecycle import Outcome, State
from quell.core.ports import World
from quell.core.process import Gone
from quell.core.run import Ending, Run
from quell.life.settle import born, give_up_leaf, record_end

SPAWNER_DIED = "whoever started it died"


def never_began(world: World, run: Run, error: QuellError | OSError) -> QuellError:
    """Ends the run on record; returns what to raise."""
    world.kernel.discard(world.rundir(run.id))
    record_end(world, run, Journal(failure=str(error), ended=True, proven=True))
    if isinstance(error, QuellError):
        return error
    return LaunchFailed(
        f"cannot start '{run.agent}': {error.strerror}", f"quell receipt {run.agent} has the record"
    )


def seen_born(world: World, run: Run, journal: Journal) -> Run:
    """The run as it lives now; an error, and an ended run, if it never did."""
    if journal.process is None:
        why = journal.failure or "its keeper did not report in time"
        called_off(world, run, why)
        raise LaunchFailed(
            f"'{run.agent}' did not start: {why}", f"quell receipt {run.agent} has the record"
        )
    run = born(run, journal)
    world.store.born(run)
    return world.store.run(run.id) or run


def called_off(world: World, run: Run, why: str) -> None:
    """Nothing of it will come any more, and what came unseen is ended."""
    rundir = world.rundir(run.id)
    journal = world.kernel.cancel(rundir)
    if journal.keeper is None or journal.ended:
        world.kernel.discard(rundir)
        record_end(world, run, journal._replace(failure=why, ended=True))
        return
    from quell.life.before import Way
    from quell.life.ending import end_runs

    ending = Ending(Outcome.FAILED, "keeper", "not_started", why, tasks="requeue")
    end_runs(world, [run], Way(ladders.FORCE, ending, deregister=True))
    world.kernel.discard(rundir)


# -- a start whose starter died ------------------------------------------------------------------


def never_came(world: World, run: Run) -> bool:
    """Written down by somebody who then died, and nothing more is known of it."""
    if run.process or run.keeper or run.place.pane or run.host != world.host:
        return False
    if run.owner is None:
        return run.state is not State.SPAWNING  # somebody wanted to end it, and found no PID
    return isinstance(world.kernel.look(run.owner), Gone)


def free_name(world: World, name: str) -> None:
    """A start that came to nothing is over as soon as its name is needed again."""
    for run in world.store.live_runs():
        if run.agent == name and never_came(world, run) and _taken_back(world, run):
            ending = Ending(Outcome.FAILED, "quell", "not_started", SPAWNER_DIED, tasks="requeue")
            record_end(world, run._replace(ending=ending), Journal(ended=True, proven=True))
            give_up_leaf(world, run)


def _taken_back(world: World, run: Run) -> bool:
    """Whether no keeper has taken the order of a dead spawner, nor ever will."""
    rundir = world.rundir(run.id)
    if world.kernel.journal(rundir).keeper:
        return False
    if world.kernel.cancel(rundir).keeper or world.kernel.stamps().get(run.id):
        return False
    world.kernel.discard(rundir)
    return True
