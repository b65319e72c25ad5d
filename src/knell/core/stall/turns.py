"""Reads the end of a conversation, so that a kind can tell whose turn it is.

How a program writes its conversation is a fact of its kind: the function `turn` in its file, read
from the program itself (docs/stalls.md). What a record does not clearly say stays unknown.
"""

from collections.abc import Callable, Sequence
from typing import Any

from knell.core.json_lines import records_of
from knell.core.stall.signs import Turn

Record = dict[str, Any]

_OPEN = (Turn.OPEN, Turn.TOOL)


def turn_of(read: Callable[[Sequence[Record]], Turn], tail: bytes, since: str = "") -> Turn:
    """From the last lines of the file, of which the first may be torn and the last half written.

    A turn that was open when an earlier run was cut short does not go on by itself: only what was
    written after `since` (as the records write it: 2026-11-15T22:49:36) can open one.
    """
    records = list(records_of(tail))[::-1]
    turn = read(records)
    if turn in _OPEN and since:
        turn = read([one for one in records if str(one.get("timestamp", "")) >= since])
        return turn if turn in _OPEN else Turn.UNKNOWN
    return turn


def inner(record: Record, key: str) -> Record:
    """The object below that key; empty if there is none."""
    found: Any = record.get(key)
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def objects(value: Any) -> list[Record]:
    """The objects of a list; none if it is no list."""
    if not isinstance(value, list):
        return []
    return [one for one in value if isinstance(one, dict)]  # pyright: ignore[reportUnknownVariableType]
