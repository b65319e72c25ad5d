"""The asker's side of the fleet: who is where, orders to other hosts, and their answers."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from knell.core.codes import Code
from knell.core.errors import FleetFailed, NoSuchAgent, Refused
from knell.core.fleet.order import FleetOrder, order_text
from knell.core.fleet.target import EVERYWHERE, FarTarget
from knell.core.ports.fleet import FleetEvent, HostView, OrderView
from knell.fleet.keys import public_of, sign
from knell.fleet.known_hosts import KnownHosts, is_proven_receipt, proven_order, unsigned
from knell.fleet.private_files import Credentials
from knell.fleet.schema import FORBIDDEN, check_schema, explained
from knell.fleet.wire import Wire, WireFailed

FIRST_LOOK, LONGEST_LOOK = 0.03, 0.25  # seconds between two looks for answers


class Signer(NamedTuple):
    """Who gives orders, and with which key."""

    by: str  # operator:ann, or agent:luna
    signer: str  # operator, or host:NAME
    key_file: str


class OrderWish(NamedTuple):
    """What is to be done, on whichever hosts the target means."""

    verb: str
    target: FarTarget
    options: dict[str, Any]
    expires_in: float  # seconds


class PostgresFleet:
    """Connects when it is first needed, and once more if the connection was lost."""

    def __init__(self, given: Credentials, known: KnownHosts) -> None:
        self.given, self._known = given, known
        self._wire: Wire | None = None

    def close(self) -> None:
        if self._wire:
            self._wire.close()
            self._wire = None

    def call(self, statement: str, *values: Any) -> Any:
        """The first column of the first row, read as JSON."""
        return json.loads(self.text(statement, *values) or "null")

    def text(self, statement: str, *values: Any) -> str | None:
        fresh = self._wire is None
        self._wire = self._wire or self._connect()
        try:
            rows = self._wire.rows(statement, *values)
            return rows[0][0] if rows else None
        except WireFailed as error:
            if error.state:
                raise _explained(error) from None
            self.close()
            if fresh:
                raise
        return self.text(statement, *values)  # every statement here may be repeated

    def _connect(self) -> Wire:
        wire = Wire(self.given.conninfo)
        try:
            check_schema(wire, self.given.fleet)
        except BaseException:
            wire.close()
            raise
        return wire

    # -- looking -------------------------------------------------------------------------------

    def hosts(self) -> list[HostView]:
        found = self.call("SELECT knell.fleet_hosts()")
        keys = self._known.meet({one["name"]: one["key"] for one in found})
        names = [name for name in HostView._fields if name != "doubt"]
        return [
            HostView(**{name: one[name] for name in names})._replace(doubt=_doubt(one, keys))
            for one in found
        ]

    def agents(self, **which: Any) -> list[dict[str, Any]]:
        """The rows of `list`, each with its host. `which`: host, name, tag, team, ended."""
        return json.loads(self.agents_text(**which))

    def agents_text(self, **which: Any) -> str:
        """The same as the text of a JSON array with a line for each, to be passed on unread."""
        given = {key: value for key, value in which.items() if value not in ("", None, EVERYWHERE)}
        return self.text("SELECT knell.fleet_list($1)", given) or "[]"

    def recently_ended(self, limit: int) -> list[dict[str, Any]]:
        """The rows of those that ended last, on all hosts; the database leaves out the others."""
        return self.call(
            "SELECT coalesce(jsonb_agg(last.one), '[]') FROM"
            " (SELECT one FROM jsonb_array_elements(knell.fleet_list($1)::jsonb) one"
            " WHERE one->>'state' = 'ended' ORDER BY one->>'ended_at' DESC LIMIT $2::integer) last",
            {"ended": True},
            limit,
        )

    def events(self, after: FleetEvent | None, limit: int, agent: str = "") -> list[FleetEvent]:
        told: dict[str, Any] = {"limit": limit}
        told |= {"tx": after.tx, "id": after.id} if after else {}
        told |= {"agent": agent} if agent else {}
        return [FleetEvent(**one) for one in self.call("SELECT knell.fleet_events($1)", told)]

    def receipt(self, host: str, agent: str) -> dict[str, Any] | None:
        """The newest of that agent or run; FleetFailed if its host has not signed it."""
        row = self.call("SELECT knell.signed_receipt($1, $2)", host, agent)
        if row is None:
            return None
        key = self._known.meet({host: row["key"]}).get(host, "")
        meant = agent in (row["receipt"].get("agent"), row["run"])
        if not meant or not is_proven_receipt(row, self.given.fleet, host, key):
            raise unsigned("receipt", host)
        return row["receipt"]

    def room(self) -> dict[str, Any]:
        return self.call("SELECT knell.room()")

    # -- orders --------------------------------------------------------------------------------

    def prepare(self, wish: OrderWish, who: Signer) -> list[FleetOrder]:
        """One order for each host that is meant; signed by the clock of the database."""
        now = float(self.call("SELECT knell.schema_of()")["now"])
        key, fleet = public_of(who.key_file), self.given.fleet
        return [
            FleetOrder(
                str(uuid.uuid4()), fleet, host, boot, wish.verb, wish.target.what, runs,
                wish.options, who.by, who.signer, key, now, now + wish.expires_in,
            )
            for host, boot, runs in self._meant(wish)
        ]  # fmt: skip

    def _meant(self, wish: OrderWish) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Host, its boot, and the runs that are meant there."""
        target = wish.target
        if not target.group:
            found = self.call("SELECT knell.find($1, $2)", target.host, target.what)
            if found is None:
                raise self._unknown_host(target.host)
            spawns = wish.verb in ("spawn", "task")  # what is meant is no run
            if not spawns and not found["run"]:
                raise _unknown_agent(self, target)
            yield target.host, "" if spawns else found["boot"], () if spawns else (found["run"],)
            return
        kind, _, value = target.what.partition(":")
        which = {kind: value} if value else {}
        which |= {"host": target.host} if target.host != EVERYWHERE else {}
        hosts = self.call("SELECT knell.fleet_runs($1)", which)
        if not hosts and target.host != EVERYWHERE:
            raise self._unknown_host(target.host)
        for host in hosts:
            if host["runs"]:
                yield host["name"], host["boot"], tuple(host["runs"])

    def _unknown_host(self, name: str) -> Refused:
        try:
            known = ", ".join(host.name for host in self.hosts() if host.state != "left")
        except FleetFailed:
            known = ""  # only operators may know
        hint = f"the fleet has {known}" if known else "knell fleet status shows the hosts"
        return Refused(f"no host '{name}' in the fleet", hint, code=Code.HOST_NOT_FOUND)

    def issue(self, orders: Sequence[FleetOrder], who: Signer) -> None:
        told = [
            {
                "id": order.id, "host": order.host, "body": (text := order_text(order)),
                "signature": sign(who.key_file, text), "expires_at": order.expires_at,
            }
            for order in orders
        ]  # fmt: skip
        if told:
            self.call("SELECT knell.issue($1)", told)

    def await_answers(
        self, orders: Sequence[FleetOrder], seconds: float, pause: Callable[[float], None]
    ) -> dict[str, OrderView]:
        """Order → how it ended, of those that ended within that time. `pause` waits."""
        found: dict[str, OrderView] = {}
        deadline, next_look = time.monotonic() + seconds, FIRST_LOOK
        while True:
            left = "{" + ",".join(order.id for order in orders if order.id not in found) + "}"
            for one in self._proven(self.call("SELECT knell.answers($1)", left)):
                found[one.id] = one
            remaining = deadline - time.monotonic()
            if len(found) == len(orders) or remaining <= 0:
                return found
            pause(min(next_look, remaining))
            next_look = min(next_look * 1.3, LONGEST_LOOK)

    def orders(self, *, with_closed: bool = False) -> list[OrderView]:
        return self._proven(self.call("SELECT knell.list_orders($1)", with_closed))

    def _proven(self, rows: Sequence[dict[str, Any]]) -> list[OrderView]:
        """Orders as the database has them; an answer that its host has not signed is none."""
        if not rows:
            return []
        keys = self._known.meet({row["host"]: row["key"] or "" for row in rows})
        return [_order_view(proven_order(row, self.given.fleet, keys)) for row in rows]

    def cancel(self, id: str) -> None:
        """Calls an order off; refused once its host has taken it."""
        try:
            was = self.call("SELECT knell.cancel($1)", str(uuid.UUID(id)))
        except ValueError:
            was = "unknown"
        if was == "unknown":
            hint = "knell orders --all shows them"
            raise Refused(f"the fleet has no order {id}", hint, code=Code.ORDER_NOT_FOUND)
        if was not in ("issued", "cancelled"):
            why = f"order {id} is {was}: it cannot be called off any more"
            raise Refused(why, "knell orders --all shows what came of it", code=Code.ORDER_CLOSED)


def _order_view(row: Mapping[str, Any]) -> OrderView:
    names = ("id", "host", "state", "issued_at", "expires_at", "finished_at")
    known: dict[str, Any] = {name: row[name] for name in names}
    try:
        body: Any = json.loads(row["body"])
        known |= {name: str(body[name]) for name in ("verb", "target", "by")}
        known["dry_run"] = bool(body["options"].get("dry_run"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # by hand
        known |= dict.fromkeys(("verb", "target", "by"), "?")
    return OrderView(**known, answer=row["answer"] or {})


def _doubt(host: Mapping[str, Any], keys: Mapping[str, str]) -> str:
    known = keys.get(host["name"], "")
    return "" if host["key"] == known or not known else "its key is not the one that is known here"


def _unknown_agent(fleet: PostgresFleet, target: FarTarget) -> NoSuchAgent:
    try:
        elsewhere = fleet.agents(name=target.what)
    except FleetFailed:
        elsewhere = []
    return NoSuchAgent(str(target), tuple(f"{one['name']}@{one['host']}" for one in elsewhere[:3]))


def _explained(error: WireFailed) -> FleetFailed:
    if error.state in ("KN002", FORBIDDEN):
        hint = "knell fleet join URL --operator NAME gives this home an operator's credentials"
        return FleetFailed(str(error), hint, code=Code.FLEET_OFF)
    return explained(error)
