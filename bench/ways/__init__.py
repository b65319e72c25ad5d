"""Every way to end an agent that a user might pick: one file each, all with the same two verbs.

A way starts an agent as its own users would (a program under its own supervisor, in its own
session or pane) and ends it as they would: by a command of its own, run to its return. What it says
of the ending is kept apart from what this process then sees of it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from workshop import Bench

WANTED: list[str] = []  # how the names of the wanted ways begin; empty: all
GRACE = 0.3  # seconds between TERM and KILL, unless a way is told otherwise


class Started(NamedTuple):
    """An agent that a way has started."""

    name: str
    pid: int  # the agent's own process
    handle: Any = None  # whatever the way needs to end it


class Said(NamedTuple):
    """What the way reported when its command returned."""

    success: bool  # it claimed that the agent is ended ("Sent" is no such claim)
    text: str  # the last line of its answer, for a reader of the raw results


class Way(Protocol):
    """One way of ending. Set up once, then any number of agents one after another or at once."""

    name: str
    version: str  # of the program behind it, once `unavailable` was asked; "" if it has none
    grace: float  # seconds between TERM and KILL for agents started from now on, if it can be told

    def unavailable(self) -> str:
        """Why it cannot be measured on this machine; empty if it can. May install a peer."""
        ...

    def open(self) -> None:
        """Starts whatever it needs: a daemon, a tmux server. Not to be opened twice at once."""
        ...

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        """Returns when the process exists; the caller waits for its readiness file.

        A name is used once, and is made of letters, digits and hyphens.
        """
        ...

    def end(self, started: Started) -> Said:
        """Runs the way's own command to its return, and no longer."""
        ...

    def end_all(self, started: Sequence[Started]) -> Said:
        """The way's own command for all at once, or its command for one, one after another."""
        ...

    def close(self) -> None:
        """Ends what `open` started; agents that survived are ended by the caller."""
        ...


def all_ways(bench: "Bench") -> list[Way]:
    """Every way, none of them opened; the peers are installed when the first of them is asked."""
    from peers import Peers

    from ways.circus import Circus
    from ways.hcom import HcomKill, HcomStop
    from ways.knells import Adopted, KeeperOnly, Portable, WithCgroup
    from ways.scripts import KillGroup, KillPid, PsutilTree
    from ways.supervisord import Supervisord
    from ways.tmux import KillSession

    peers = Peers(bench.root)
    found: list[Way] = [
        KillPid(bench),
        KillGroup(bench),
        PsutilTree(bench, peers),
        KillSession(bench),
        HcomKill(bench, peers),
        HcomStop(bench, peers),
        Supervisord(bench, peers),
        Circus(bench, peers),
        WithCgroup(bench),
        KeeperOnly(bench),
        Adopted(bench),
        Portable(bench),
    ]
    return [way for way in found if way.name.startswith(tuple(WANTED) or "")]
