"""The environment that an agent starts with."""

from collections.abc import Iterable, Mapping

# What a pane sets for the program in it, and no other pane may inherit. The keeper adds its own
# pane's values; it keeps a copy of these names because it imports nothing of knell.
PANE_VARIABLES = (
    *("TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERMINFO", "WINDOWID"),
    *("TMUX", "TMUX_PANE"),
)
PANE_PREFIXES = ("KITTY_", "WEZTERM_")
TOKEN = "KNELL_TOKEN"  # noqa: S105 - the name of a variable
# KNELL_PLACE marks a tmux server that knell started to open panes in.
OF_ONE_RUN = ("KNELL_RUN", "KNELL_AGENT", "KNELL_HEARTBEAT", TOKEN, "KNELL_PLACE")

SESSION_DIR = "KNELL_SESSION_DIR"  # a temporary directory, for an agent that was promised one
LAUNCHER = "ORCHESTRATOR_ID"  # of an agent that spawn-agent-session launched
SHARED = "KNELL_SHARED"  # of an agent that uses its project's server
SERVES = "KNELL_SERVES"  # of an agent that is one: "kind:port"
# Beside runs/: the environments that restarts need. They are few: unneeded ones are soon found.
ENVIRONMENTS = "environments"


def window_mark(run: str) -> str:
    """The run's WINDOWID. tmux gives it to the sessions that the run opens, and so to their panes:
    the only variable of a client that says nothing else to most programs."""
    from binascii import crc32

    return str((1 << 32) + crc32(run.encode()))  # longer than any window's number in X


def without_caller(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what says who the caller is."""
    return {name: value for name, value in env.items() if name not in OF_ONE_RUN}


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
