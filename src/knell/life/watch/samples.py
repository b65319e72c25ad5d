"""Keeps what each run does and uses, for the ribbons and lines that `web` draws."""

import os
from collections.abc import Mapping, Sequence

from knell.core.ports.world import World
from knell.core.samples import NAME, STEP, Sample, packed, place
from knell.core.stall.verdict import Judgement
from knell.life.look.snapshot import Measured, cpu_share, measure


class SampleKeeper:
    """Remembers the last look at each run: two of them give its share of a processor."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.measured: Mapping[str, Measured] = {}
        self.kept: dict[str, int] = {}  # run → the half-minute that was written last

    def keep(self, judged: Sequence[Judgement]) -> None:
        """Writes one sample a half-minute. A sample that cannot be written is skipped: no verdict
        depends on it."""
        now = int(self.world.seconds())
        for one in judged:
            if self.kept.get(one.run.id) == now // STEP:
                continue
            look = one.look
            share = cpu_share(self.measured.get(one.run.id), look.at, look.cpu_total)
            sample = Sample(now, one.verdict.activity.value, share, look.memory_mb)
            path = os.path.join(self.world.rundir(one.run.id), NAME)
            self.world.disk.write_at(path, place(now), packed(sample))
        self.kept = {one.run.id: now // STEP for one in judged}
        self.measured = measure(self.world, judged, self.measured)
