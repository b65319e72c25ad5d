"""Two agents of every program in one directory, with one home: each keeps its own conversation."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import chosen
from e2e.deeds import come_back, goes_on
from e2e.home import Home
from e2e.model import Server
from e2e.programs import PROGRAMS
from house import House

AGENTS = {f"{name}-{number}": name for name in PROGRAMS for number in (1, 2)}


@pytest.fixture
def homes(house: House, model: Server, commands: Path) -> Iterator[dict[str, Home]]:
    """One home and one project, set up for each program."""
    if set(chosen()) != set(PROGRAMS.values()):
        pytest.skip("KNELL_E2E_KINDS does not name all four")
    homes = {one.name: Home(house, model, commands, one) for one in PROGRAMS.values()}
    yield homes
    shutil.rmtree(homes["claude"].daemon_sockets, ignore_errors=True)


@pytest.mark.timeout(3600)
def test_R1_two_of_each(homes: dict[str, Home]) -> None:
    """Eight agents of four programs in one directory come back each with its own, in any order."""
    said: dict[str, list[str]] = {agent: [] for agent in AGENTS}

    def speak(agent: str) -> None:
        word = f"{agent.replace('-', '')}x{len(said[agent])}"
        goes_on(homes[AGENTS[agent]], word, said[agent])
        said[agent].append(word)

    def back(agent: str) -> None:
        come_back(homes[AGENTS[agent]], agent)
        speak(agent)

    for agent, program in AGENTS.items():
        homes[program].spawn(agent)
        speak(agent)
    [home, *_] = homes.values()
    home.knell("stop", *AGENTS)
    home.assert_nothing_left()
    for agent in reversed(AGENTS):
        back(agent)
    down: list[str] = []
    for agent in list(AGENTS)[::2]:  # one comes back while the next is down
        home.receipt("kill", agent)
        down.append(agent)
        if len(down) > 1:
            back(down.pop(0))
    back(down.pop())
    home.house.kill("all", yes=True)
    home.assert_nothing_left()
