"""The panes of a run in tmux servers that live on, for an ending without a keeper."""

from knell.core.process import FoundProcess
from knell.processes.os import panes
from knell.processes.os.tmux_client import close_panes, settle
from knell.processes.table import Table, environments


class PanesThere:
    """A dead pane may be started again by a hook, and a killed client may have asked for one."""

    def __init__(self) -> None:
        self.servers: set[int] = set()
        self.open: set[tuple[int, str]] = set()  # server and pane

    def note(self, member: FoundProcess, table: Table) -> None:
        """Remembers it if it is a pane, while it lives."""
        server = table.rows.get(member.parent)
        if server is None or not panes.is_tmux_server(server):
            return
        env = environments.of(server.pid, member.process.pid) or {}
        self.servers.add(server.pid)
        self.open |= {(server.pid, env["TMUX_PANE"])} if "TMUX_PANE" in env else set()

    def close(self) -> None:
        close_panes(self.open)
        self.open.clear()

    def settle(self) -> bool:
        """Waits until the servers have done what killed clients had asked for; False without any:
        then nobody can have started a pane meanwhile."""
        self.close()
        for server in self.servers:
            settle(server)
        return bool(self.servers)
