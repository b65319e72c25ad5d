"""Reads JSON that another program writes, such as the records of a conversation."""

import json
from collections.abc import Iterator
from typing import Any, cast


def records_of(text: bytes) -> Iterator[dict[str, Any]]:
    """The records of JSON lines; a line that is torn or foreign is left out."""
    return (found for line in text.splitlines() if (found := _object(line)) is not None)


def object_in(text: bytes | str | None) -> dict[str, Any]:
    """The object that the text is; empty if it is none, or no JSON."""
    return _object(text or b"") or {}


def _object(text: bytes | str) -> dict[str, Any] | None:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
