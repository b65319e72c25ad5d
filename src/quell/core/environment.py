"""The environment that an agent starts with."""

from collections.abc import Iterable, Mapping

# What a pane sets for the program in it, and no other pane may inherit. The keeper adds its own
# pane's values; it keeps a copy of these names because it imports nothing of quell.
PANE_VARIABLES = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TERMINFO",
    "WINDOWID",
    "TMUX",
    "TMUX_PANE",
)
PANE_PREFIXES = ("KITTY_", "WEZTERM_")
OF_ONE_RUN = ("QUELL_RUN", "QUELL_AGENT", "QUELL_HEARTBEAT", "QUELL_TOKEN")

SESSION_DIR = "QUELL_SESSION_DIR"  # a temporary directory, for an agent that was promised one
SHARED = "QUELL_SHARED"  # of an agent that uses its project's server
SERVES = "QUELL_SERVES"  # of an agent that is one: "kind:port"


def shares(asked: Iterable[tuple[str, str]]) -> bool:
    """Whether an agent with these variables uses a shared server, or is one."""
    return any(name in (SHARED, SERVES) for name, _ in asked)


def agent_environment(
    caller: Mapping[str, str],
    asked: Iterable[tuple[str, str]],
    strip: Iterable[str],
    stamp: Mapping[str, str],
) -> dict[str, str]:
    """The caller's, without its own pane and run, with what was asked for, and our stamp."""
    dropped = {*PANE_VARIABLES, *OF_ONE_RUN, *strip}
    kept = {
        name: value
        for name, value in caller.items()
        if name not in dropped and not name.startswith(PANE_PREFIXES)
    }
    return {**kept, **dict(asked), **stamp}
