"""`knell fork`: a second agent goes on from a conversation; neither sees what the other says."""

import json

import pytest

from e2e import cells as scenes
from e2e.cells import Cells
from e2e.deeds import check_refusal, come_back, goes_on, stop
from e2e.home import IN_TMUX, Home
from house import eventually
from knell import kinds


def fork(home: Home, name: str) -> None:
    """`knell fork`, and the new agent's pane is turned to."""
    done = home.house.run("fork", name, *IN_TMUX, "--json", cwd=home.project)
    check_refusal("fork", done)
    assert done.returncode == 0, done.stdout + done.stderr
    agent = json.loads(done.stdout)
    home.turn_to(agent)
    home.await_ready()
    # Before it is in its own conversation it may drop what is typed, as opencode does.
    eventually(lambda: home.house.json("show", agent["name"])["conversation"])


def turn_to(home: Home, name: str) -> None:
    home.pane = home.pane_of(name)


@pytest.fixture
def forking(any_home: Home, cells: Cells) -> Home:
    """The home of a program that can fork, with luna in it, who was told one word."""
    if not kinds.kind(any_home.program.name).fork:
        for scene in (scenes.FORK, scenes.FORK_ENDED):
            cells.empty(scene, f"{any_home.program.name} has no option that forks a conversation")
        pytest.skip(f"{any_home.program.name} cannot fork")
    any_home.spawn()
    goes_on(any_home, "amber", [])
    return any_home


def test_a_fork_and_its_origin_go_on_apart(forking: Home, cells: Cells) -> None:
    """A fork of a running agent begins with all that was said; both come back, each to its own."""
    home = forking
    with cells(scenes.FORK):
        fork(home, "luna")
        goes_on(home, "beryl", ["amber"])
        turn_to(home, "luna")
        goes_on(home, "coral", ["amber"])
        for name in ("luna-fork", "luna"):
            stop(home, name)
        home.assert_nothing_left()
        come_back(home, "luna-fork")
        goes_on(home, "daisy", ["amber", "beryl"])
        come_back(home, "luna")
        goes_on(home, "ebony", ["amber", "coral"])
    home.house.kill("all", yes=True)
    home.assert_nothing_left()


def test_an_ended_agent_is_forked_and_comes_back_beside_its_fork(
    forking: Home, cells: Cells
) -> None:
    """A fork of an ended agent takes nothing from it: it comes back while its fork runs."""
    home = forking
    with cells(scenes.FORK_ENDED):
        stop(home)
        fork(home, "luna")
        goes_on(home, "beryl", ["amber"])
        come_back(home, "luna")
        goes_on(home, "coral", ["amber"])
        turn_to(home, "luna-fork")
        goes_on(home, "daisy", ["amber", "beryl"])
    home.house.kill("all", yes=True)
    home.assert_nothing_left()
