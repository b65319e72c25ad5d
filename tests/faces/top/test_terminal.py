"""`top` in a real terminal: a shell in a tmux pane, keys typed, the screen captured."""

import sys

import pytest

from house import House, alive, eventually
from scenes import number


class Pane:
    """A shell of the operator in a pane of that size."""

    def __init__(self, house: House, columns: int, lines: int, **env: str) -> None:
        self.house = house
        extra = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
        size = ("-x", str(columns), "-y", str(lines))
        house.tmux("new-session", "-d", "-s", "mine", *size, *extra, "sh")

    def type(self, line: str) -> None:
        self.house.tmux("send-keys", "-t", "mine", line, "Enter")

    def press(self, *keys: str) -> None:
        self.house.tmux("send-keys", "-t", "mine", *keys)

    def screen(self, *how: str) -> str:
        return self.house.tmux("capture-pane", "-p", *how, "-t", "mine")

    def shows(self, *texts: str) -> str:
        for text in texts:
            eventually(lambda text=text: text in self.screen(), 120)
        return self.screen()


def test_in_80_columns_an_agent_is_found_ended_and_brought_back(house: House) -> None:
    luna = house.spawn(name="luna", tag="night")
    pane = Pane(house, 80, 24)
    pane.type(f"exec {sys.executable} -m knell top")
    screen = pane.shows("luna", "1 agent")
    assert "NAME" in screen
    assert all(len(line) <= 80 for line in screen.splitlines())
    pane.press("X")
    pane.shows("Kill 'luna'?", "Cancel")
    pane.press("X")
    pane.shows("proven gone", "r=resume")
    assert not alive(number(luna.run.process))
    pane.press("r")
    pane.shows("Resume 'luna'?")
    pane.press("r")
    eventually(lambda: [view.name for view in house.knell.list()] == ["luna"], 120)
    pane.press("q")
    eventually(lambda: "mine" not in house.tmux("list-sessions", "-F", "#S"), 60)
    house.kill("luna")


@pytest.mark.parametrize("term", ["dumb", "linux", "xterm-256color"])
def test_any_terminal_shows_it(house: House, term: str) -> None:
    house.spawn(name="luna")
    pane = Pane(house, 100, 30, NO_COLOR="1")
    pane.type(f"TERM={term} exec {sys.executable} -m knell top")
    pane.shows("luna")
    pane.press("q")
    house.kill("luna")


def test_knell_alone_opens_it_on_a_terminal_and_prints_status_elsewhere(house: House) -> None:
    house.spawn(name="luna")
    pane = Pane(house, 100, 30)
    pane.type(f"exec {sys.executable} -m knell")
    pane.shows("luna", "? help")
    pane.press("q")
    done = house.run()
    assert done.returncode == 0
    assert "luna" in done.stdout
    assert "knell --help" in done.stderr
    house.kill("luna")
