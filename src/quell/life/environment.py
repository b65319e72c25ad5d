"""The environment that an agent was started with, kept for its restart and no longer."""

from quell.core.ports import World
from quell.core.run import Run


def kept_environment(world: World, run: Run) -> dict[str, str] | None:
    """As it was for this run; for one whose start was cut short, as for the run before it."""
    kept = world.kernel.kept_environment(world.rundir(run.id))
    if kept is not None or run.process is not None or not run.restarted_from:
        return kept
    before = world.store.run(run.restarted_from)
    return kept_environment(world, before) if before else None


def forget_environment(world: World, run: Run) -> None:
    """Of a run that was replaced, or stays ended."""
    world.kernel.forget_environment(world.rundir(run.id))
    forget_earlier(world, run)


def forget_earlier(world: World, run: Run) -> None:
    """Of the runs before it that still have theirs: whoever replaced them died in the middle."""
    before = world.store.run(run.restarted_from) if run.restarted_from else None
    if before and world.kernel.kept_environment(world.rundir(before.id)) is not None:
        forget_environment(world, before)
