"""One run whose tests are shared among several processes, as `pytest -n 2` does.

The first process names the run, makes the directory that the programs are installed into, and
writes the page from what all of them have seen.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.report import Figures, write
from e2e.runs import RUN, this_run
from e2e.whole_runs import Counts

INSTALLED = "KNELL_E2E_INSTALLED"  # the temporary directory of this run's programs


class SharedRun:
    """What this process, or all of them together, have seen."""

    def __init__(self, *, all_programs: bool) -> None:
        self.figures = Figures()
        self._all_programs = all_programs
        self._outcomes: dict[str, str] = {}  # by test: the worst of its three phases
        self._began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the first process, of the tests of all."""
        if report.outcome != "passed" or report.nodeid not in self._outcomes:
            self._outcomes[report.nodeid] = report.outcome

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A process that shared the tests has ended; one that broke down has told nothing."""
        if told := getattr(node, "workeroutput", {}).get("figures"):
            self.figures.add(Figures.from_json(told))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["figures"] = self.figures.to_json()
        elif self._outcomes:
            counts = Counts(*([*self._outcomes.values()].count(word) for word in Counts._fields))
            minutes = round((time.monotonic() - self._began) / 60)
            whole = (counts, minutes) if self._all_programs else None
            write(self.figures, whole, passed=exitstatus == pytest.ExitCode.OK)


def name_and_place(config: pytest.Config) -> None:
    """In the first process, before there are others: they inherit both."""
    if not hasattr(config, "workerinput"):
        os.environ[RUN] = this_run()
        os.environ[INSTALLED] = tempfile.mkdtemp(prefix="knell-programs-")


def remove_place(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(INSTALLED, ""), ignore_errors=True)


@contextlib.contextmanager
def place_for(what: str) -> Iterator[Path]:
    """The folder of that name, in one process at a time."""
    folder = Path(os.environ[INSTALLED], what)
    folder.mkdir(exist_ok=True)
    with Path(os.environ[INSTALLED], f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
