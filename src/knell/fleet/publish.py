"""Publishes what changed on this host: rows of agents, receipts and events, each exactly once.

How far it has come is what the database says, in the transaction that took it. So what could not be
published waits in the host's own store, and after a backup of the database it goes out again."""

from collections.abc import Callable, Mapping
from typing import Any

from knell.core.ports.fleet import LocalHost
from knell.fleet.wire import Wire, WireFailed, storable

VIEWS = 15.0  # seconds after which agents are compared although no event was written
BATCH = 500  # events or receipts in one statement
VOLATILE = ("activity_age_s", "heartbeat_age_s", "quiet_s", "cpu_percent", "memory_mb", "processes")


class Publisher:
    """What one connection has published."""

    def __init__(
        self, host: LocalHost, incarnation: str, epoch: str, sign: Callable[[str, int, Any], str]
    ) -> None:
        """`sign`: of a receipt's run, its number and itself, with the host's own key."""
        self.host, self.incarnation, self.epoch = host, incarnation, epoch
        self._sign = sign
        self.sent_event = self.sent_receipt = 0
        self.sent: dict[str, dict[str, Any]] | None = None  # views; None: all are to be sent
        self._views_of, self._views_at = 0, 0.0  # the event, and when the views are due again

    def publish(self, wire: Wire, now: float) -> None:
        """Nothing is marked as sent here before the database has said that it has it."""
        event, _ = self.host.newest()
        if event != self._views_of or self.sent is None or now >= self._views_at:
            self._publish_views(wire)
            self._views_of, self._views_at = event, now + VIEWS
        self.publish_records(wire)

    def publish_records(self, wire: Wire) -> None:
        """Receipts and events; before an order is answered, so that they are there with it."""
        event, receipt = self.host.newest()
        while event > self.sent_event or receipt > self.sent_receipt:
            told: dict[str, list[dict[str, Any]]] = {}
            if event > self.sent_event:
                told["events"] = self.host.events(self.sent_event, BATCH)
            if receipt > self.sent_receipt:
                out = self.host.receipts(self.sent_receipt, BATCH)
                told["receipts"] = [one._asdict() for one in out]
            answer = self._tell_all(wire, {what: items for what, items in told.items() if items})
            # What had the other numbers was removed meanwhile, and is not waited for.
            self.sent_event = answer["event_seq"] if told.get("events") else event
            self.sent_receipt = answer["receipt_seq"] if told.get("receipts") else receipt

    def _publish_views(self, wire: Wire) -> None:
        views = {view["name"]: _settled(view) for view in self.host.views()}
        known = self.sent
        if known is None:
            self._tell(wire, {"agents": [*views.values()], "all": True})
        else:
            gone = [name for name in known if name not in views]
            new = [view for name, view in views.items() if known.get(name) != view]
            new += [_settled(view) for view in self.host.views_of(gone)] if gone else []
            if new:
                self._tell(wire, {"agents": new})
        self.sent = views

    def _tell_all(self, wire: Wire, told: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        """Publishes all in one statement. If the database refuses the data of one of them, each
        is published by itself, and for that one only the fact that it cannot be published."""
        try:
            return self._tell(wire, told)
        except WireFailed as error:
            if not is_poison(error):
                raise
            if sum(map(len, told.values())) == 1:
                [(what, [item])] = told.items()
                inner = "data" if what == "events" else "receipt"
                said = {"agent": "", "unpublishable": str(error)[:200]}
                return self._tell(wire, {what: [{**item, inner: said}]})
        answer: dict[str, Any] = {}
        for what, items in told.items():
            for item in items:
                answer = self._tell_all(wire, {what: [item]})
        return answer

    def _tell(self, wire: Wire, told: dict[str, Any]) -> dict[str, Any]:
        if "receipts" in told:
            told = {**told, "receipts": [self._signed(one) for one in told["receipts"]]}
        return wire.call(
            "SELECT knell.publish($1, $2)", self.incarnation, told | {"epoch": self.epoch}
        )

    def _signed(self, one: dict[str, Any]) -> dict[str, Any]:
        receipt = storable(one["receipt"])
        return {**one, "receipt": receipt, "proof": self._sign(one["run"], one["number"], receipt)}


def is_poison(error: WireFailed) -> bool:
    """Whether PostgreSQL refuses the data itself, and would do so for ever."""
    return error.state[:2] in ("22", "54")


def _settled(view: Mapping[str, Any]) -> dict[str, Any]:
    """The row without the fields that change all the time: they would be old when read."""
    return {**view, **dict.fromkeys(VOLATILE)}
