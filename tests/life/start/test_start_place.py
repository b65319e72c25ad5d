"""Where an agent that was run in a terminal comes up, when nobody is at one."""

import pytest

from house import House
from knell.core.agent import Agent
from knell.core.codes import Code
from knell.core.errors import NotResumable
from knell.core.run import Place
from knell.life.start.start_place import place_to_restart_in

ALIAS = Agent("luna", "claude", "/", ("fix it",), place="terminal")
TERMINAL = Place("terminal")
PANE = Place("terminal", "%3", "/tmp/socket", 7)


def test_R3_the_watch_starts_nobody_without_the_terminal_that_he_had(house: House) -> None:
    """`claude PROMPT` would print an answer there and exit, but a person had talked to it."""
    with pytest.raises(NotResumable, match="ran in a terminal") as told:
        place_to_restart_in(house.knell.world, ALIAS, TERMINAL, free=False)
    assert told.value.code == Code.NO_TERMINAL


def test_R3_it_comes_up_in_the_tmux_that_it_was_run_in(house: House) -> None:
    again = place_to_restart_in(house.knell.world, ALIAS, PANE, free=False)
    assert (again.place, again.server) == ("tmux", PANE.server)


@pytest.mark.parametrize("last", [TERMINAL, PANE])
def test_R3_what_needs_no_terminal_comes_up_without_one(house: House, last: Place) -> None:
    for agent in (
        ALIAS._replace(args=("-p", "fix it")),
        ALIAS._replace(kind="command", args=("make", "watch")),
    ):
        assert place_to_restart_in(house.knell.world, agent, last, free=False).place == "headless"


def test_R3_a_person_at_a_terminal_gets_it(house: House) -> None:
    assert place_to_restart_in(house.knell.world, ALIAS, PANE, free=True) == ALIAS
