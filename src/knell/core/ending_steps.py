"""How runs are ended, what is known of each run on the way, and the steps that every ending gets.

The engine (life/end/engine.py) walks the steps and knows none of them: each room of `life` adds its
own, and knell/start_end_steps.py is the list.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from knell.core.agent import Agent
from knell.core.codes import Notice
from knell.core.kind import Kind
from knell.core.ladder import Ladder
from knell.core.ports.endings import EndReport
from knell.core.ports.processes import Target
from knell.core.receipt import Conversation, Receipt, Result
from knell.core.run import Ending, Run

if TYPE_CHECKING:
    from knell.core.ports.registry import Registry, Row

OVER = (Result.ENDED, Result.ALREADY_ENDED, Result.LET_GO)


class Way(NamedTuple):
    """How to end runs, and what to call it."""

    ladder: Ladder
    ending: Ending
    deregister: bool = False  # a run without any process is written off instead of refused
    capture_id: bool = True  # write the conversation's id into the registry row as well
    details: Mapping[str, str] = {}  # run → why that one in particular
    dissolve: bool = False  # the team of a leader that ends is dissolved
    own_run: str = ""  # the caller's: without a keeper it is ended last, by another process
    agents: Mapping[str, Agent] = {}  # by name, as the verb has read them; others are looked up


class RegistryRow(NamedTuple):
    """A run's row, and the registry file that it stands in."""

    registry: "Registry"
    row: "Row"


class Case(NamedTuple):
    """One run whose ending this process has claimed, and what is known of it so far."""

    run: Run
    agent: Agent
    kind: Kind
    way: Way
    asked: Ending  # in the words of the process that claimed the ending first
    target: Target
    conversation: Conversation
    screen: str = ""
    warnings: tuple[Notice, ...] = ()  # until there is a receipt
    row: RegistryRow | None = None
    report: EndReport | None = None  # once the ladder was climbed
    receipt: Receipt | None = None  # from the death of the last process on

    @property
    def ended(self) -> bool:
        """The receipt says that the run is over."""
        return self.receipt is not None and self.receipt.result in OVER

    def warn(self, *notices: Notice) -> "Case":
        if self.receipt is None:
            return self._replace(warnings=(*self.warnings, *notices))
        warnings = (*self.receipt.warnings, *notices)
        return self._replace(receipt=self.receipt._replace(warnings=warnings))


class Moment(Enum):
    """When a step is taken. Steps of one moment are taken in the order of the list."""

    ALIVE = auto()  # before the first signal
    DEAD = auto()  # when the processes are gone, before the end is recorded
    RECORDED = auto()  # after the transaction that records the end
