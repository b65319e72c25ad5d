"""Chaos with a seed: the same faults again for whoever gives the same number.

`make test` runs the short version. `make chaos` runs the long one (`QUICK=1`: the short one), with
a seed of its own that it prints, and writes docs/chaos.md when all of it passed.
"""

import os
import random
from collections.abc import Generator

import pytest

from chaos.report import Tally, is_complete, write

TALLY = pytest.StashKey[Tally]()
SHORT_SEED = 1


def is_long() -> bool:
    return version() == "long"


def version() -> str:
    """As `make chaos` says it; elsewhere nothing is said, and no page is written."""
    return os.environ.get("QUELL_CHAOS", "")


def seed() -> int:
    return int(os.environ.get("QUELL_CHAOS_SEED") or SHORT_SEED)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLY] = Tally(seed(), version())


def pytest_report_header() -> str:
    return f"chaos: {'long' if is_long() else 'short'}, seed {seed()}"


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """The same choices for the same seed and test, in whatever order the tests run."""
    return random.Random(f"{seed()} {request.node.nodeid}")


@pytest.fixture
def often() -> int:
    """How many times over a fault is tried: 1 in the short version, more in the long one."""
    return 10 if is_long() else 1


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """What was broken, how often, and what it cost; it stands in docs/chaos.md."""
    return request.config.stash[TALLY]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    yield  # what fails or skips does not come back here
    doc = (isinstance(item, pytest.Function) and item.obj.__doc__) or item.name
    item.config.stash[TALLY].passed(item.path.stem, doc.splitlines()[0])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    tally = session.config.stash[TALLY]
    if version() and exitstatus == pytest.ExitCode.OK and is_complete(tally):
        write(tally)
