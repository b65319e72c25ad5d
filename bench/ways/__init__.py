"""Every way to end an agent that a user might pick: one file each, all with the same two verbs.

A way starts an agent as its own users would (a program under its own supervisor, in its own
session or pane) and ends it as they would. What it says of the ending is kept apart from what this
process then sees of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol


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

    def unavailable(self) -> str:
        """Why it cannot be measured on this machine; empty if it can."""
        ...

    def open(self) -> None:
        """Installs or starts whatever it needs: a daemon, a tmux server, a cgroup."""
        ...

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Started:
        """Returns when the process exists; the caller waits for its readiness file."""
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
