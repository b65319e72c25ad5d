"""The default store: one SQLite file that any number of processes share."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from knell.core.ports.store import Store
from knell.stores.runs import SqliteRuns
from knell.stores.transactions import Transactions

if TYPE_CHECKING:
    from collections.abc import Callable

    from knell.stores.backends import SqliteBackends
    from knell.stores.endings import SqliteEndings
    from knell.stores.events import SqliteEvents
    from knell.stores.fleet import SqliteFleet
    from knell.stores.messages import SqliteMessages
    from knell.stores.orchestrator import SqliteOrchestrator
    from knell.stores.pruning import SqlitePruning
    from knell.stores.restarts import SqliteRestarts
    from knell.stores.shutdowns import SqliteShutdowns
    from knell.stores.team_tasks import SqliteTeamTasks
    from knell.stores.teams import SqliteTeams
    from knell.stores.watch import SqliteWatch


class SqliteStore(Store):
    """One part for each subject, all on the same connection. Each is imported and made when it is
    first asked for, from the module of its name.

    Each method of a part is one transaction: all of it happens, or StoreFailed is raised.
    """

    def __init__(self, path: str, *, now: Callable[[], str]) -> None:
        self._file = Transactions(path, now)
        self.runs = SqliteRuns(self._file)
        if TYPE_CHECKING:  # so that each is checked against its port
            self.events = SqliteEvents(self._file)
            self.endings = SqliteEndings(self._file)
            self.watch = SqliteWatch(self._file)
            self.restarts = SqliteRestarts(self._file)
            self.pruning = SqlitePruning(self._file)
            self.orchestrator = SqliteOrchestrator(self._file)
            self.teams = SqliteTeams(self._file)
            self.team_tasks = SqliteTeamTasks(self._file)
            self.messages = SqliteMessages(self._file)
            self.shutdowns = SqliteShutdowns(self._file)
            self.backends = SqliteBackends(self._file)
            self.fleet = SqliteFleet(self._file)

    def __getattr__(self, name: str) -> Any:
        if name not in Store.__annotations__:
            raise AttributeError(name)
        module = import_module(f"knell.stores.{name}")
        part = getattr(module, "Sqlite" + name.title().replace("_", ""))(self._file)
        setattr(self, name, part)
        return part

    def close(self) -> None:
        """Closing twice is no error."""
        self._file.close()

    def check(self) -> None:
        """StoreFailed unless every page can be read and one can be written; changes nothing."""
        self._file.check()

    def back_up(self) -> None:
        """Copies the whole store into the newest of two backups beside it."""
        self._file.back_up()


def is_lost(path: str) -> bool:
    """Whether there is no store there, or an empty file in its place."""
    try:
        return os.stat(path).st_size == 0
    except OSError as error:
        return isinstance(error, FileNotFoundError)  # of another error, opening it will tell
