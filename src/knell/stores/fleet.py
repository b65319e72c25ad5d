"""What this host remembers of its fleet: its link, the orders it took, receipts to publish."""

from typing import Any

from knell.core.ports.fleet import LinkRecord, OutgoingReceipt, StoredOrder
from knell.stores import records
from knell.stores.sqlite import FULL, NORMAL, Part

_LINK = "SELECT epoch, start_event, start_receipt, contact_up, contact_boot, latest FROM fleet_link"
_ORDER = "SELECT id, at, body, state, plan, answer FROM fleet_orders WHERE id = ?"
_EVENTS = "SELECT id, at, type, agent, run, data FROM events WHERE id > ? ORDER BY id LIMIT ?"
_OUT = (
    "SELECT o.seq, r.id, r.run, r.data FROM fleet_outbox o JOIN receipts r ON r.id = o.receipt"
    " WHERE o.seq > ? ORDER BY o.seq LIMIT ?"
)


class SqliteFleet(Part):
    # -- the link ------------------------------------------------------------------------------

    def link(self) -> LinkRecord | None:
        return self._file.one(_LINK, LinkRecord._make)

    def join(self, epoch: str) -> None:
        """A new epoch begins: what is published from now on is numbered from here."""
        with self._file.writing(FULL):
            event, receipt = self.newest()
            starts = {"start_event": event, "start_receipt": receipt}
            self._file.put("fleet_link", {"one": 1}, epoch=epoch, **starts)

    def leave(self) -> None:
        with self._file.writing(FULL):
            self._file.execute("DELETE FROM fleet_link")
            self._file.execute("DELETE FROM fleet_outbox")

    def note_boot(self, boot: str) -> None:
        with self._file.writing(NORMAL):
            self._file.put("fleet_boots", {"boot": boot}, at=self._file.now())

    def boots(self) -> frozenset[str]:
        """Every boot of this machine that a link has seen."""
        return frozenset(self._file.all("SELECT boot FROM fleet_boots", records.first))

    def note_contact(self, up: float, boot: str, latest: float) -> None:
        with self._file.writing(NORMAL):
            self._file.execute(
                "UPDATE fleet_link SET contact_up = CAST(? AS REAL), contact_boot = ?,"
                " latest = max(latest, CAST(? AS REAL))",
                f"{up:.3f}", boot, f"{latest:.3f}",
            )  # fmt: skip

    # -- what is published ---------------------------------------------------------------------

    def newest(self) -> tuple[int, int]:
        """The numbers of the last event and of the last receipt to publish."""
        with self._file.reading():
            return self._newest("events"), self._newest("fleet_outbox")

    def _newest(self, table: str) -> int:
        """The highest number that the table ever gave."""
        [row] = self._file.execute(
            "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?", table
        ).fetchall()
        return int(row[0])

    def events(self, after: int, limit: int) -> list[dict[str, Any]]:
        found = self._file.all(_EVENTS, records.event_from, after, limit)
        return [event._asdict() for event in found]

    def receipts(self, after: int, limit: int) -> list[OutgoingReceipt]:
        def read(row: records.Row) -> OutgoingReceipt:
            return OutgoingReceipt(row[0], row[1], row[2], records.receipt_json(row[3]))

        return self._file.all(_OUT, read, after, limit)

    # -- orders --------------------------------------------------------------------------------

    def order(self, id: str) -> StoredOrder | None:
        return self._file.one(_ORDER, _order_from, id)

    def take_order(self, id: str, body: str) -> None:
        """Writes it down; it is on the disk when this returns. One that is known stays as it is."""
        with self._file.writing(FULL):
            if self.order(id) is None:
                at = self._file.now()
                self._file.insert("fleet_orders", id=id, at=at, body=body, state="taken")

    def plan_order(self, id: str, plan: dict[str, Any]) -> None:
        with self._file.writing(FULL):
            self._file.update("fleet_orders", {"id": id}, plan=plan)

    def close_order(self, id: str, body: str, state: str, answer: dict[str, Any]) -> None:
        """Its answer is kept, because the database may ask for it again. Closing twice changes
        nothing."""
        with self._file.writing(FULL):
            known = self.order(id)
            if known is None or known.state == "taken":
                first = {} if known else {"at": self._file.now(), "body": body}
                self._file.put("fleet_orders", {"id": id}, state=state, answer=answer, **first)


def _order_from(row: records.Row) -> StoredOrder:
    id, at, body, state, plan, answer = row
    told = (records.object_from(text or "{}") for text in (plan, answer))
    return StoredOrder(id, at, body, state, *told)
