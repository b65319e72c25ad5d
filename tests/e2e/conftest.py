"""The real Claude Code, installed once, and for each test a home and a model of its own."""

import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from e2e.claude_home import ClaudeHome, install
from e2e.model import Server, serving
from e2e.report import Figures, is_complete, write
from house import House

FIGURES = pytest.StashKey[Figures]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = Figures()


@pytest.fixture(scope="session")
def program() -> Iterator[Path]:
    """The directory with the command `claude`."""
    if not shutil.which("npm"):
        pytest.fail("the real Claude Code comes with npm, which is not on PATH")
    with tempfile.TemporaryDirectory(prefix="quell-claude-") as where:
        yield install(Path(where))


@pytest.fixture
def model() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def home(house: House, model: Server, program: Path) -> Iterator[ClaudeHome]:
    home = ClaudeHome(house, model, program)
    yield home
    shutil.rmtree(home.daemon_sockets, ignore_errors=True)


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


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    figures = session.config.stash[FIGURES]
    if exitstatus == pytest.ExitCode.OK and is_complete(figures):
        write(figures)
