"""Each part of the SQLite store fits its port: pyright checks each assignment below."""

from pathlib import Path

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
from knell.stores.sqlite import SqliteStore
from knell.stores.team_tasks import SqliteTeamTasks
from knell.stores.teams import SqliteTeams
from knell.stores.watch import SqliteWatch


def parts_of(file: SqliteStore) -> Store:
    store = Store()
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
    return store


def test_the_store_makes_every_part_of_the_port(tmp_path: Path) -> None:
    file = SqliteStore(str(tmp_path / "knell.db"), now=lambda: "2026-11-18T10:00:00.000+00:00")
    wanted = vars(parts_of(file))
    assert wanted.keys() == Store.__annotations__.keys()
    assert {name: type(getattr(file, name)) for name in wanted} == {
        name: type(part) for name, part in wanted.items()
    }
    file.close()
