"""One run looked at closely: its processes, and the end of what it shows. For a live view."""

from typing import NamedTuple

from knell.core.errors import KnellError
from knell.core.ports.world import World
from knell.core.process import FoundProcess
from knell.life.look.output import lines_of
from knell.life.look.show import members


class CloseLook(NamedTuple):
    """What is known of one run. `trouble`: why something could not be looked at."""

    processes: tuple[FoundProcess, ...] = ()  # its keeper is not among them
    screen: tuple[str, ...] = ()
    trouble: str = ""


def look_closely(world: World, id: str) -> CloseLook:
    """By the run's id, so that no other agent is looked at for it."""
    run = world.store.runs.run(id)
    if run is None:
        return CloseLook(trouble="it is not on record")
    found = tuple(one for one in members(world, run) if one.via != "keeper")
    try:
        return CloseLook(found, tuple(lines_of(world, run, output=False)))
    except KnellError as error:
        return CloseLook(found, trouble=str(error))
