"""What every part of the store stands on: one file, one clock, and the trail of events."""

from collections.abc import Callable, Mapping
from typing import Any

from quell.core.store import Happened
from quell.stores import rows
from quell.stores.transactions import NORMAL, Transactions


class Trail:
    def __init__(self, path: str, *, now: Callable[[], str]) -> None:
        self._now = now
        self._file = Transactions(path)

    def close(self) -> None:
        """Closing twice is no error."""
        self._file.close()

    def check(self) -> None:
        """StoreFailed unless all of it can be read, and some of it be written; changes nothing."""
        self._file.check()

    def events(self, after: int, agent: str, limit: int) -> list[Happened]:
        """Oldest first: the next `limit` after number `after`, or the last `limit` after 0."""
        most = 2**63 - 1  # what an SQLite number holds
        bounds = {"after": min(after, most), "limit": min(max(limit, 0), most)}
        with self._file.reading() as db:
            query = rows.events_query(after, agent) + " LIMIT :limit"
            found = db.execute(query, bounds | {"agent": rows.plain(agent)}).fetchall()
            return [rows.happened_from(row) for row in (found if after else reversed(found))]

    def events_version(self) -> int:
        """Another number as soon as another process has written anything; nearly free to ask."""
        with self._file.reading() as db:
            return int(db.execute("PRAGMA data_version").fetchone()[0])

    def note(self, type: str, agent: str, run: str, data: Mapping[str, Any]) -> None:
        with self._file.writing(NORMAL):
            self._write_event(type, agent, run, data)

    def _write_event(self, type: str, agent: str, run: str, data: Mapping[str, Any]) -> None:
        """Inside a transaction."""
        told = [rows.plain(text) for text in (self._now(), type, agent, run)]
        self._file.db.execute(
            "INSERT INTO events (at, type, agent, run, data) VALUES (?, ?, ?, ?, ?)",
            [*told, rows.json_text(data)],
        )
