"""An order from one host to another: the bytes that are signed, and its checks. What becomes of one
is decided where all hosts meet, in the database (fleet/sql).

What is signed is the text itself. It is read only after its signature was proven, and only if it
is written in the one way in which knell writes it."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from knell.core.codes import Code
from knell.core.json_lines import object_in
from knell.core.receipt import record_from_json

FORM = 1  # of the text that is signed
LONGEST = 1_000_000  # characters of an order
LAST_TIME = 1e11  # seconds after 1970 that a calendar has
SPENT = 86400.0 * 7  # seconds that an order may wait at most


class FleetOrder(NamedTuple):
    """What one host is asked to do. Times are seconds after 1970, by the database's clock."""

    id: str
    fleet: str
    host: str  # who shall do it
    boot: str  # the host's boot, as the asker knew it; empty: whichever
    verb: str  # kill, stop, resume, restart, spawn, show, tree, explain, receipt, task.…
    target: str  # an agent's name, tag:X, team:X or all; for tasks their id
    runs: tuple[str, ...]  # the runs that are meant; what started later is spared
    options: dict[str, Any]
    by: str  # "operator:ann", or "agent:luna" of the host that signs
    signer: str  # "operator" or "host:NAME": whose key signs
    key: str  # the public key
    issued_at: float
    expires_at: float


def order_text(order: FleetOrder) -> str:
    """The one way in which an order is written."""
    return canonical({"form": FORM, **order._asdict()})


def canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def signed_bytes(text: str, what: str = "order") -> bytes:
    """Behind a word for what it is: what is signed as an answer is never taken for an order."""
    return f"knell {what}\n{text}".encode("ascii", "strict")


class OrderRefusal(NamedTuple):
    code: Code
    why: str


def order_from_text(text: str) -> FleetOrder | OrderRefusal:
    """The order that this text is. It comes from outside, so nothing in it is believed."""
    wrong = OrderRefusal(Code.ORDER_UNREADABLE, "the order cannot be read")
    fields = object_in(text if len(text) <= LONGEST else None)
    if fields.get("form") != FORM or fields.keys() != {"form", *FleetOrder._fields}:
        return wrong
    times = (fields["issued_at"], fields["expires_at"])
    if canonical(fields) != text or not all(map(_is_time, times)):
        return wrong
    try:
        return cast("FleetOrder", record_from_json(FleetOrder, fields))
    except ValueError:
        return wrong


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LAST_TIME


class Receiver(NamedTuple):
    """What an order is held against: the host that got it."""

    fleet: str
    host: str
    boots: frozenset[str]  # this machine's boots that the link has known
    now: float  # by the database's clock
    trusted: frozenset[tuple[str, str]]  # (signer, public key) whose orders are obeyed


def check_order(order: FleetOrder, row: str, at: Receiver) -> OrderRefusal | None:
    """Why the host does not obey; None if it does. `row`: the id under which it was delivered.

    Its signature was proven before, by the key that it names."""
    if (order.signer, order.key) not in at.trusted:
        return OrderRefusal(Code.KEY_NOT_TRUSTED, f"this host obeys no key {order.key}")
    if order.id != row or order.fleet != at.fleet or order.host != at.host:
        return OrderRefusal(Code.ORDER_FOREIGN, f"the order is meant for {order.host}")
    whole = order.expires_at - order.issued_at
    if not 0 < whole <= SPENT or order.expires_at <= at.now:
        return OrderRefusal(Code.ORDER_EXPIRED, "the order has expired")
    if order.boot and order.boot not in at.boots:
        return OrderRefusal(Code.OTHER_INCARNATION, "the order is meant for another incarnation")
    return None
