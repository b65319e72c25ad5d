"""The places where agents run: tmux, kitty, wezterm, headless. Each is imported when it is needed.

Further places come from entry points of other packages (`knell.places`): classes that fulfil the
port `Terminal` and are made, as those here, with the caller's environment.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from knell.core.errors import BadConfig, BadRequest

if TYPE_CHECKING:
    from knell.core.ports.terminal import Terminal

GROUP = "knell.places"
# place → its module here, and the class in it
BUILT_IN = {
    "tmux": ("tmux", "Tmux"),
    "kitty": ("kitty", "Kitty"),
    "wezterm": ("wezterm", "Wezterm"),
    "headless": ("headless", "Headless"),
    "terminal": ("this_terminal", "ThisTerminal"),
}


def names() -> tuple[str, ...]:
    """Where an agent can be started apart from its caller: all but the caller's own terminal."""
    from knell.entry_points import offered

    known = (*BUILT_IN, *(name for name in offered(GROUP) if name not in BUILT_IN))
    return tuple(name for name in known if name != "terminal")


def outside_place(name: str) -> "Callable[[Mapping[str, str]], Terminal]":
    """The place of that name which is not built in; one that cannot be used does not answer."""
    from knell.places._outside import OutsidePlace

    return lambda env: OutsidePlace(name, lambda: offered_by_others(name)(env))


def checked(place: "Terminal") -> "Terminal":
    """The place; raises if it cannot be used."""
    broken: Exception | None = getattr(place, "broken", None)
    if broken:
        raise broken
    return place


def offered_by_others(name: str) -> "Callable[[Mapping[str, str]], Terminal]":
    """The class of a place that is not built in."""
    from knell import entry_points
    from knell.core.ports.terminal import Terminal

    offers = entry_points.offered(GROUP)
    points = offers.get(name)
    if not points:
        known = ", ".join({**BUILT_IN, **offers})
        raise BadRequest(f"no place is called '{name}'", f"one of: {known}")
    where = entry_points.origin(GROUP, points)
    made = entry_points.load(GROUP, points)
    hint = "it must name a class that fulfils Terminal in knell.core.ports.terminal"
    if not isinstance(made, type):
        raise BadConfig(f"{where}: it gives {type(made).__name__}, not a class", hint)
    wanted = {*Terminal.__annotations__, *(n for n in vars(Terminal) if not n.startswith("_"))}
    missing = sorted(member for member in wanted if not hasattr(made, member))
    if missing:
        raise BadConfig(f"{where}: field {missing[0]}: {made.__name__} has none", hint)
    called: object = getattr(made, "name", "")
    if called != name:
        raise BadConfig(f"{where}: field name: it is {called!r}", f"call it '{name}'")
    methods = sorted(wanted - Terminal.__annotations__.keys())
    if bad := next((member for member in methods if not callable(getattr(made, member))), ""):
        raise BadConfig(f"{where}: field {bad}: it must be a method", hint)
    if not isinstance(getattr(made, "has_panes", None), bool):
        raise BadConfig(f"{where}: field has_panes: it must be True or False", hint)

    failed = f"{where}: {made.__name__} cannot be made"
    return lambda env: cast("Terminal", entry_points.made(failed, hint, made, env))


def detect(env: Mapping[str, str]) -> str:
    """Where a new agent is best shown to a person who works in this environment."""
    if env.get("TMUX"):
        return "tmux"
    if env.get("KITTY_LISTEN_ON") or env.get("KITTY_WINDOW_ID"):
        return "kitty"
    if env.get("WEZTERM_PANE"):
        return "wezterm"
    return "headless"
