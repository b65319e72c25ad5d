"""When which rung is due: the clockwork that both ways of climbing share."""

import time

from quell.core.ladder import Ladder, Rung
from quell.core.receipt import Climbed


class Schedule:
    """Walks a ladder by the monotonic clock: a suspended machine ages nobody."""

    def __init__(self, ladder: Ladder) -> None:
        self.began = time.monotonic()
        self.steps = list(ladder)
        self.rungs: list[Climbed] = []
        self.warnings: list[str] = []
        self.next_at = self.began
        self.current: Rung | None = None
        self.current_at = self.began

    def due(self) -> Rung | None:
        if self.steps and time.monotonic() >= self.next_at:
            return self.steps[0].rung
        return None

    def reached(self, rung: Rung) -> None:
        """Moves on: `rung` was written down and is being climbed now."""
        step = self.steps.pop(0)
        now = time.monotonic()
        self.current, self.current_at = rung, now
        self.rungs.append(Climbed(rung.value, self.millis(), reached=True))
        self.next_at = now + step.wait

    def skip_wait(self, warning: str) -> None:
        """The rung did not hold: climb the next one at once."""
        self.warn(warning)
        self.next_at = time.monotonic()

    def warn(self, warning: str) -> None:
        """Once, however often it comes true."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    @property
    def exhausted(self) -> bool:
        return not self.steps and time.monotonic() >= self.next_at

    def millis(self) -> int:
        return int((time.monotonic() - self.began) * 1000)

    def half_way(self) -> float:
        """Half of the wait after the current rung: then the rest of the run gets its TERM."""
        return self.current_at + (self.next_at - self.current_at) / 2

    def unreached(self) -> tuple[Climbed, ...]:
        return tuple(Climbed(step.rung.value, 0, reached=False) for step in self.steps)
