"""The port through which verbs learn what knell knows of agent programs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from knell.core.kind import Kind


class BrokenKind(NamedTuple):
    """A kind from the settings or from another package that was refused."""

    name: str
    why: str
    hint: str


class Kinds(Protocol):
    """Kinds of agents: those that knell brings, those in the settings, those of other packages.

    Other packages take longer to ask: `has(offered=False)` and what is near leave them out.
    """

    # BadRequest if there is none of that name; BadConfig if it is broken.
    def kind(self, name: str) -> Kind: ...
    # For an agent that is there already: without its kind it is a command like any other.
    def kind_or_command(self, name: str) -> Kind: ...
    # Whether it is the name of a kind, even of a broken one.
    def has(self, name: str, *, offered: bool = True) -> bool: ...
    def names(self) -> tuple[str, ...]: ...
    # All that knell brings and all good ones in the settings, but for `command`.
    def near(self) -> list[Kind]: ...
    def everything(self) -> tuple[list[Kind], list[BrokenKind]]: ...
    # The kind of a process by its command line; `command` if it is no agent.
    def recognise(self, argv: Sequence[str]) -> str: ...
    # The variables that agents set for their children: `strip_env` of all near kinds.
    def strip_env(self) -> tuple[str, ...]: ...
