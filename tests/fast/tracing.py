"""What a store is asked."""

from collections.abc import Iterator
from contextlib import contextmanager

from house import House
from knell.stores.sqlite import SqliteStore


@contextmanager
def statements(house: House) -> Iterator[list[str]]:
    """Every statement that this house's store is given meanwhile, in one line each."""
    store = house.knell.world.store
    assert isinstance(store, SqliteStore)
    db, told = store.db, []
    db.set_trace_callback(lambda sql: told.append(" ".join(sql.split())))
    try:
        yield told
    finally:
        db.set_trace_callback(None)
