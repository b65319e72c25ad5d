"""R1, R5: a conversation that the person has turned to, and in which nothing was said yet."""

import pytest

from e2e import cells as scenes
from e2e.cells import Cells
from e2e.deeds import come_back, goes_on
from e2e.home import ANSWER, Home
from house import eventually, pause

VERBS = ("kill", "stop")


@pytest.mark.parametrize(
    ("scene", "verb"), [(scenes.SILENT_NEW, "kill"), (scenes.SILENT_NEW_STOP, "stop")], ids=VERBS
)
def test_R5_a_new_one_without_a_word(any_home: Home, cells: Cells, scene: str, verb: str) -> None:
    """After `/new` and not a word the old conversation is not what comes back."""
    home = any_home
    home.spawn()
    goes_on(home, "amber", [])
    with cells(scene):
        home.begin_anew("/new")
        home.end(verb, "luna")
        come_back(home)
        goes_on(home, "beryl", [])
    home.end("kill", "luna")


@pytest.mark.parametrize(
    ("scene", "verb"), [(scenes.SILENT_BACK, "kill"), (scenes.SILENT_BACK_STOP, "stop")], ids=VERBS
)
def test_R1_an_earlier_one_without_a_word(
    any_home: Home, cells: Cells, scene: str, verb: str
) -> None:
    """The person has turned to an earlier conversation in the program's own list: that one."""
    home = any_home
    home.spawn()
    goes_on(home, "amber", [])
    home.begin_anew("/new")
    goes_on(home, "beryl", [])
    with cells(scene):
        turn_to_the_earlier(home)
        home.end(verb, "luna")
        come_back(home)
        goes_on(home, "coral", ["amber"])
    home.end("kill", "luna")


def turn_to_the_earlier(home: Home) -> None:
    """The second of the list, whose first is the one that it is in."""
    command, shown = home.program.earlier
    home.enter(command)
    home.shows(shown)
    pause(3.0)
    if home.program.name != "claude":  # its list leaves the current one out
        home.press("Down")
        pause(1.0)
    home.press("Enter")
    eventually(lambda: f"{ANSWER} amber" in home.screen() and home.is_ready())
    pause(1.0)
