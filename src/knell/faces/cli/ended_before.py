"""Says of an agent that had ended before when that was, who did it, and where it worked."""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from knell.core.errors import KnellError
from knell.core.receipt import Result
from knell.faces.text.terminal import since

if TYPE_CHECKING:
    from knell.api import Knell
    from knell.core.receipt import Receipt


def ended_before(knell: "Knell", receipts: "Iterable[Receipt]") -> "Iterator[str]":
    """`'luna' ended 4s ago (killed by operator), claude, ~/work`, for each that had ended."""
    for receipt in receipts:
        if receipt.result is Result.ALREADY_ENDED and receipt.run and receipt.finished_at:
            how = f"{receipt.outcome} by {receipt.by}" if receipt.by else receipt.outcome
            words = [f"'{receipt.agent}' ended {since(receipt.finished_at)} ({how})", receipt.kind]
            yield ", ".join([*(word for word in words if word), *_directory(knell, receipt.agent)])


def _directory(knell: "Knell", agent: str) -> list[str]:
    try:
        path = knell.path(agent)
    except KnellError:
        return []
    home = os.path.expanduser("~")
    return ["~" + path[len(home) :] if path == home or path.startswith(home + "/") else path]
