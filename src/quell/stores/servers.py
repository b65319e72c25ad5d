"""What live runs hold besides their team: the token that proves who they are, and servers."""

import json

from quell.core.process import process_from_text, process_text
from quell.core.run import Run
from quell.core.teamwork import NotLive, Server
from quell.stores import rows
from quell.stores.sharing import Sharing
from quell.stores.transactions import FULL

_SERVERS = """
    SELECT id, kind, project, process, port, log, started_at, retired_at,
           (SELECT json_group_array(run) FROM
               (SELECT run FROM server_uses WHERE server = id ORDER BY rowid))
    FROM servers"""
_UNUSED = "NOT EXISTS (SELECT 1 FROM server_uses WHERE server = id)"
_ADD = """
    INSERT INTO servers (id, kind, project, process, port, log, started_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
# A retired server takes nobody in.
_USE = """
    INSERT OR IGNORE INTO server_uses (server, run)
    SELECT id, ? FROM servers WHERE id = ? AND retired_at = ''"""

_RETIRE = f"UPDATE servers SET retired_at = ? WHERE id = ? AND retired_at = '' AND {_UNUSED}"  # noqa: S608 - constants only


class Servers(Sharing):
    def set_token(self, run: str, digest: str) -> None:
        """The SHA-256 of the token, never the token. It is forgotten when the run ends."""
        with self._file.writing(FULL) as db:
            given = db.execute("UPDATE instances SET token = ? WHERE run = ?", [digest, run])
            if not given.rowcount:
                raise NotLive(self._agent_of(run))

    def run_of_token(self, digest: str) -> Run | None:
        """The live run that was given it."""
        with self._file.reading() as db:
            query = "SELECT run FROM instances WHERE token = ? AND token != ''"
            row = db.execute(query, [rows.plain(digest)]).fetchone()
            return rows.run_from(db.execute(rows.RUN, row).fetchone()) if row else None

    def add_server(self, server: Server) -> Server:
        """The one that the project has now: this, used by its runs from the beginning, or another's
        that came first. Written down twice, it stays as it is."""
        with self._file.writing(FULL) as db:
            same = [rows.plain(server.kind), rows.plain(server.project)]
            query = _SERVERS + " WHERE (kind = ? AND project = ? AND retired_at = '') OR id = ?"
            known = db.execute(query, [*same, server.id]).fetchone()
            if known:
                return _server_from(known)
            at = server.started_at or self._now()
            row = (*same, process_text(server.process), server.port, rows.plain(server.log), at)
            db.execute(_ADD, [server.id, *row])
            db.executemany(_USE, [[run, server.id] for run in server.runs])
            told = {"server": server.id, "kind": server.kind, "project": server.project}
            self._write_event("server.added", "", "", told | {"port": server.port})
            return server._replace(started_at=at, retired_at="")

    def servers(self) -> list[Server]:
        """The oldest first."""
        with self._file.reading() as db:
            return [_server_from(row) for row in db.execute(_SERVERS + " ORDER BY rowid")]

    def unused_servers(self) -> list[Server]:
        """Those that no live run uses, and those that somebody began to end."""
        with self._file.reading() as db:
            found = db.execute(f"{_SERVERS} WHERE {_UNUSED} ORDER BY rowid")
            return [_server_from(row) for row in found]

    def use_server(self, server: str, run: str) -> bool:
        """Until that run ends. False if the server is no more, or is being ended."""
        with self._file.writing(FULL) as db:
            if not db.execute("SELECT 1 FROM instances WHERE run = ?", [run]).fetchone():
                raise NotLive(self._agent_of(run))
            db.execute(_USE, [run, server])
            query = (
                "SELECT 1 FROM server_uses JOIN servers ON id = server"
                " WHERE server = ? AND run = ? AND retired_at = ''"
            )
            return db.execute(query, [server, run]).fetchone() is not None

    def retire_server(self, server: str) -> bool:
        """True if no live run uses it: nobody can begin to, so that the caller may end it."""
        with self._file.writing(FULL) as db:
            if db.execute(_RETIRE, [self._now(), server]).rowcount:
                self._write_event("server.retired", "", "", {"server": server})
            query = f"{_SERVERS} WHERE id = ? AND retired_at != ''"
            return db.execute(query, [server]).fetchone() is not None

    def drop_server(self, server: str) -> bool:
        """It is proven to be gone, whoever used it. False if that was known."""
        with self._file.writing(FULL) as db:
            dropped = db.execute("DELETE FROM servers WHERE id = ?", [server]).rowcount > 0
            if dropped:
                self._write_event("server.dropped", "", "", {"server": server})
            return dropped

    def _agent_of(self, run: str) -> str:
        """For an error; the run itself if nobody knows it."""
        known = self._file.db.execute("SELECT agent FROM runs WHERE id = ?", [run]).fetchone()
        return known[0] if known else run


def _server_from(row: rows.Row) -> Server:
    id, kind, project, process, port, log, started_at, retired_at, runs = row
    started = (port, log, started_at, retired_at, tuple(json.loads(runs)))
    return Server(id, kind, project, process_from_text(process), *started)
