"""Where agents, runs and receipts are remembered: one database a file."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # so that each part is checked against its port
    from knell.core.ports.store import Store
    from knell.stores.backends import SqliteBackends
    from knell.stores.endings import SqliteEndings
    from knell.stores.events import SqliteEvents
    from knell.stores.fleet import SqliteFleet
    from knell.stores.messages import SqliteMessages
    from knell.stores.orchestrator import SqliteOrchestrator
    from knell.stores.pruning import SqlitePruning
    from knell.stores.restarts import SqliteRestarts
    from knell.stores.runs import SqliteRuns
    from knell.stores.shutdowns import SqliteShutdowns
    from knell.stores.sqlite import Transactions
    from knell.stores.team_tasks import SqliteTeamTasks
    from knell.stores.teams import SqliteTeams
    from knell.stores.watch import SqliteWatch

    def check_parts(store: Store, file: Transactions) -> None:
        store.runs = SqliteRuns(file)
        store.events = SqliteEvents(file)
        store.endings = SqliteEndings(file)
        store.watch = SqliteWatch(file)
        store.restarts = SqliteRestarts(file)
        store.pruning = SqlitePruning(file)
        store.orchestrator = SqliteOrchestrator(file)
        store.teams = SqliteTeams(file)
        store.team_tasks = SqliteTeamTasks(file)
        store.messages = SqliteMessages(file)
        store.shutdowns = SqliteShutdowns(file)
        store.backends = SqliteBackends(file)
        store.fleet = SqliteFleet(file)
