"""Backends: servers that several runs share, and which live runs use each."""

import json

from knell.core.ports.store import NotLive
from knell.core.ports.teams import Backend
from knell.stores import records
from knell.stores.sqlite import FULL, Part

_SERVERS = """
    SELECT id, kind, project, process, port, log, started_at, retired_at,
           (SELECT json_group_array(run) FROM
               (SELECT run FROM server_uses WHERE server = id ORDER BY rowid))
    FROM servers"""
# No run may begin to use a retired server.
_USE = """
    INSERT OR IGNORE INTO server_uses (server, run)
    SELECT id, ? FROM servers WHERE id = ? AND retired_at = ''"""

_RETIRE = """
    UPDATE servers SET retired_at = ? WHERE id = ? AND retired_at = ''
        AND NOT EXISTS (SELECT 1 FROM server_uses WHERE server = id)"""


class SqliteBackends(Part):
    def add(self, backend: Backend) -> Backend:
        """Returns the one that the project has now: this one, used by its runs from the beginning,
        or another that was added first. Adding the same one twice changes nothing."""
        with self._file.writing(FULL):
            query = _SERVERS + " WHERE (kind = ? AND project = ? AND retired_at = '') OR id = ?"
            same = (backend.kind, backend.project, backend.id)
            known = self._file.one(query, _backend_from, *same)
            if known:
                return known
            added = backend._replace(
                started_at=backend.started_at or self._file.now(), retired_at=""
            )
            columns = added._asdict() | {"process": records.process_text(added.process)}
            runs = columns.pop("runs")
            self._file.insert("servers", **columns)
            for run in runs:
                self._file.execute(_USE, run, added.id)
            told = {"server": added.id, "kind": added.kind, "project": added.project}
            self._file.write_event("server.added", "", "", told | {"port": added.port})
            return added

    def all(self) -> list[Backend]:
        """The oldest first."""
        return self._file.all(_SERVERS + " ORDER BY rowid", _backend_from)

    def use(self, server: str, run: str) -> bool:
        """The run uses it until the run ends. False if the server is gone or retired."""
        with self._file.writing(FULL):
            if not self._file.one("SELECT run FROM instances WHERE run = ?", records.first, run):
                raise NotLive(self._file.agent_of(run))
            self._file.execute(_USE, run, server)
            query = (
                "SELECT id FROM server_uses JOIN servers ON id = server"
                " WHERE server = ? AND run = ? AND retired_at = ''"
            )
            return self._file.one(query, records.first, server, run) is not None

    def retire(self, server: str) -> bool:
        """True if no live run uses it, and from now on none can: the caller may end it."""
        with self._file.writing(FULL):
            if self._file.execute(_RETIRE, self._file.now(), server).rowcount:
                self._file.write_event("server.retired", "", "", {"server": server})
            query = _SERVERS + " WHERE id = ? AND retired_at != ''"
            return self._file.one(query, _backend_from, server) is not None

    def drop(self, server: str) -> bool:
        """Deletes the record of a server that is proven to be gone. False if it had none."""
        with self._file.writing(FULL):
            statement = "DELETE FROM servers WHERE id = ?"
            dropped = self._file.execute(statement, server).rowcount > 0
            if dropped:
                self._file.write_event("server.dropped", "", "", {"server": server})
            return dropped


def _backend_from(row: records.Row) -> Backend:
    *parts, runs = row
    backend = Backend._make([*parts, tuple(json.loads(runs))])
    return backend._replace(process=records.process_from_text(row[3]))
