"""The row of an agent of another host, made of what that host has published."""

from collections.abc import Mapping
from typing import Any, cast

from knell.life.look.list import AgentView

NUMBERS = {name for name, type in AgentView.__annotations__.items() if type is not str}
LONGEST = 500  # characters of one text in a row


def far_view(row: object) -> AgentView | None:
    """None if it is no row. Nothing in it is believed: a host may publish whatever it likes, an
    older knell has fewer fields, and a newer one more."""
    if not isinstance(row, Mapping):
        return None
    found = cast("Mapping[str, Any]", row)
    view = AgentView(**{name: _field(name, found.get(name)) for name in AgentView._fields})
    return view if view.name and view.host and view.run else None


def _field(name: str, value: object) -> Any:
    if name in NUMBERS:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number else None
    return value[:LONGEST] if isinstance(value, str) else ""
