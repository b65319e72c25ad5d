"""What becomes of the endings that this process has begun, once it is interrupted."""

from knell.core.ports.world import World
from knell.core.run import State


def begun_endings(world: World) -> list[tuple[str, bool]]:
    """Agents whose ending this process has claimed and not finished; and whether a keeper goes on
    with it by itself, as it does once it was told to send TERM."""
    mine = world.processes.me()
    runs = [run for run in world.store.runs.live() if run.state is State.STOPPING]
    return [
        (run.agent, run.keeper is not None and run.rung in ("term", "kill"))
        for run in runs
        if run.owner == mine
    ]
