"""Several agents of one program in one directory: each keeps its own conversation."""

import json

from e2e import cells as scenes
from e2e.cells import Cells
from e2e.deeds import check_refusal, come_back, goes_on, stop
from e2e.home import IN_TMUX, Home
from house import alive
from scenes import end

WORDS = {"luna": "amber", "mira": "beryl", "nora": "coral"}


def spawn_two(home: Home) -> None:
    """luna and mira, in one directory, with a word each.

    A word first: a second gemini deletes the file of a first one that was told nothing yet, and
    what the first then writes has no beginning, so that gemini itself cannot resume it.
    """
    for name in ("luna", "mira"):
        home.spawn(name)
        goes_on(home, WORDS[name], [])


def test_R1_two_in_one_directory(any_home: Home, cells: Cells) -> None:
    """Two in one directory come back each with its own."""
    home = any_home
    spawn_two(home)
    with cells(scenes.TWO):
        for name in ("luna", "mira"):
            stop(home, name)
        home.assert_nothing_left()
        for name in ("luna", "mira"):
            come_back(home, name)
            goes_on(home, name, [WORDS[name]])
    home.house.kill("all", yes=True)
    home.assert_nothing_left()


def test_R1_a_purge_leaves_the_neighbours(any_home: Home, cells: Cells) -> None:
    """Purging the conversation of one leaves that of its neighbour, or is refused."""
    home = any_home
    spawn_two(home)
    with cells(scenes.PURGE, skip=False):
        purge = ("stop", "luna", "--purge-conversation", "--yes", "--json")
        purged = home.house.run(*purge, cwd=home.project)
        assert purged.returncode in (0, 1), purged.stderr
        home.pane = home.pane_of("mira")
        goes_on(home, "coral", ["beryl"])
        stop(home, "mira")
        come_back(home, "mira")
        goes_on(home, "daisy", ["beryl", "coral"])
        check_refusal("stop", purged)
        assert json.loads(purged.stdout)["receipts"][0]["conversation"]["resume"] == ""
        home.knell("resume", "luna", code=1)
    home.house.kill("all", yes=True)
    home.assert_nothing_left()


def test_R1_three_one_after_the_other(any_home: Home, cells: Cells) -> None:
    """Three that ran one after the other in one directory come back each with its own."""
    home = any_home
    with cells(scenes.THREE):
        for name, word in WORDS.items():
            home.spawn(name)
            goes_on(home, word, [])
            stop(home, name)
        for name, word in WORDS.items():
            come_back(home, name)
            goes_on(home, name, [word])
            stop(home, name)
        home.assert_nothing_left()


def test_R1_one_of_two_is_adopted(any_home: Home, cells: Cells) -> None:
    """Of two that a person started by hand, the first or the second is adopted and comes back."""
    home = any_home
    try:
        adopt_each(home, cells)
    finally:
        home.house.kill("all", yes=True)
        home.house.tmux("kill-server")
        end(*home.members())  # a daemon that the vendor leaves to the next one


def adopt_each(home: Home, cells: Cells) -> None:
    panes: dict[str, tuple[int, str]] = {}
    for name, word in (("luna", "amber"), ("mira", "beryl")):
        panes[name] = home.spawn_plainly(), home.pane
        goes_on(home, word, [])
    with cells(scenes.ADOPT_SECOND, skip=False):
        home.knell("adopt", panes["mira"][1], "-L", "test", "--name", "mira")
        stop(home, "mira")
        assert alive(panes["luna"][0])  # nobody else's session is cut
        home.pane = panes["luna"][1]
        goes_on(home, "coral", ["amber"])
        come_back(home, "mira", *IN_TMUX)
        goes_on(home, "mira", ["beryl"])
    with cells(scenes.ADOPT_FIRST):
        home.knell("adopt", panes["luna"][1], "-L", "test", "--name", "luna")
        stop(home, "luna")
        come_back(home, "luna", *IN_TMUX)
        goes_on(home, "luna", ["amber", "coral"])
