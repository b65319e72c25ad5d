"""What other rooms do when a run starts or ends: start and end must not import them."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Protocol

from knell.core.agent import Agent
from knell.core.codes import Notice
from knell.core.ending_steps import Case, Moment
from knell.core.ports.registry import ListedRow
from knell.core.receipt import Receipt
from knell.core.run import Place, Run
from knell.core.watch_report import Drift


class Steps(Protocol):
    # Run → the call that ends it; one for all threads of the process.
    endings_begun: ClassVar[dict[str, object]]

    # The cases, in their order, after every step of that moment that applies to them.
    def take(self, moment: Moment, cases: list[Case], *, let_go: bool = False) -> list[Case]: ...
    # How the agent is started: as given, or on the shared server that its run uses now.
    def join_backend(
        self, agent: Agent, run: Run, argv: tuple[str, ...], env: Mapping[str, str]
    ) -> tuple[Agent, tuple[str, ...], Mapping[str, str]]: ...
    # After a start that failed: a server that was started for it alone is ended.
    def leave_backend(self, agent: Agent, by: str) -> None: ...
    # Ends the shared servers that no live run uses.
    def reap_backends(self, by: str) -> None: ...
    # The agent of that row in the registry file. Without a place, knell has a record of it.
    def registered_agent(self, name: str) -> tuple[Agent, Place | None] | None: ...
    # Writes into the run's row that it runs; returns what went wrong.
    # A run in tmux without a row gets one, by the name of the session if that was asked for.
    # `fresh`: it starts by a command of its own, and with a new conversation.
    def note_started(
        self, agent: Agent, run: Run, *, session: str = "", fresh: bool = False
    ) -> tuple[Notice, ...]: ...
    # Writes a recorded end into the run's row: its ender was killed before it could.
    def note_ended(self, agent: Agent, run: Run, receipt: Receipt) -> None: ...
    # The rows of the registry file that none of these runs speaks of.
    def listed_rows(self, runs: Iterable[Run], *, with_ended: bool) -> list[ListedRow]: ...
    # Where registry file, store and machine disagree; changes nothing.
    def drifts(self, live: list[Run]) -> list[Drift]: ...
    # Writes the purge into the run's row, if it has one; returns what went wrong.
    def note_purge(
        self, receipt: Receipt, at: str, paths: tuple[str, ...]
    ) -> tuple[Notice, ...]: ...
