"""Exit codes: one enum, and what each error and receipt comes to."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from quell.core.errors import BadConfig, BadRequest, QuellError

if TYPE_CHECKING:
    from quell.core.receipt import Receipt


class Exit(IntEnum):
    DONE = 0  # done, or already so
    FAILED = 1  # not found, no target, permission denied, no tracked PID
    USAGE = 2
    SURVIVED = 3  # something is still alive; the receipt names it
    INTERRUPTED = 130


_OF_RESULT = {  # in the words of core.receipt.Result, which most verbs need not load
    "not_found": Exit.FAILED,
    "no_pid": Exit.FAILED,
    "permission_denied": Exit.FAILED,
    "refused": Exit.FAILED,
    "survivors": Exit.SURVIVED,
}


def of_error(error: QuellError) -> Exit:
    return Exit.USAGE if isinstance(error, BadRequest | BadConfig) else Exit.FAILED


def of_receipts(receipts: "Iterable[Receipt]", *, strict_pane: bool = False) -> Exit:
    """The worst of several targets wins."""
    worst = Exit.DONE
    for receipt in receipts:
        worst = max(worst, _OF_RESULT.get(receipt.result, Exit.DONE))
        if strict_pane and receipt.pane.closed is False:
            worst = max(worst, Exit.FAILED)
    return worst
