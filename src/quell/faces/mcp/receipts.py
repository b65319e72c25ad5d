"""Receipts as resources: quell://receipt/NAME, by an agent's name or a run's id."""

import json
from urllib.parse import quote, unquote

from quell.api import Quell
from quell.core.errors import BadRequest

PREFIX = "quell://receipt/"
TEMPLATE = PREFIX + "{name}"
MOST = 50  # of the newest endings that are listed


def listed(quell: Quell) -> list[tuple[str, str]]:
    """(address, what it is) of the newest endings, newest first."""
    ended = [view for view in quell.list(everybody=True) if view.outcome]
    ended.sort(key=lambda view: view.ended_at, reverse=True)
    return [
        (PREFIX + quote(view.name, safe=""), f"{view.name}: {view.outcome} at {view.ended_at}")
        for view in ended[:MOST]
    ]


def read(quell: Quell, address: str) -> str:
    """The receipt as JSON, without the last screen: that may be meant for one pair of eyes."""
    name = unquote(address.removeprefix(PREFIX))
    if not address.startswith(PREFIX) or not name:
        raise BadRequest(f"{address[:80]} is no receipt", f"for example {PREFIX}luna")
    told = quell.receipt(name).to_json()
    told.pop("screen", None)
    return json.dumps(told, ensure_ascii=False, indent=2)
