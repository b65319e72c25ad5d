"""What a host signs of its own: answers to orders, and receipts; pure.

The database keeps them as JSON in a form of its own, so a reader must rebuild the text that was
signed. For that, each number has exactly one form here."""

from decimal import Decimal
from typing import Any, cast

from knell.core.fleet.order import canonical

FORM = 1  # of the texts


def answer_text(fleet: str, host: str, order: str, state: str, answer: Any) -> str:
    """What the host signs when it has done or refused an order."""
    return _text(fleet=fleet, host=host, order=order, state=state, answer=answer)


def receipt_text(fleet: str, host: str, run: str, number: int, receipt: Any) -> str:
    """What the host signs of a receipt that it publishes."""
    return _text(fleet=fleet, host=host, run=run, number=number, receipt=receipt)


def _text(**fields: Any) -> str:
    return canonical({"form": FORM, **{name: _settled(value) for name, value in fields.items()}})


def _settled(value: Any) -> Any:
    """The same, with whole numbers digit by digit: the database knows no 1e22 and no -0.0."""
    if isinstance(value, float):
        return int(Decimal(repr(value))) if value.is_integer() else value
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {name: _settled(part) for name, part in parts.items()}
    if isinstance(value, list | tuple):
        return [_settled(part) for part in cast("list[Any]", value)]
    return value
