"""The real programs, installed once, and for each test a home and a model of its own.

KNELL_E2E_PROGRAMS names a directory whose node_modules/.bin has them already; without it they are
installed into a temporary one. KNELL_E2E_KINDS (`make e2e KINDS="codex gemini"`) chooses.
"""

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from e2e.cells import Cells
from e2e.claude_home import ClaudeHome
from e2e.home import Home
from e2e.model import Server, serving
from e2e.programs import PROGRAMS, Program, install
from e2e.report import Figures
from e2e.shared_run import SharedRun, name_and_place, place_for, remove_place
from house import House

SHARED = pytest.StashKey[SharedRun]()
HERE, KINDS = "KNELL_E2E_PROGRAMS", "KNELL_E2E_KINDS"


def chosen() -> list[Program]:
    """Those of the four that are tried: the ones that are named, or all."""
    named = os.environ.get(KINDS, "").replace(",", " ").split()
    return [one for one in PROGRAMS.values() if not named or {one.name, "all"} & set(named)]


def pytest_configure(config: pytest.Config) -> None:
    name_and_place(config)
    shared = SharedRun(all_programs=len(chosen()) == len(PROGRAMS))
    config.stash[SHARED] = shared
    config.pluginmanager.register(shared)


def pytest_unconfigure(config: pytest.Config) -> None:
    remove_place(config)


@pytest.fixture(scope="session")
def commands() -> Iterator[Path]:
    """The directory with the commands `claude`, `codex`, `gemini` and `opencode`."""
    if here := os.environ.get(HERE):
        yield Path(here, "node_modules/.bin")
        return
    if not shutil.which("npm"):
        pytest.fail("the real programs come with npm, which is not on PATH")
    with place_for("four") as where:
        found = where / "node_modules/.bin"
        if not all((found / one.name).exists() for one in chosen()):
            install(where, *chosen())
    yield found


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
    return request.config.stash[SHARED].figures


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    yield  # what fails or skips does not come back here
    told = (isinstance(item, pytest.Function) and item.obj.__doc__) or item.name
    promise = " ".join(told.split("\n\n")[0].split())
    if promise not in (promises := item.config.stash[SHARED].figures.promises):
        promises.append(promise)
