"""What the tests of the fleet get: a fresh database on a real PostgreSQL, and hosts to join it."""

from collections.abc import Iterator

import pytest

from fleets import Fleet
from house import House
from postgres import Database, cluster


@pytest.fixture
def database() -> Iterator[Database]:
    """A database of its own; the server is this process's alone."""
    with cluster().database() as one:
        yield one


@pytest.fixture
def fleet(house: House, database: Database) -> Fleet:
    """An operator's home on that database, and whichever hosts the test lets join."""
    one = Fleet(database, house.root)
    house.at_end.callback(one.close)
    return one
