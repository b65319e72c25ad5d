"""What came of a run, by what its keeper saw and what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quell.core.lifecycle import Outcome
from quell.core.run import Ending, Run

if TYPE_CHECKING:
    from quell.core.climbing import Journal


def judged(run: Run, journal: Journal) -> Ending:
    """What came of the run: the claimed ending if there was one, else what the keeper saw."""
    code, number = journal.exit_code, journal.exit_signal
    if run.ending is not None and journal.cause in ("asked", ""):
        return run.ending._replace(exit_code=code, exit_signal=number)
    if journal.failure:
        ending = Ending(Outcome.FAILED, "keeper", "not_started", journal.failure, code)
        return ending._replace(tasks="requeue")  # nobody has begun it
    if journal.cause == "hangup":  # a person closed the pane: a decision, not an accident
        return Ending(Outcome.STOPPED, "terminal", "pane_closed", "", code, number)
    if journal.cause == "signal":
        return Ending(Outcome.TERMINATED, "unknown", "keeper_signalled", "", code, number)
    if journal.cause == "exit":
        clean = code == 0
        return Ending(
            Outcome.COMPLETED if clean else Outcome.FAILED,
            "agent",
            "exited" if clean else "crashed",
            "" if number is None else f"signal {number}",
            code,
            number,
        )
    return Ending(Outcome.LOST, "unknown", "lost", "gone while nobody looked")
