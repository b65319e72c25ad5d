"""What other hosts answered to orders, as every face tells it.

Never "killed" without the origin's receipt: an order that has no answer yet is pending."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from knell.core.codes import Code
from knell.core.receipt import Receipt, receipt_from_json
from knell.faces.text.endings import Line, receipt_lines

if TYPE_CHECKING:
    from knell.api.far import FarAnswer
    from knell.core.fleet.order import FleetOrder
    from knell.core.ports.fleet import OrderView

SHORT = 8  # characters of an order's id
UNREADABLE = "its answer cannot be read"
CLOSED = {"expired": Code.ORDER_EXPIRED, "cancelled": Code.ORDER_CANCELLED}  # by its state


class FarEnding(NamedTuple):
    """What an ending on other hosts came to."""

    receipts: tuple[tuple[str, Receipt], ...]  # with the host of each
    failed: tuple[tuple[str, dict[str, Any]], ...]  # host, and what it said
    pending: tuple["FarAnswer", ...]


def gathered(answers: "Iterable[FarAnswer]") -> FarEnding:
    receipts: list[tuple[str, Receipt]] = []
    failed: list[tuple[str, dict[str, Any]]] = []
    pending: list[FarAnswer] = []
    for one in answers:
        if one.order is None:
            pending.append(one)
            continue
        host = one.asked.host
        try:
            if said := failure_of(one.order):
                failed.append((host, said))
            for part in one.order.answer.get("targets", ()):
                receipts += [(host, receipt_from_json(found)) for found in part["receipts"]]
        except (AttributeError, KeyError, TypeError, ValueError):  # answers are not signed
            code = Code.ORDER_UNREADABLE
            failed.append((host, {"code": code, "message": UNREADABLE, "hint": "", "exit": 1}))
    return FarEnding(tuple(receipts), tuple(failed), tuple(pending))


def failure_of(order: "OrderView") -> dict[str, Any] | None:
    """What the host answered if it did not do it, or that no host took the order; None: it was
    done."""
    state, answer = order.state, order.answer
    if state == "done" and "error" not in answer:
        return None
    usual = {"code": CLOSED.get(state, Code.OTHER), "message": f"the order is {state}", "hint": ""}
    return usual | dict(answer.get("error", {})) | {"exit": answer.get("exit", 1)}


def ending_lines(one: FarEnding) -> Iterator[Line]:
    for host, receipt in one.receipts:
        for line in receipt_lines(receipt):
            yield line._replace(text=f"{host}: {with_host(line.text, receipt.agent, host)}")
    for host, said in one.failed:
        yield from failure_lines(host, said)
    for answer in one.pending:
        yield from pending_lines(answer.asked)


def with_host(text: str, agent: str, host: str) -> str:
    """A line of its host's, with the words that bring the agent back from here."""
    return text.replace(f"knell r {agent}", f"knell r {agent}@{host}")


def failure_lines(host: str, said: Mapping[str, Any]) -> Iterator[Line]:
    yield Line(f"error: {host}: {said['message']}", error=True)
    if said["hint"]:
        yield Line(f"hint: {said['hint']}", error=True)


def pending_lines(order: "FleetOrder") -> Iterator[Line]:
    until = time.strftime("%H:%M:%S", time.localtime(order.expires_at))
    what = f"{order.verb} {order.target}".strip()
    said = f"{order.host}: pending: it has not answered yet to '{what}' (order {order.id[:SHORT]})"
    yield Line(said, error=True)
    yield Line(
        f"hint: it is done when the host is back, until {until};"
        f" knell orders cancel {order.id[:SHORT]} calls it off",
        error=True,
    )


def pending_json(answer: "FarAnswer") -> dict[str, Any]:
    order = answer.asked
    known = {"order": order.id, "host": order.host, "target": order.target, "verb": order.verb}
    return {**known, "expires_at": order.expires_at, "code": str(Code.PENDING)}
