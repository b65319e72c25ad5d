"""The port to terminals: what is put into a pane, what a look at one shows, how it is closed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from knell.core.process import Unknown
from knell.core.run import Place

if TYPE_CHECKING:
    from knell.core.stall.signs import Sign


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
    why: str = "closed"  # or: another program's


PaneSighting = Present | Absent | Unknown


class Closing(NamedTuple):
    closed: bool
    retry: str = ""
    why: str = ""


class Terminal(Protocol):
    """A way to show agents: tmux, kitty, wezterm, or none."""

    name: str
    has_panes: bool

    # The pane in which typed keys can reach the run; Absent where there is none.
    def open(self, launch: Launch) -> Place: ...
    def look(self, place: Place, run: str) -> PaneSighting: ...
    def screen(self, place: Place) -> str: ...
    def stirred(self, places: Sequence[Place]) -> "dict[Place, Sign]": ...
    def keyboard(self, place: Place, run: str) -> PaneSighting: ...
    # One key, by the name that tmux has for it, into that pane alone.
    def press(self, place: Place, key: str) -> None: ...
    # The text without Enter, into that pane alone.
    def type_text(self, place: Place, text: str) -> None: ...
    def close(self, place: Place, run: str) -> Closing: ...
    def attach_command(self, place: Place) -> tuple[str, ...]: ...
    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]: ...


class Sessions(Protocol):
    """What only tmux has: names that rows of the registry file speak of."""

    def names(self, server: str) -> list[str]: ...
    def panes(self, name: str, server: str) -> list[tuple[str, int]]: ...
