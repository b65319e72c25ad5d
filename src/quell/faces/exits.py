"""Exit codes: one enum, and what each error and receipt comes to."""

from collections.abc import Iterable
from enum import IntEnum

from quell.core.errors import BadConfig, BadRequest, QuellError
from quell.core.receipt import Receipt, Result


class Exit(IntEnum):
    DONE = 0  # done, or already so
    FAILED = 1  # not found, no target, permission denied, no tracked PID
    USAGE = 2
    SURVIVED = 3  # something is still alive; the receipt names it
    INTERRUPTED = 130


_OF_RESULT = {
    Result.NOT_FOUND: Exit.FAILED,
    Result.NO_PID: Exit.FAILED,
    Result.PERMISSION_DENIED: Exit.FAILED,
    Result.REFUSED: Exit.FAILED,
    Result.SURVIVORS: Exit.SURVIVED,
}


def of_error(error: QuellError) -> Exit:
    return Exit.USAGE if isinstance(error, BadRequest | BadConfig) else Exit.FAILED


def of_receipts(receipts: Iterable[Receipt], *, strict_pane: bool = False) -> Exit:
    """The worst of several targets wins."""
    worst = Exit.DONE
    for receipt in receipts:
        worst = max(worst, _OF_RESULT.get(receipt.result, Exit.DONE))
        if strict_pane and receipt.pane.closed is False:
            worst = max(worst, Exit.FAILED)
    return worst
