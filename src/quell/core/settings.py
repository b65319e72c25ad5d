"""Everything a person can set, with its default. Read from files by config.py."""

from typing import NamedTuple


class Settings(NamedTuple):
    kill_grace: float = 2.0
    stop_exit_wait: float = 3.0
    stop_grace: float = 5.0
    children_grace: float = 2.0  # for what an agent leaves behind when it exits by itself
    children_keep: tuple[str, ...] = ()  # globs over command lines
    place: str = ""  # where spawn puts agents; empty: tmux inside tmux, kitty inside kitty, …
    tmux_server: str = ""
    spawn_timeout: float = 15.0
    stop_mode: str = "graceful"  # what a plain `quell stop` means: graceful, soft or hard
    registry: str = ""  # the registry file, if it is not found near the workspace
    watch_after: float = 5.0  # seconds to watch for a resurrection while a vendor's daemon lives
    watch_interval: float = 15.0  # seconds between two rounds of the watch
    stall_after: float = 120.0  # seconds without a heartbeat after which an agent has stalled
    stall_tool_after: float = 900.0  # an open turn may be silent for this long
    stall_policy: str = "report"  # what the watch does about a stalled agent: report, stop or kill
    stall_policies: tuple[str, ...] = ()  # exceptions: "tag:night=kill", "team:web=stop"
    shutdown_wait: float = 60.0  # seconds an agent has to answer when asked to leave; 0: for ever
    stall_cleanup: str = ""  # of whom the watch ended: own, safe, or nothing
