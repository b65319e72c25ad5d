"""The link: publishes what changed on this host, takes its orders, and answers them.

It is a machine that is stepped: `step` does all that is due and says when to come again, so that
one process can also run a thousand of them. It holds nothing that matters in memory: killed at any
moment, the next one goes on from the host's store and from what the database says it has.
"""

import random
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from knell.core.codes import Code
from knell.core.errors import FleetFailed, StoreFailed
from knell.core.fleet.answer import answer_text, receipt_text
from knell.core.fleet.order import FleetOrder, OrderRefusal, Receiver, check_order, order_from_text
from knell.core.ports.fleet import Beginning, Finished, LocalHost, StoredOrder
from knell.fleet.keys import is_signed, public_of, sign
from knell.fleet.private_files import Credentials, FleetFiles, trusted_keys
from knell.fleet.publish import Publisher, is_poison
from knell.fleet.schema import check_schema, explained
from knell.fleet.wire import STATEMENT, Wire, WireFailed, storable

LEASE, POLL, LOOK = 10.0, 5.0, 0.5  # seconds: sign of life, missed notifications, own changes
CALLS = 0.05  # seconds between two looks for orders, however often somebody notifies
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between two attempts to connect
SUPERSEDED = "KN001"


class Link:
    def __init__(
        self, given: Credentials, files: FleetFiles, host: LocalHost, pace: Mapping[str, float] = {}
    ) -> None:
        self.given, self.files, self.host = given, files, host
        self.lease_every = pace.get("lease", LEASE)
        self.poll_every = pace.get("poll", POLL)
        self.deadline = pace.get("deadline", STATEMENT)
        self.wire: Wire | None = None
        self.incarnation = ""  # boot, and a number that no other start has
        self.trouble = ""  # why it is not linked; empty while it is
        self.began: Beginning | None = None
        self.latest = 0.0  # the latest time that the database ever told: it is not turned back
        self.publisher: Publisher | None = None  # of this connection
        self.underway: set[str] = set()  # orders that are carried out right now
        self.unsaid: dict[str, Finished] = {}  # answers that the database does not have yet
        self._due: dict[str, float] = {}
        self._called = False  # a notification came: there may be an order
        self._wait = FIRST_WAIT
        self._connect_at = 0.0

    # -- stepping ------------------------------------------------------------------------------

    def fileno(self) -> int:
        """The socket to wait on; -1 while there is none."""
        return self.wire.fileno() if self.wire else -1

    def step(self) -> float:
        """Does all that is due; the seconds after which to come again, unless the socket wakes."""
        for one in self.host.finished():
            self.underway.discard(one.id)
            self.unsaid[one.id] = one
        try:
            if self.wire is None:
                if (left := self._connect_at - time.monotonic()) > 0:
                    return min(left, LOOK)
                self._connect()
            if self.wire:
                self._work(self.wire)
        except FleetFailed as error:
            self._drop(error.whole)
        except StoreFailed as error:
            self.trouble = str(error)  # the database of the fleet is not to blame
            return 1.0
        return CALLS if self._called else LOOK

    def close(self) -> None:
        if self.wire:
            with suppress(WireFailed):
                self.wire.call("SELECT knell.bye($1)", self.incarnation, seconds=2.0)
            self.wire.close()
            self.wire = None

    def _drop(self, why: str) -> None:
        """Closes the connection; the delay before the next one grows, and differs between hosts."""
        if self.wire:
            self.wire.close()
            self.wire = None
        self.trouble = why
        self._connect_at = time.monotonic() + self._wait * random.uniform(0.5, 1.0)  # noqa: S311 - no secret, only spread
        self._wait = min(self._wait * 2, LONGEST_WAIT)

    # -- connecting ----------------------------------------------------------------------------

    def _connect(self) -> None:
        """LISTEN comes first and reading after it, or an order would fall into the gap."""
        began = self.host.begin()
        if not self.incarnation:
            self.incarnation = f"{began.boot}:{uuid.uuid4().hex[:12]}"
        wire = Wire(self.given.conninfo, self.deadline, self.deadline)
        try:
            check_schema(wire, self.given.fleet)  # before the fleet shows this host as linked
            answer = self._say_hello(wire, began)
            if answer.get("event_seq", 0) > max(self.host.newest()[0], began.start_event):
                # This store was put back from an older copy: its numbers would be taken for old.
                began = self.host.begin_epoch()
                answer = self._say_hello(wire, began)
            wire.rows(f'LISTEN "{channel(self.given.name)}"')
        except BaseException:
            wire.close()
            raise
        self.wire, self.began, self.trouble, self._wait = wire, began, "", FIRST_WAIT
        self._due = {}
        self.publisher = Publisher(self.host, self.incarnation, began.epoch, self._sign_receipt)
        self.publisher.sent_event = answer["event_seq"]
        self.publisher.sent_receipt = answer["receipt_seq"]
        self.latest = max(self.latest, began.latest, answer["now"])
        self.host.note_contact(self.latest)

    def _say_hello(self, wire: Wire, began: Beginning) -> dict[str, Any]:
        told = {
            **began._asdict(), "incarnation": self.incarnation, "clock": self.host.clock(),
            "key": public_of(self.files.host_key),
        }  # fmt: skip
        try:
            answer = wire.call("SELECT knell.hello($1)", told)
        except WireFailed as error:
            raise explained(error) from None
        if answer.get("held"):
            why = (
                f"another machine or link is host '{answer['host']}',"
                f" heard {answer['age']:.0f} s ago: is this a copy of its disk?"
            )
            raise FleetFailed(why, "knell fleet join URL --as ANOTHER-NAME", code=Code.HOST_TAKEN)
        return answer

    # -- working -------------------------------------------------------------------------------

    def _work(self, wire: Wire) -> None:
        now = time.monotonic()
        try:
            self._called |= bool(wire.heard())
            if self._called and self._is_due("call", now, CALLS):
                self._due["poll"] = 0.0
            if self._is_due("poll", now, self.poll_every):
                self._called = False
                self._take_orders(wire)
                self._free_tasks(wire)
            if self.unsaid and self.publisher:
                self.publisher.publish_records(wire)
            self._answer(wire)
            if self.publisher and self._is_due("look", now, LOOK):
                self.publisher.publish(wire, now)
            if self._is_due("lease", now, self.lease_every):
                said = wire.call("SELECT knell.lease($1, $2)", self.incarnation, self.host.clock())
                self.latest = max(self.latest, said["now"])
                self.host.note_contact(self.latest)
        except WireFailed as error:
            if error.state == SUPERSEDED:
                why = "another link took the name of this host"
                raise FleetFailed(why, code=Code.HOST_TAKEN) from None
            raise explained(error) from None

    def _is_due(self, what: str, now: float, every: float) -> bool:
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + every * random.uniform(0.8, 1.0)  # noqa: S311 - no secret, only spread
        return True

    # -- orders --------------------------------------------------------------------------------

    def _take_orders(self, wire: Wire) -> None:
        found = wire.call("SELECT knell.waiting($1)", self.incarnation)
        for row in found["orders"]:
            if row["id"] not in self.underway and row["id"] not in self.unsaid:
                self._take(wire, row, max(found["now"], self.latest))

    def _take(self, wire: Wire, row: dict[str, Any], now: float) -> None:
        """Proves the order, writes it down, reports it as taken, and has it carried out."""
        known = self.host.known_order(row["id"])
        if known and known.body != row["body"]:
            order = OrderRefusal(Code.ORDER_REPLAYED, "the order came before, with another text")
        elif known and known.state != "taken":  # done before, by a database that has forgotten it
            self.unsaid[known.id] = Finished(known.id, known.state, known.answer)
            return
        else:
            order = self._proven(row, now, known)
        if isinstance(order, OrderRefusal):
            self.unsaid[row["id"]] = self.host.refuse(row["id"], row["body"], order)
            return
        self.host.take(order, row["body"])
        if wire.call("SELECT knell.take($1, $2)", self.incarnation, order.id) == "taken":
            self.underway.add(order.id)
            self.host.start(order)
        elif not known:  # it was called off, or has expired, since it was read
            why = OrderRefusal(Code.ORDER_CANCELLED, "the order was called off or has expired")
            self.host.refuse(order.id, row["body"], why)

    def _proven(
        self, row: Mapping[str, Any], now: float, known: StoredOrder | None
    ) -> FleetOrder | OrderRefusal:
        order = order_from_text(row["body"])
        if isinstance(order, OrderRefusal):
            return order
        if not is_signed(row["body"], row["signature"], order.key):
            return OrderRefusal(Code.ORDER_UNREADABLE, "the signature is not of this text")
        if known:  # it was taken in time; the link was interrupted
            now = min(now, order.expires_at - 1e-3)
        trusted = frozenset((who, key) for who, _, key in trusted_keys(self.files.trusted))
        at = Receiver(self.given.fleet, self.given.name, self.host.boots(), now, trusted)
        return check_order(order, row["id"], at) or order

    def _free_tasks(self, wire: Wire) -> None:
        """Hands back what agents of other hosts held whose end their hosts have published. Of a
        host that is cut off nothing is heard, and its agent may still be working."""
        claims = self.host.far_claims()
        if claims:
            asked = [{"host": one.host, "run": one.run} for one in claims]
            found = wire.call("SELECT knell.ended_runs($1)", asked)
            ended = {(one["host"], one["run"]) for one in found}
            for one in claims:
                if (one.host, one.run) in ended:
                    self.host.hand_back(one)

    def _answer(self, wire: Wire) -> None:
        for id, one in [*self.unsaid.items()]:
            try:
                self._finish(wire, one)
            except WireFailed as error:
                if not is_poison(error):
                    raise
                why = f"the answer cannot be stored ({error}); it is on the host"
                said = {"error": {"code": Code.OTHER, "message": why, "hint": ""}}
                self._finish(wire, one._replace(answer=said))
            del self.unsaid[id]

    def _finish(self, wire: Wire, one: Finished) -> None:
        """Signed by this host: whoever can write to the database can still not answer for it."""
        answer = storable(one.answer)
        text = answer_text(self.given.fleet, self.given.name, one.id, one.state, answer)
        proof = sign(self.files.host_key, text, "answer")
        finish = "SELECT knell.finish($1, $2, $3, $4, $5)"
        wire.call(finish, self.incarnation, one.id, one.state, answer, proof)

    def _sign_receipt(self, run: str, number: int, receipt: Any) -> str:
        text = receipt_text(self.given.fleet, self.given.name, run, number, receipt)
        return sign(self.files.host_key, text, "receipt")


def channel(host: str) -> str:
    from hashlib import md5

    return f"knell_{md5(host.encode(), usedforsecurity=False).hexdigest()}"
