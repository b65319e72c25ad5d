"""The port to the registry file that other tools read and write too."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Row(NamedTuple):
    """One session in `.hermes/agent-sessions.yaml`, as far as knell reads it."""

    name: str
    status: str  # running, stopped, terminated, archived, or "unknown" when it is missing
    agent: str = ""  # the kind, if the row names one
    tmux_server: str = ""
    start_command: str = ""
    pane_id: str = ""
    pane_pid: int = 0
    cwd: str = ""
    conversation: str = ""  # from the field of its kind; empty for null
    delegate_job: str = ""
    role: str = ""
    terminated_at: str = ""
    stopped_at: str = ""

    @property
    def start_words(self) -> tuple[str, ...]:
        return words_of(self.start_command)


def words_of(line: str) -> tuple[str, ...]:
    """The words as a shell reads them. People edit the file too, and may leave a quote open."""
    import shlex

    try:
        return tuple(shlex.split(line))
    except ValueError:
        return tuple(line.split())


class ListedRow(NamedTuple):
    """A row that no run on record speaks of, and what lives of it."""

    row: Row
    pane: str = ""
    pid: int = 0  # none if nothing of it lives


class Registry(Protocol):
    """The file that other tools read and write too. Every write keeps what it does not know."""

    @property
    def path(self) -> str: ...
    def make(self) -> None: ...
    def rows(self) -> list[Row]: ...
    def row(self, name: str) -> Row | None: ...
    def update(self, name: str, changes: Mapping[str, Any], drop: Sequence[str] = ()) -> None: ...
    def add(self, name: str, fields: Mapping[str, Any]) -> None: ...
    def id_field(self, kind: str) -> str: ...
    def cached_conversation(self, agent: str, cwd: str) -> str: ...
    def publish(self, job: str, event: str, detail: str, data: Mapping[str, Any]) -> None: ...
