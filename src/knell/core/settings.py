"""Everything that a person can set, with its default. config.py reads it from a file.

A field is called as in the file: `kill_grace` is `grace` in the section `[kill]`.
"""

from typing import NamedTuple


class Settings(NamedTuple):
    kill_grace: float = 2.0  # seconds between TERM and KILL, for `kill`
    stop_exit_wait: float = 3.0  # seconds for the agent's own exit, for `stop`
    stop_grace: float = 5.0  # seconds between TERM and KILL, for `stop`
    stop_default_mode: str = "graceful"  # what a plain `knell stop` means: graceful, soft or hard
    stop_watch_after: float = 5.0  # seconds to see whether a vendor's daemon starts it again
    children_grace: float = 2.0  # seconds for what an agent leaves behind when it exits by itself
    children_keep: tuple[str, ...] = ()  # globs over command lines that may outlive their agent
    spawn_place: str = ""  # where spawn puts agents; empty: tmux inside tmux, kitty inside kitty, …
    spawn_timeout: float = 15.0  # seconds until a new agent must have been seen alive
    spawn_stay: float = 0.3  # seconds that a new agent must stay up; else its start has failed
    resume_wait: float = 30.0  # seconds in which a resumed agent should show its conversation
    output_limit: int = 64  # megabytes of a headless agent's output that are kept; 0: all
    tmux_server: str = ""  # the server's name (-L) or the path of its socket (-S)
    registry_file: str = ""  # the registry file, if it is not found near the workspace
    watch_interval: float = 15.0  # seconds between two rounds of the watch
    watch_stalled: str = "report"  # what it does about a stalled agent: report, stop or kill
    watch_policies: tuple[str, ...] = ()  # exceptions: "tag:night=kill", "team:web=stop"
    watch_cleanup: str = ""  # after an agent that it ended: own, safe, or empty for none
    team_shutdown_wait: float = 60.0  # seconds to answer a shutdown request; 0: no limit
    team_finish_wait: float = 60.0  # seconds that an agent may finish its work after it approved
    retention_days: float = 30.0  # after which ended runs are removed; an agent's newest one stays
    stall_after: float = 120.0  # seconds without a heartbeat after which an agent has stalled
    stall_unresponsive_after: float = 60.0  # seconds without a heartbeat: two were missed
    stall_tool_after: float = 900.0  # seconds that an agent may be silent while a tool works
    kinds: tuple[tuple[str, object], ...] = ()  # [kinds.NAME]: unchecked until a kind is needed
