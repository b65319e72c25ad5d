"""Whose tmux panes are whose: rules over environments, the same on every system.

The keeper imports it too: standard library only, no import of knell.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proc import Process

    Held = list[tuple[int, Mapping[str, str]]]  # start and environment of each pane

SERVES_OTHERS = "a tmux server with other people's panes"
FROM_OTHERS = "started from another's pane"
# tmux gives these to the panes of a session from the client that opened it (update-environment).
# Every run has a WINDOWID of its own, so that its sessions differ from those of all others.
CLIENT_VARIABLES = (
    *("DISPLAY", "KRB5CCNAME", "MSYSTEM", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_AUTH_SOCK"),
    *("SSH_CONNECTION", "WINDOWID", "XAUTHORITY"),
)
TOLD = ("KNELL_RUN", *CLIENT_VARIABLES)  # by which a pane's opener is known


def is_tmux_server(process: "Process") -> bool:
    """Linux shows the title that tmux gives itself, if the program's name is short. Elsewhere both
    of its processes are called tmux, and only the server leads a session without a terminal."""
    if process.name.startswith("tmux: "):
        return process.name.startswith("tmux: server")
    return may_be_tmux(process.name) and process.sid == process.pid and not process.tty


def may_be_tmux(name: str) -> bool:
    """By the name of its program: tmux-next, tmux-3.5; tmate is a tmux too."""
    return "tmux" in name or "tmate" in name


def is_place(server: "Mapping[str, str]") -> bool:
    """Whether knell started this tmux server to open panes in: then it belongs to no run."""
    return "KNELL_PLACE" in server and not {"TMUX", "TMUX_PANE"} & server.keys()  # as in its panes


def has_same_client(server: "Mapping[str, str]", pane: "Mapping[str, str]") -> bool:
    """Whether the pane's session was opened by a client like the one that started the server."""
    return all((server.get(n) or "") == (pane.get(n) or "") for n in CLIENT_VARIABLES)


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


class Openers:
    """The environment of the first pane that was seen in each tmux session: whoever attaches to a
    session gives his own variables to all panes that come later."""

    def __init__(self) -> None:
        self.first: dict[tuple[int, int, str], Mapping[str, str]] = {}

    def of(
        self, server: "tuple[int, int]", pane: "Mapping[str, str]", held: "Callable[[], Held]"
    ) -> "Mapping[str, str]":
        """Of a pane's session. The server is its pid and its start, `held` what is below it."""
        pid, session = server[0], session_of(server[0], pane)
        if session and (*server, session) not in self.first:
            for _, env in sorted(held(), key=lambda one: one[0]):
                self.first.setdefault((*server, session_of(pid, env)), env)
        return self.first.setdefault((*server, session), pane) if session else pane


def may_be_from_others(mark: str, orphan: "Mapping[str, str]") -> bool:
    """Whether this process was started in a tmux pane to which the run gave no mark."""
    return "TMUX_PANE" in orphan and orphan.get("WINDOWID") != mark


def is_from_others(
    run: str, mark: str, server: "Mapping[str, str] | None", orphan: "Mapping[str, str]"
) -> bool:
    """Whether a process that lost its parent was started in a pane that others opened in a tmux
    server of the run's. The server is None if it has gone: if it was the run's, it has given the
    process the run's stamp."""
    if not may_be_from_others(mark, orphan):
        return False
    if server is None:
        return orphan.get("KNELL_RUN") == run
    return not owns_pane(run, mark, server, orphan, is_own_server=True)


def session_of(server: int, pane: "Mapping[str, str]") -> str:
    """The number of the session of this tmux server that it was opened in; empty if it does not
    tell."""
    return pane.get("TMUX", "").rpartition(f",{server},")[2]


def server_of(orphan: "Mapping[str, str]") -> int:
    """The pid of the tmux server in whose pane it was started; 0 if it does not tell."""
    number = orphan.get("TMUX", "").rsplit(",", 2)[1:2]
    return int(number[0]) if number and number[0].isdecimal() else 0
