"""Has a program that is about to start tell this run which conversation it is in."""

import os
from collections.abc import Mapping

from knell.core.errors import FileFailed
from knell.core.kind import Kind
from knell.core.ports.disk import WholeFile
from knell.core.ports.world import World
from knell.core.telling import TellRequest

LARGEST = 1 << 20  # bytes of a settings file that is read


def ask_to_tell(
    world: World, kind: Kind, start: tuple[tuple[str, ...], Mapping[str, str]], cwd: str, run: str
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The command line and the environment with what makes the program tell; unchanged for a
    program that cannot, or whose files could not be written: the start matters more."""
    argv, env = start
    if kind.tell is None:
        return start
    rundir = world.rundir(run)

    def read(path: str) -> str | None:
        found = world.disk.tail(os.path.join(cwd, path), LARGEST)
        return None if found is None or len(found) == LARGEST else found.decode("utf-8", "replace")

    told = kind.tell(TellRequest(argv, env, cwd, rundir, read))
    try:
        world.disk.make_directory(rundir)
        for name, text in told.files:
            world.disk.replace(WholeFile(os.path.join(rundir, name), None), text.encode())
    except FileFailed:
        return start
    return told.argv, told.env
