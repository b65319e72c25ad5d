"""The ways to show agents. Naming one imports that one only: each costs a start-up."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quell.core.errors import BadRequest

if TYPE_CHECKING:
    from quell.core.ports import Terminal

NAMES = ("tmux", "kitty", "wezterm", "headless", "terminal")


# Not called `terminal`: importing the submodule of that name would overwrite the function.
def named(name: str, env: Mapping[str, str]) -> "Terminal":
    """The place called `name`, for a caller with this environment."""
    match name:
        case "tmux":
            from quell.places.tmux import Tmux

            return Tmux(env)
        case "kitty":
            from quell.places.kitty import Kitty

            return Kitty(env)
        case "wezterm":
            from quell.places.wezterm import Wezterm

            return Wezterm(env)
        case "headless":
            from quell.places.headless import Headless

            return Headless(env)
        case "terminal":
            from quell.places.terminal import ThisTerminal

            return ThisTerminal(env)
        case _:
            raise BadRequest(f"no place is called '{name}'", f"one of: {', '.join(NAMES)}")


def detect(env: Mapping[str, str]) -> str:
    """Where a new agent is best shown to somebody who works in this environment."""
    if env.get("TMUX"):
        return "tmux"
    if env.get("KITTY_LISTEN_ON") or env.get("KITTY_WINDOW_ID"):
        return "kitty"
    if env.get("WEZTERM_PANE"):
        return "wezterm"
    return "headless"
