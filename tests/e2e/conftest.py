"""The real programs, installed once, and for each test a home and a model of its own.

KNELL_E2E_PROGRAMS names a directory whose node_modules/.bin has them already; without it they are
installed into a temporary one. KNELL_E2E_KINDS (`make e2e KINDS="codex gemini"`) chooses.
"""

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from e2e.cells import Cells
from e2e.claude_home import ClaudeHome
from e2e.home import Home
from e2e.model import Server, serving
from e2e.programs import PROGRAMS, Program, install
from e2e.report import Counts, Figures, write
from e2e.runs import this_run
from house import House

FIGURES = pytest.StashKey[Figures]()
OUTCOMES = pytest.StashKey[dict[str, str]]()  # by test: the worst of its three phases
HERE, KINDS = "KNELL_E2E_PROGRAMS", "KNELL_E2E_KINDS"


def chosen() -> list[Program]:
    """Those of the four that are tried: the ones that are named, or all."""
    named = os.environ.get(KINDS, "").replace(",", " ").split()
    return [one for one in PROGRAMS.values() if not named or {one.name, "all"} & set(named)]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = Figures()
    config.stash[OUTCOMES] = {}
    this_run()  # it is named after its beginning


@pytest.fixture(scope="session")
def commands() -> Iterator[Path]:
    """The directory with the commands `claude`, `codex`, `gemini` and `opencode`."""
    if here := os.environ.get(HERE):
        yield Path(here, "node_modules/.bin")
        return
    if not shutil.which("npm"):
        pytest.fail("the real programs come with npm, which is not on PATH")
    with tempfile.TemporaryDirectory(prefix="knell-programs-") as where:
        yield install(Path(where), *chosen())


@pytest.fixture
def model() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def home(house: House, model: Server, commands: Path) -> Iterator[ClaudeHome]:
    """Claude's, with an MCP server."""
    if PROGRAMS["claude"] not in chosen():
        pytest.skip(f"{KINDS} does not name claude")
    home = ClaudeHome(house, model, commands)
    yield home
    shutil.rmtree(home.daemon_sockets, ignore_errors=True)


@pytest.fixture(params=chosen(), ids=lambda program: program.name)
def any_home(
    house: House, model: Server, commands: Path, request: pytest.FixtureRequest
) -> Iterator[Home]:
    """The home of each program in turn, without an MCP server."""
    home = Home(house, model, commands, request.param)
    yield home
    shutil.rmtree(home.daemon_sockets, ignore_errors=True)


@pytest.fixture
def cells(any_home: Home) -> Cells:
    """That program's column of the table in docs/e2e.md."""
    return Cells(any_home.program.name)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """What is measured here stands in docs/e2e.md, if everything passes."""
    return request.config.stash[FIGURES]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    yield  # what fails or skips does not come back here
    promise = ((isinstance(item, pytest.Function) and item.obj.__doc__) or item.name).splitlines()[
        0
    ]
    if promise not in (promises := item.config.stash[FIGURES].promises):
        promises.append(promise)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    outcomes = item.config.stash[OUTCOMES]
    if report.outcome != "passed" or item.nodeid not in outcomes:
        outcomes[item.nodeid] = report.outcome
    return report


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if session.testscollected and not session.config.option.collectonly:
        outcomes = [*session.config.stash[OUTCOMES].values()]
        counts = Counts(*(outcomes.count(word) for word in Counts._fields))
        figures = session.config.stash[FIGURES]
        whole = counts if len(chosen()) == len(PROGRAMS) else None
        write(figures, whole, passed=exitstatus == pytest.ExitCode.OK)
