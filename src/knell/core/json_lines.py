"""Reads JSON lines that another program writes, such as the records of a conversation."""

import json
from collections.abc import Iterator
from typing import Any


def records_of(text: bytes) -> Iterator[dict[str, Any]]:
    """The records of JSON lines; a line that is torn or foreign is left out."""
    for line in text.splitlines():
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record  # pyright: ignore[reportUnknownVariableType]
