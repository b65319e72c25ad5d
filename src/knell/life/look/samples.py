"""Reads what the watch saw of a run in the last 24 hours."""

import os

from knell.core.ports.world import World
from knell.core.samples import NAME, SIZE, Sample, SampleLine, sample_line, unpacked


def samples(world: World, run: str) -> list[Sample]:
    """Nothing where no watch was running, or where something else than its file stands."""
    if world.store.runs.run(run) is None:  # so that no name leads out of the runs' directory
        return []
    path = os.path.join(world.rundir(run), NAME)
    seen = world.disk.seen(path)
    if seen is None or seen.what != "file":
        return []
    return unpacked((world.disk.head(path) or b"")[:SIZE], world.seconds())


def line(world: World, run: str, step: int) -> SampleLine:
    """The same in stretches of `step` seconds, as a ribbon shows it."""
    return sample_line(samples(world, run), world.seconds(), step)
