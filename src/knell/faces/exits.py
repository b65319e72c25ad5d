"""Exit codes: one enum, and what each error and receipt comes to."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from knell.core.codes import Code
from knell.core.errors import KnellError

if TYPE_CHECKING:
    from knell.core.receipt import Receipt


class Exit(IntEnum):
    DONE = 0  # done, or already so
    FAILED = 1  # not found, no target, permission denied, no tracked PID
    USAGE = 2  # the request cannot be understood
    SURVIVED = 3  # something is still alive; the receipt names it
    PENDING = 4  # another host has not answered yet: the order waits for it
    INTERRUPTED = 130  # by Ctrl-C


_OF_RESULT = {  # in the words of core.receipt.Result, which most verbs need not load
    "not_found": Exit.FAILED,
    "no_pid": Exit.FAILED,
    "permission_denied": Exit.FAILED,
    "refused": Exit.FAILED,
    "survivors": Exit.SURVIVED,
}


_USAGE = (Code.BAD_REQUEST, Code.BAD_PARAMETER, Code.BAD_SETTINGS, Code.TASK_CYCLE)


def of_error(error: KnellError) -> Exit:
    return Exit.USAGE if error.code in _USAGE else Exit.FAILED


def of_receipts(receipts: "Iterable[Receipt]", *, strict_pane: bool = False) -> Exit:
    """The worst of several targets wins."""
    worst = Exit.DONE
    for receipt in receipts:
        worst = max(worst, _OF_RESULT.get(receipt.result, Exit.DONE))
        if strict_pane and receipt.pane.closed is False:
            worst = max(worst, Exit.FAILED)
    return worst
