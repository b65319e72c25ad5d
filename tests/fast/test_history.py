"""However many have lived and ended: what a command asks the store is found by an index."""

import re
from collections.abc import Callable

import pytest

from fast.tracing import statements
from house import House
from knell.stores.sqlite import SqliteStore

# What grows with every life, or every agent ever heard of. Live runs and orphans are few.
HISTORY = ("agents", "runs", "events", "receipts", "restarts", "messages", "orchestrator_task")
SCAN = re.compile(r"SCAN (\w+)")
ALIASES = {"a": "agents", "r": "runs", "p": "receipts", "e": "events"}
ASKING = ("SELECT", "UPDATE", "DELETE")

VERBS: dict[str, Callable[[House], object]] = {
    "list": lambda house: house.knell.list(),
    "kill": lambda house: house.kill("luna"),
    "kill of an ended one": lambda house: house.kill("vega"),
    "receipt": lambda house: house.knell.receipt("vega"),
    "events": lambda house: house.knell.events(),
    "events of one": lambda house: house.knell.events(agent="vega"),
    "show": lambda house: house.knell.show("vega"),
}


def scanned(house: House, sql: str) -> set[str]:
    """The tables of history that SQLite would read from end to end for this."""
    store = house.knell.world.store
    assert isinstance(store, SqliteStore)
    plan = [row[-1] for row in store.db.execute(f"EXPLAIN QUERY PLAN {sql}")]
    found = {match[1] for step in plan if (match := SCAN.match(step))}
    return {ALIASES.get(name, name) for name in found} & set(HISTORY)


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_reads_the_whole_history(house: House, verb: str) -> None:
    """list, kill, receipt, show and events of a store with a long history read a short part."""
    house.spawn(name="vega")
    house.kill("vega")
    house.spawn(name="luna")
    with statements(house) as told:
        VERBS[verb](house)
    asked = [sql for sql in told if sql.startswith(ASKING)]
    assert asked
    assert {sql: bad for sql in asked if (bad := scanned(house, sql))} == {}


def test_a_whole_history_would_be_noticed(house: House) -> None:
    """Else the test above would pass for nothing."""
    house.spawn(name="luna")
    with statements(house) as told:
        house.knell.list(with_ended=True)
    assert any("agents" in scanned(house, sql) for sql in told if sql.startswith(ASKING))
