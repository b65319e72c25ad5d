"""A pane: what is put into one, what a look at one shows, and what came of closing it."""

from typing import NamedTuple

from quell.core.process import Unknown


class Launch(NamedTuple):
    """What a place needs to start a keeper."""

    run: str
    name: str
    argv: tuple[str, ...]
    cwd: str
    server: str = ""
    session: str = ""
    rundir: str = ""


class Present(NamedTuple):
    """The pane is there and is the run's own."""

    pid: int
    command: str = ""


class Absent(NamedTuple):
    why: str = "closed"  # or: somebody else's


PaneSighting = Present | Absent | Unknown


class Closing(NamedTuple):
    closed: bool
    retry: str = ""
    why: str = ""
