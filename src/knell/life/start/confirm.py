"""Confirms that a started run lives; ends one that does not, so that nothing of it is left."""

from knell.core import ladder as ladders
from knell.core.codes import Code
from knell.core.ending_steps import Way
from knell.core.errors import KnellError, LaunchFailed
from knell.core.ports.keepers import Journal
from knell.core.ports.world import World
from knell.core.run import Ending, Outcome, Run
from knell.life.base.members import never_came
from knell.life.base.receipts import record_end
from knell.life.base.restart_plans import SPAWNER_DIED
from knell.life.base.take_in import born, give_up_leaf
from knell.life.end.engine import end

LAST_LINES = 3  # of what a program said that ended at once


def record_failure(world: World, run: Run, error: KnellError | OSError) -> KnellError:
    """Ends the run on record; returns what to raise."""
    world.keepers.discard(world.rundir(run.id))
    record_end(world, run, Journal(failure=str(error), ended=True, proven=True))
    if isinstance(error, KnellError):
        return error
    hint = f"knell receipt {run.agent} has the record"
    return LaunchFailed(f"cannot start '{run.agent}': {error.strerror}", hint)


def await_stay(world: World, rundir: str, journal: Journal, seconds: float) -> Journal:
    """The journal after those seconds, or once the run is over: a failure, if its program ended
    with another code than 0."""
    if not seconds or journal.keeper is None or journal.failure:
        return journal
    world.wait([journal.keeper], seconds)
    now = world.keepers.journal(rundir)
    if not now.ended or now.exit_code == 0:
        return journal
    how = f"signal {now.exit_signal}" if now.exit_signal else f"exit code {now.exit_code}"
    return now._replace(failure=f"it ended at once, {how}")


def confirm_birth(world: World, run: Run, journal: Journal) -> Run:
    """The run as it lives now; an error, and an ended run, if it never did."""
    if journal.failure or journal.process is None:
        why = journal.failure or "its keeper did not report in time"
        call_off_start(world, born(run, journal) if journal.process else run, why)
        said = last_lines(world, run) if journal.process else ""
        code = Code.LAUNCH_FAILED if journal.failure else Code.LAUNCH_TIMEOUT
        hint = f"knell receipt {run.agent} has the record"
        raise LaunchFailed(f"'{run.agent}' did not start: {why}{said}", hint, code=code)
    run = born(run, journal)
    world.store.runs.mark_born(run)
    return world.store.runs.run(run.id) or run


def last_lines(world: World, run: Run) -> str:
    """What its program said last, for a message of one line."""
    receipt = world.store.endings.receipt(run.id)
    lines = [line.strip() for line in receipt.screen.splitlines()] if receipt else []
    said = [line for line in lines if line][-LAST_LINES:]
    return ": " + " / ".join(said) if said else ""


def call_off_start(world: World, run: Run, why: str) -> None:
    """Makes sure that the run never starts; ends what may have started unseen."""
    rundir = world.rundir(run.id)
    journal = world.keepers.cancel(rundir)
    lives = () if journal.keeper else world.processes.stamped().get(run.id, ())
    if lives:  # the keeper could not say so: the disk was full, or its directory is gone
        run = run._replace(process=min(lives, key=lambda one: (one.start, one.pid)))
        world.store.runs.mark_born(run)
    if lives or (journal.keeper and not journal.ended):
        end_unstarted(world, run, "keeper", why)
    else:
        record_end(world, run, journal._replace(failure=why, ended=True))
    world.keepers.discard(rundir)


def never_started(by: str, why: str) -> Ending:
    return Ending(Outcome.FAILED, by, "not_started", why, tasks="requeue")


def end_unstarted(world: World, run: Run, by: str, why: str) -> None:
    """Ends a run whose start came to nothing, with whatever of it may have started unseen."""
    end(world, [run], Way(ladders.FORCE, never_started(by, why), deregister=True))


# -- a start whose starter died ------------------------------------------------------------------


def free_name(world: World, name: str) -> None:
    """Ends the record of a start that never came to be, so that its name can be used again."""
    for run in world.store.runs.live():
        if run.agent == name and never_came(world, run) and _take_back_order(world, run):
            ending = never_started("knell", SPAWNER_DIED)
            record_end(world, run._replace(ending=ending), Journal(ended=True, proven=True))
            give_up_leaf(world, run)


def _take_back_order(world: World, run: Run) -> bool:
    """Whether no keeper has taken the order of a dead spawner, nor ever will."""
    rundir = world.rundir(run.id)
    if world.keepers.journal(rundir).keeper or world.keepers.cancel(rundir).keeper:
        return False
    if world.processes.stamped().get(run.id):
        return False
    world.keepers.discard(rundir)
    return True
