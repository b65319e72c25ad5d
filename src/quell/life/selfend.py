"""An agent without a keeper that ends itself: a detached quell does it, and outlives the agent.

With a keeper this is not needed: the keeper finishes, whoever asked.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quell.core.errors import Refused
from quell.core.receipt import Receipt
from quell.core.run import Run
from quell.life.caller import Caller
from quell.life.receipts import already_ended, refused_receipt

if TYPE_CHECKING:
    from quell.core.ports import World

PATIENCE = 60.0  # seconds; the caller is usually ended long before
STEP = 0.02


def keeperless_self(who: Caller, runs: Sequence[Run]) -> Run | None:
    """The caller's own run among `runs`, if no keeper would finish its ending."""
    return next((run for run in runs if run.id == who.run and run.keeper is None), None)


def end_from_outside(world: "World", who: Caller, run: Run, command: Sequence[str]) -> Receipt:
    """Hands `quell COMMAND` for this run to a process that is not part of it, and waits."""
    dropped = ("QUELL_RUN", "QUELL_AGENT", "QUELL_TOKEN")
    env = {name: value for name, value in world.env.items() if name not in dropped}
    world.kernel.detach(command, {**env, "QUELL_ON_BEHALF": who.by})
    waited = 0.0
    while waited < PATIENCE:
        world.kernel.wait([], STEP)
        waited += STEP
        now = world.store.run(run.id)
        if now is None or not now.live:
            return already_ended(world, now or run)
    error = Refused(f"the ending of '{run.agent}' did not finish", f"quell show {run.agent}")
    return refused_receipt(run.agent, error, world.now())
