"""The registry `.hermes/agent-sessions.yaml`, which other tools and people write too.

A write changes the lines that it must and no other byte. What the file then says is compared with
what it should say before anything is replaced, so a write does exactly what was asked or raises.
"""

import hashlib
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from quell.core.errors import RegistryFailed
from quell.core.ports import Row
from quell.mirrors import delegate_jobs, files
from quell.mirrors.locking import locked
from quell.mirrors.nodes import Malformed, Map, get, text_of
from quell.mirrors.parsing import place_of
from quell.mirrors.revising import Document, Wish, added, document, updated
from quell.mirrors.rows import STATUSES, cached_conversation, row_of
from quell.mirrors.splicing import Inseparable

USUAL = os.path.join(".hermes", "agent-sessions.yaml")
TRIES = 20  # against somebody who saves the file again and again while we write

# The audit trail, and what `create` and `resume` need: no ending takes it away.
KEPT = frozenset({
    "name", "role", "pane", "start_command", "mcp_attachments",
    "claude_session_id_own", "agy_conversation_id_own",
})  # fmt: skip

_BY_HAND = f"{files.UNTOUCHED}; change it by hand"


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
    """There, and written by nobody who could not write here: /tmp is above many directories."""
    try:
        return os.stat(path).st_uid in {os.geteuid(), 0, os.stat(cwd).st_uid}
    except OSError:
        return False


class AgentSessions:
    """One registry file. It is read again whenever it has changed, and need not exist yet."""

    def __init__(self, path: str, now: Callable[[], str], epoch: Callable[[], int]) -> None:
        self._path = os.path.abspath(path)
        self._now = now
        self._epoch = epoch
        self._known: tuple[bytes, Document] | None = None

    @property
    def path(self) -> str:
        return self._path

    # -- reading ------------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """Every session in the file's order; none if there is no file."""
        return [row_of(session) for session in self._document(self._read()).sessions]

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows() if row.name == name), None)

    def cached_conversation(self, agent: str, cwd: str) -> str:
        """What the cache of identities knows for exactly that directory, else nothing."""
        with self._told():
            return cached_conversation(self._document(self._read()).root, agent, cwd)

    def fingerprint(self) -> str:
        """Another one whenever the content is another; empty if there is no file."""
        data = self._read()
        return "" if data is None else hashlib.sha256(data).hexdigest()

    def _read(self) -> bytes | None:
        return files.content(self._path)

    def _document(self, data: bytes | None) -> Document:
        if data is None:
            return Document("", None, ())
        if self._known is None or self._known[0] != data:
            with self._told():
                self._known = data, document(_decoded(data))
        return self._known[1]

    # -- writing ------------------------------------------------------------------------------

    def update(self, name: str, changes: Mapping[str, Any], drop: Sequence[str] = ()) -> None:
        """Set and drop fields of one session. `pane.pid` is the pid in its pane."""
        self.update_all([Wish(name, changes, drop)])

    def update_all(self, wishes: Sequence[Wish]) -> None:
        """Many sessions in one write, all or none, one wish for each. What is so already is not
        written again."""
        if not self._exists():
            raise RegistryFailed(f"there is no registry {self._path}", "create the session first")

        def next_of(old: Document) -> Document:
            nodes = {session.name: session.node for session in old.sessions}
            for wish in wishes:
                if wish.name not in nodes:
                    raise RegistryFailed(
                        f"{self._path} has no session '{wish.name}'", "create the session first"
                    )
                self._check(wish, nodes[wish.name])
            return updated(old, [self._stamped(wish, nodes[wish.name]) for wish in wishes])

        self._write(next_of)

    def add(self, name: str, fields: Mapping[str, Any]) -> None:
        """One session more, behind the last; the file and its directory are made if missing."""
        row = {"name": name, **{key: fields[key] for key in fields if key != "name"}}

        def next_of(old: Document) -> Document:
            if any(session.name == name for session in old.sessions):
                raise RegistryFailed(
                    f"{self._path} has a session '{name}' already", "update it, or choose a name"
                )
            return added(old, row)

        self._check_status(row)
        with files.translated(self._path):
            os.makedirs(os.path.dirname(os.path.realpath(self._path)), mode=0o700, exist_ok=True)
        self._write(next_of)

    def _exists(self) -> bool:
        return self._read() is not None

    def _check(self, wish: Wish, row: Map) -> None:
        self._check_status(wish.set)
        if lost := sorted(KEPT.intersection(wish.drop)):
            raise RegistryFailed(f"the field {lost[0]} of '{wish.name}' must stay", _BY_HAND)
        for key in ("name", "role"):
            was = text_of(get(row, key))
            if was and wish.set.get(key, was) != was:
                raise RegistryFailed(f"the {key} of '{wish.name}' cannot be changed", _BY_HAND)

    def _check_status(self, fields: Mapping[str, Any]) -> None:
        if "status" in fields and fields["status"] not in STATUSES:
            raise RegistryFailed(
                f"'{fields['status']}' is no status of a session", f"use {', '.join(STATUSES)}"
            )

    def _stamped(self, wish: Wish, row: Map) -> Wish:
        """No session ends without its time, whoever forgets to say it."""
        status = wish.set.get("status", "running")
        if status == "running" or status == text_of(get(row, "status")):
            return wish
        stamps: dict[str, Any] = {f"{status}_at": self._now()}
        if status != "archived":
            stamps[f"{status}_at_epoch"] = self._epoch()
        return wish._replace(
            set={**wish.set, **{k: stamps[k] for k in stamps if k not in wish.set}}
        )

    def _write(self, next_of: Callable[[Document], Document]) -> None:
        target = os.path.realpath(self._path)  # a link stays a link
        with files.translated(target):
            files.writable(target)
        with locked(target + ".lock", self._path):
            for _ in range(TRIES):
                data = files.content(target)
                old = self._document(data)
                with self._told():
                    new = next_of(old)
                if new is old:
                    return
                encoded = new.text.encode()
                if data is not None:
                    files.back_up(target, data)
                if files.replace(target, data, encoded):
                    self._known = encoded, new
                    return
        raise RegistryFailed(f"{self._path} keeps changing", "close the editor that saves it")

    @contextmanager
    def _told(self) -> Generator[None]:
        """What is wrong with the text or the wish, as one sentence with the place."""
        try:
            yield
        except Malformed as error:
            raise RegistryFailed(
                f"{self._path}, line {error.line}, column {error.column}: {error}",
                f"{files.UNTOUCHED}; correct that line, then run the command again",
            ) from error
        except Inseparable as error:
            raise RegistryFailed(f"{self._path} cannot be changed: {error}", _BY_HAND) from error

    # -- delegated jobs -----------------------------------------------------------------------

    def publish(self, job: str, event: str, detail: str, data: Mapping[str, Any]) -> None:
        """Tell the registry of delegated jobs, in the directory that contains `.hermes`."""
        folder = os.path.dirname(self._path)
        root = os.path.dirname(folder) if os.path.basename(folder) == ".hermes" else folder
        delegate_jobs.publish(root, job, delegate_jobs.News(event, detail, data, self._now()))


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line, column = place_of(data[: error.start].decode(), error.start)
        raise Malformed("it is not UTF-8 there", line, column) from error
