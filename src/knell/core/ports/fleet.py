"""What a host needs of its fleet, and what the link needs of its host.

`FleetStore` is the host's own memory; `LocalHost` is what the link publishes and obeys through.
Neither waits for the fleet's database."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from knell.core.fleet.order import FleetOrder, OrderRefusal


class LinkRecord(NamedTuple):
    """What the host remembers of its link."""

    epoch: str
    start_event: int
    start_receipt: int
    contact_up: float  # seconds since boot at which the database last answered
    contact_boot: str
    latest: float  # the latest time that the database told, in seconds after 1970


class StoredOrder(NamedTuple):
    """An order that came to this host, and what became of it."""

    id: str
    at: str
    body: str
    state: str  # taken, done or refused
    plan: dict[str, Any]
    answer: dict[str, Any]


class OutgoingReceipt(NamedTuple):
    seq: int
    number: int
    run: str
    receipt: dict[str, Any]


class FleetStore(Protocol):
    """What the host remembers, in its own store."""

    def link(self) -> LinkRecord | None: ...
    def join(self, epoch: str) -> None: ...
    def leave(self) -> None: ...
    def note_boot(self, boot: str) -> None: ...
    def boots(self) -> frozenset[str]: ...
    def note_contact(self, up: float, boot: str, latest: float) -> None: ...
    def newest(self) -> tuple[int, int]: ...
    def events(self, after: int, limit: int) -> list[dict[str, Any]]: ...
    def receipts(self, after: int, limit: int) -> list[OutgoingReceipt]: ...
    def order(self, id: str) -> StoredOrder | None: ...
    def take_order(self, id: str, body: str) -> None: ...
    def plan_order(self, id: str, plan: dict[str, Any]) -> None: ...
    def close_order(self, id: str, body: str, state: str, answer: dict[str, Any]) -> None: ...


class Beginning(NamedTuple):
    """What a link tells the database of its host when it begins."""

    boot: str
    epoch: str
    start_event: int
    start_receipt: int
    version: str
    seat: str  # this boot and this home: only one link can sit there
    latest: float  # the latest time that the database ever told


class Finished(NamedTuple):
    """An order that is over, and its answer."""

    id: str
    state: str  # done or refused
    answer: dict[str, Any]


class FarClaim(NamedTuple):
    """A task of a team of this host that an agent of another host works on."""

    task: str
    token: int
    host: str
    run: str


class LocalHost(Protocol):
    """What the link needs of its host. Nothing here waits for the database."""

    def begin(self) -> Beginning: ...
    def begin_epoch(self) -> Beginning: ...  # the store lost numbers that were published
    def boots(self) -> frozenset[str]: ...
    def clock(self) -> float: ...
    def note_contact(self, latest: float) -> None: ...  # the database answered, and told this time
    def newest(self) -> tuple[int, int]: ...  # number of the last event, and receipt to publish
    def views(self) -> list[dict[str, Any]]: ...  # the agents that live
    def views_of(self, names: Sequence[str]) -> list[dict[str, Any]]: ...
    def events(self, after: int, limit: int) -> list[dict[str, Any]]: ...
    def receipts(self, after: int, limit: int) -> list[OutgoingReceipt]: ...
    def known_order(self, id: str) -> StoredOrder | None: ...
    def take(self, order: FleetOrder, body: str) -> None: ...  # durable when it returns
    def refuse(self, id: str, body: str, why: OrderRefusal) -> Finished: ...
    def start(self, order: FleetOrder) -> None: ...  # returns at once
    def finished(self) -> list[Finished]: ...
    def far_claims(self) -> list[FarClaim]: ...
    def hand_back(self, claim: FarClaim) -> None: ...


# -- what a verb asks of the fleet -----------------------------------------------------------------


class Joined(NamedTuple):
    """What came of joining, without a secret."""

    name: str
    fleet: str
    role: str
    database: str  # where, as a person may see it
    file: str
    key: str  # the public one
    obeys: tuple[str, ...] = ()  # names of the keys that this host obeys


class HostView(NamedTuple):
    """One host of the fleet, as the database knows it."""

    name: str
    state: str  # heard, silent, unsure, never or left; never "dead"
    seen: float | None  # seconds since it was heard
    live: int  # agents
    boot: str
    skew: float  # seconds by which its clock is ahead of the database's
    version: str
    key: str
    doubt: str = ""  # why its answers are not believed


class OrderView(NamedTuple):
    """One order, as the database knows it. Times are seconds after 1970."""

    id: str
    host: str
    # issued, taken (by its host, which is at it), done or refused; or never carried out: expired,
    # because its host did not take it in time, or cancelled
    state: str
    verb: str
    target: str
    by: str
    issued_at: float
    expires_at: float
    finished_at: float | None
    answer: dict[str, Any]
    dry_run: bool = False  # it only asks what would be done


class FleetEvent(NamedTuple):
    """An event of some host, and where it stands in the order of the fleet."""

    tx: str
    id: int
    host: str
    seq: int
    at: str
    type: str
    agent: str
    run: str
    data: dict[str, Any]
