"""Whose tmux panes are whose: rules over environments, the same on every system.

The keeper imports it too: standard library only, no import of knell.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from proc import Process

SERVES_OTHERS = "a tmux server with other people's panes"
# tmux gives these to the panes of a session from the client that opened it (update-environment).
# Every run has a WINDOWID of its own, so that its sessions differ from those of all others.
CLIENT_VARIABLES = (
    *("DISPLAY", "KRB5CCNAME", "MSYSTEM", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_AUTH_SOCK"),
    *("SSH_CONNECTION", "WINDOWID", "XAUTHORITY"),
)


def is_tmux_server(process: "Process") -> bool:
    """Linux shows the title that tmux gives itself. Elsewhere both of its processes are called
    tmux, and only the server leads a session without a terminal."""
    if process.name == "tmux":
        return process.sid == process.pid and not process.tty
    return process.name.startswith("tmux: server")


def is_place(server: "Mapping[str, str]") -> bool:
    """Whether knell started this tmux server to open panes in: then it belongs to no run."""
    return "KNELL_PLACE" in server and "TMUX" not in server  # inside its panes TMUX is set too


def has_same_client(server: "Mapping[str, str]", pane: "Mapping[str, str]") -> bool:
    """Whether the pane's session was opened by a client like the one that started the server."""
    return all(server.get(name) == pane.get(name) for name in CLIENT_VARIABLES)


def owns_pane(
    run: str,
    mark: str,
    server: "Mapping[str, str]",
    pane: "Mapping[str, str]",
    *,
    is_own_server: bool,
) -> bool:
    """Whether the run opened this pane, in a tmux server that the run started or in another one.

    A pane inherits the stamp of its server, so that in the run's own server it proves nothing."""
    if pane.get("WINDOWID") == mark:
        return True
    stamp = pane.get("KNELL_RUN")
    if is_own_server and not is_place(server):
        return stamp in (None, run) and has_same_client(server, pane)
    return stamp == run
