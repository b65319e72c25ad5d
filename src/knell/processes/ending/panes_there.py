"""The panes of a run in tmux servers that live on, for an ending without a keeper."""

from knell.core.process import FoundProcess
from knell.processes.os import panes
from knell.processes.os.tmux_client import OpenPanes
from knell.processes.table import Table, environments


class PanesThere(OpenPanes):
    def __init__(self) -> None:
        super().__init__(environments)

    def note_member(self, member: FoundProcess, table: Table) -> None:
        """Remembers it if it is a pane."""
        server = table.rows.get(member.parent)
        if server is not None and panes.is_tmux_server(server):
            self.note(server.pid, member.process.pid)
