"""The receipt that is left beside a run's journal when the store cannot be written."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from knell import files
from knell.core.receipt import receipt_from_json
from knell.core.run import Outcome

if TYPE_CHECKING:
    from knell.core.receipt import Receipt

NAME = "receipt.json"
LARGEST = 16 * 1024 * 1024  # bytes
LARGEST_CODE = 2**32  # of an exit


def write(rundir: str, receipt: Receipt) -> bool:
    try:
        files.overwrite(os.path.join(rundir, NAME), json.dumps(receipt.to_json()).encode())
    except OSError:
        return False  # the keeper's journal beside it says the same, in other words
    return True


def parse(text: bytes | None, run: str) -> Receipt | None:
    """None without one, and for one that is torn or not of this run: then the journal is read."""
    if text is None:
        return None
    try:
        receipt = receipt_from_json(json.loads(text))
        Outcome(receipt.outcome or Outcome.LOST)  # ValueError for any other word
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    codes = (receipt.exit_code or 0, receipt.exit_signal or 0)
    possible = receipt.run == run and all(abs(code) < LARGEST_CODE for code in codes)
    return receipt if possible else None
