"""The audit trail: what happened to which agent, in the order in which it was recorded."""

from collections.abc import Mapping
from typing import Any

from knell.core.ports.store import Event
from knell.stores import records
from knell.stores.sqlite import NORMAL, Part

_LARGEST = 2**63 - 1  # the largest number that SQLite holds


class SqliteEvents(Part):
    def read(self, after: int, agent: str, limit: int) -> list[Event]:
        """Oldest first: the next `limit` after number `after`, or the last `limit` if that is 0."""
        order, only = "ASC" if after else "DESC", "AND agent = :agent" if agent else ""
        found = self._file.all(
            "SELECT id, at, type, agent, run, data FROM events"
            f" WHERE id > :after {only} ORDER BY id {order} LIMIT :limit",
            records.event_from,
            after=min(after, _LARGEST),
            agent=agent,
            limit=min(max(limit, 0), _LARGEST),
        )
        return found if after else found[::-1]

    def record(self, type: str, agent: str, run: str, data: Mapping[str, Any]) -> None:
        with self._file.writing(NORMAL):
            self._file.write_event(type, agent, run, data)
