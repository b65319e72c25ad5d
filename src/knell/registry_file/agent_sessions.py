"""The registry `.hermes/agent-sessions.yaml`, which other tools and people write too.

A write changes the entries that it must and leaves the text of all others. What the file then says
is compared with what it should say before it is replaced: a write does what was asked, or raises.
"""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from knell import files
from knell.core.errors import RegistryFailed
from knell.core.ports.kinds import Kinds
from knell.core.ports.registry import Row
from knell.registry_file import delegate_jobs
from knell.registry_file.access import UNTOUCHED, content, translated
from knell.registry_file.document import Document, RowChange, UnsafeEdit, added, parse, updated
from knell.registry_file.rows import STATUSES, cached_conversation, row_of
from knell.registry_file.tree import Malformed, Node, get, place_of, text_of

USUAL = os.path.join(".hermes", "agent-sessions.yaml")
TRIES = 20  # against an editor that saves the file again and again while we write
SHOWN_TEXT = b"last_visible_status:"  # the end of an agent's last screen

# The audit trail, and what `create` and `resume` need: no ending takes it away, nor the ids of
# conversations.
KEPT = frozenset({"name", "role", "pane", "start_command", "mcp_attachments"})

_BY_HAND = f"{UNTOUCHED}; change it by hand"


def find(cwd: str, explicit: str) -> str | None:
    """The registry that was named, else that of this directory or the nearest above it."""
    if explicit:
        path = os.path.abspath(os.path.join(cwd, explicit))
        if os.path.exists(path):
            return path
        raise RegistryFailed(f"there is no registry {path}", "name the file, or leave it out")
    here = os.path.abspath(cwd)
    while True:
        path = os.path.join(here, USUAL)
        if _is_trusted(path, cwd):
            return path
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def _is_trusted(path: str, cwd: str) -> bool:
    """There, and written by a user who could write here too: /tmp is above many directories."""
    try:
        return os.stat(path).st_uid in {os.geteuid(), 0, os.stat(cwd).st_uid}
    except OSError:
        return False


def _close_to_others(path: str) -> None:
    """What an agent's screen showed is its user's own: other users cannot read the file any more.
    Before the text is written: the file that takes its place gets its mode."""
    mode = os.stat(path).st_mode & 0o777
    if mode & 0o007:
        os.chmod(path, mode & ~0o007)


class AgentSessions:
    """One registry file. It is read again whenever it has changed, and need not exist yet."""

    def __init__(
        self, path: str, now: Callable[[], str], epoch: Callable[[], int], kinds: Kinds
    ) -> None:
        self.path = os.path.abspath(path)
        self._now = now
        self._epoch = epoch
        self._kinds = kinds
        self._known: tuple[bytes, Document] | None = None

    # -- reading ------------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """Every session in the file's order; none if there is no file."""
        sessions = self._document(content(self.path)).sessions
        return [row_of(session, self._kinds) for session in sessions]

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows() if row.name == name), None)

    def id_field(self, kind: str) -> str:
        """The field of a row that holds the id of a conversation of that kind, else nothing."""
        return self._kinds.kind_or_command(kind).registry_id

    def cached_conversation(self, agent: str, cwd: str) -> str:
        """What the cache of identities knows for exactly that directory, else nothing."""
        with self._located():
            key = self._kinds.kind_or_command(agent).registry_cache
            return cached_conversation(self._document(content(self.path)).root, agent, key, cwd)

    def _document(self, data: bytes | None) -> Document:
        if data is None:
            return Document("", None, ())
        if self._known is None or self._known[0] != data:
            with self._located():
                self._known = data, parse(_decoded(data))
        return self._known[1]

    # -- writing ------------------------------------------------------------------------------

    def update(self, name: str, changes: Mapping[str, Any], drop: Sequence[str] = ()) -> None:
        """Set and drop fields of one session. `pane.pid` is the pid in its pane."""
        if content(self.path) is None:
            raise RegistryFailed(f"there is no registry {self.path}", "create the session first")
        change = RowChange(name, changes, drop)

        def next_of(old: Document) -> Document:
            row = next((one.node for one in old.sessions if one.name == name), None)
            if row is None:
                raise RegistryFailed(
                    f"{self.path} has no session '{name}'", "create the session first"
                )
            self._check(change, row)
            return updated(old, self._stamped(change, row))

        self._write(next_of)

    def add(self, name: str, fields: Mapping[str, Any]) -> None:
        """One session more, behind the last; the file and its directory are made if missing."""
        row = {"name": name, **{key: fields[key] for key in fields if key != "name"}}

        def next_of(old: Document) -> Document:
            if any(session.name == name for session in old.sessions):
                raise RegistryFailed(
                    f"{self.path} has a session '{name}' already", "update it, or choose a name"
                )
            return added(old, row)

        self._check_status(row)
        self._make_directory()
        self._write(next_of)

    def make(self) -> None:
        """Makes the file, without any session, if there is none."""
        self._make_directory()
        with translated(self.path):
            if not os.path.exists(self.path):
                files.replace(self.path, None, b"tmux_sessions: []\n")

    def _make_directory(self) -> None:
        with translated(self.path):
            os.makedirs(os.path.dirname(os.path.realpath(self.path)), mode=0o700, exist_ok=True)

    def _check(self, change: RowChange, row: Node) -> None:
        self._check_status(change.set)
        kept = {*KEPT, *(kind.registry_id for kind in self._kinds.near())}
        if lost := sorted(kept.intersection(change.drop)):
            raise RegistryFailed(f"the field {lost[0]} of '{change.name}' must stay", _BY_HAND)
        for key in ("name", "role"):
            was = text_of(get(row, key))
            if was and change.set.get(key, was) != was:
                raise RegistryFailed(f"the {key} of '{change.name}' cannot be changed", _BY_HAND)

    def _check_status(self, fields: Mapping[str, Any]) -> None:
        if "status" in fields and fields["status"] not in STATUSES:
            raise RegistryFailed(
                f"'{fields['status']}' is no status of a session", f"use {', '.join(STATUSES)}"
            )

    def _stamped(self, change: RowChange, row: Node) -> RowChange:
        """No session ends without its time, also where the caller did not give it."""
        status = change.set.get("status", "running")
        if status == "running" or status == text_of(get(row, "status")):
            return change
        stamps: dict[str, Any] = {f"{status}_at": self._now()}
        if status != "archived":
            stamps[f"{status}_at_epoch"] = self._epoch()
        return change._replace(set={**change.set, **stamps, **change.set})

    def _write(self, next_of: Callable[[Document], Document]) -> None:
        target = os.path.realpath(self.path)  # a link stays a link
        with translated(target):
            files.refuse_read_only(target)
        with translated(self.path), files.locked(target + ".lock"):
            for _ in range(TRIES):
                if self._write_once(target, next_of):
                    return
        raise RegistryFailed(f"{self.path} keeps changing", "close the editor that saves it")

    def _write_once(self, target: str, next_of: Callable[[Document], Document]) -> bool:
        data = content(target)
        old = self._document(data)
        with self._located():
            new = next_of(old)
        if new is old:
            return True
        encoded = new.text.encode()
        if data is not None:
            if SHOWN_TEXT in encoded:
                with translated(target):
                    _close_to_others(target)
            files.back_up(target, data)
        try:
            files.replace(target, data, encoded)
        except files.FileChanged:
            return False
        self._known = encoded, new
        return True

    @contextmanager
    def _located(self) -> Generator[None]:
        """Raises what is wrong with the text, or with the change, as RegistryFailed."""
        try:
            yield
        except Malformed as error:
            raise RegistryFailed(
                f"{self.path}, line {error.line}, column {error.column}: {error}",
                f"{UNTOUCHED}; correct that line, then run the command again",
            ) from error
        except UnsafeEdit as error:
            raise RegistryFailed(f"{self.path} cannot be changed: {error}", _BY_HAND) from error

    # -- delegated jobs -----------------------------------------------------------------------

    def publish(self, job: str, event: str, detail: str, data: Mapping[str, Any]) -> None:
        """Tell the registry of delegated jobs, in the directory that contains `.hermes`."""
        folder = os.path.dirname(self.path)
        root = os.path.dirname(folder) if os.path.basename(folder) == ".hermes" else folder
        delegate_jobs.publish(root, job, event, detail, data, self._now())


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line, column = place_of(data[: error.start].decode(), error.start)
        raise Malformed("it is not UTF-8 there", line, column) from error
