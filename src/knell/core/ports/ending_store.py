"""What the verbs need of the store to end a run: the claim, the rungs, the receipt.

Beside store.py, because `list` loads that one and needs none of this.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from knell.core.process import ProcessId
from knell.core.receipt import Receipt
from knell.core.run import Ending, Orphan, Run


class Won(NamedTuple):
    """The process that claimed the run, and no other, may end it."""

    run: Run


class HeldByOther(NamedTuple):
    """Another process is spawning or ending the run."""

    run: Run


class Over(NamedTuple):
    """The run has ended already."""

    run: Run


Claim = Won | HeldByOther | Over


class ClaimRequest(NamedTuple):
    """An ending that a process wants to carry out."""

    run: str
    ending: Ending
    dead: ProcessId | None = None  # the run's owner until now, if it is known to be dead


class End(NamedTuple):
    """An ending that is over, with its proof and what it left behind."""

    run: Run
    receipt: Receipt
    orphans: Sequence[Orphan] = ()
    owed: bool = False  # whoever asked for it could not take the steps that follow an ending


class Owed(NamedTuple):
    """An ended run that lacks the steps that follow an ending (life/end/owed.py)."""

    run: str
    taker: ProcessId | None = None  # who takes them, or took them when it died


class ReceiptQuery(NamedTuple):
    """Which receipts are wanted: the newest `limit` before number `before`, with all the words."""

    words: tuple[str, ...] = ()
    limit: int = 50
    before: int = 0  # 0: from the newest on
    with_worktree: bool = False  # only where a worktree was looked at


class StoredReceipt(NamedTuple):
    id: int
    at: str
    receipt: Receipt


class EndingStore(Protocol):
    """Who may end a run, how far the ending has come, and its receipt."""

    def claim(self, asked: Sequence[ClaimRequest], owner: ProcessId) -> list[Claim]: ...
    def record_rungs(self, rungs: Sequence[tuple[Run, str]]) -> None: ...
    def spare(self, run: str, receipt: Receipt) -> None: ...
    def end(self, run: Run, receipt: Receipt, orphans: Sequence[Orphan]) -> Receipt: ...
    def end_all(self, ends: Sequence[End]) -> list[Receipt]: ...
    # `settled`: runs that are owed no steps any more.
    def amend(self, receipts: Sequence[Receipt], settled: Sequence[str] = ()) -> None: ...
    def owed(self) -> list[Owed]: ...
    # Those of them that this process may settle: nobody has claimed them since they were read.
    def claim_owed(self, owed: Sequence[Owed], taker: ProcessId) -> list[str]: ...
    def receipt(self, run: str) -> Receipt | None: ...
    def newest_receipt(self, agent: str) -> Receipt | None: ...
    def search(self, query: ReceiptQuery) -> list[StoredReceipt]: ...
