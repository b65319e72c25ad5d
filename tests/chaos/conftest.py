"""Chaos with a seed: the same faults again for whoever gives the same number.

`make test` runs the scenes in a small version, without the fuzzers, the broken disks, the crowds
and whatever else is marked `stress`. `make chaos` runs the long version of everything (`QUICK=1`: a
short one) with a seed of its own that it prints; and from the other folders, those tests that are
marked `stress`, those with examples that Hypothesis makes up, and those of faults that were once
found (P and K of docs/contracts.md). It writes docs/chaos.md when all of it passed.
"""

import os
import random
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from chaos.report import Tally, is_complete, write

TALLY = pytest.StashKey[Tally]()
SHORT_SEED = 1
HERE = Path(__file__).parent
FAULT = re.compile(r"_([PK]\d+)(?=_)")


def is_long() -> bool:
    return version() == "long"


def is_small() -> bool:
    return not version()


def version() -> str:
    """As `make chaos` says it; elsewhere nothing is said, and no page is written."""
    return os.environ.get("KNELL_CHAOS", "")


def seed() -> int:
    return int(os.environ.get("KNELL_CHAOS_SEED") or SHORT_SEED)


class FaultCounter:
    """Counts the passed tests of each fault, in every folder."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            for fault in FAULT.findall(report.nodeid):
                self._tally.held[fault] += 1


def pytest_configure(config: pytest.Config) -> None:
    tally = config.stash[TALLY] = Tally(seed(), version())
    config.pluginmanager.register(FaultCounter(tally))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the other folders, `make chaos` runs only what stresses, the tests of faults, and those
    with made-up examples, of which it makes up new ones."""
    if version():
        others = [one for one in items if HERE not in one.path.parents]
        left_out = {one for one in others if not is_for_chaos(one)}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [one for one in items if one not in left_out]


def is_for_chaos(item: pytest.Item) -> bool:
    made_up = isinstance(item, pytest.Function) and hasattr(item.obj, "is_hypothesis_test")
    return made_up or bool(FAULT.search(item.name) or item.get_closest_marker("stress"))


def pytest_report_header() -> str:
    return f"chaos: {version() or 'small'}, seed {seed()}"


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
    told: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if told is not None:  # one of several processes: the first one writes the page
        told["tally"] = [dict(tally.faults), tally.promises]
    elif version() and exitstatus == pytest.ExitCode.OK and is_complete(tally):
        write(tally)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What one of several processes has counted; faults are counted by the reports of all."""
    faults, promises = getattr(node, "workeroutput", {}).get("tally", ({}, {}))
    node.config.stash[TALLY].add(faults, promises)
