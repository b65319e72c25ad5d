"""The command line on a real terminal: colour, width, times and texts that could do harm."""

import os
import re
import sys

import pytest

from house import House
from knell.faces.text import columns, terminal
from pane import Pane

ESCAPE = "\x1b["
LONG = "n" * 60


def crowd(house: House) -> None:
    """Agents with long names, tags and notes, one of them ended."""
    house.spawn(name="luna", tag="night", task="TASK-1")
    house.spawn(name=LONG, tag="a-tag-that-is-rather-long-too", task="TASK-2")
    house.spawn(name="kira")
    house.kill("kira", reason="a reason that is much longer than any terminal is wide " * 3)


@pytest.mark.parametrize("width", [200, 80, 40, 20])
def test_no_row_wraps(house: House, width: int) -> None:
    crowd(house)
    pane = Pane(house, width)
    for verb in ("list -a", "status", "events"):
        lines = pane.run(f"knell {verb}")
        rows = [line for line in lines if not line.startswith(("state:", "watch:", "agents:"))]
        assert rows, verb
        assert all(len(line) <= width for line in rows), verb
        if verb == "events":
            continue
        [luna] = [line for line in rows if line.startswith("luna")]
        assert "running" in luna or width < 80, verb
        if verb == "list -a":
            head = next(line for line in rows if line.startswith("NAME"))
            assert rows.index(luna) == rows.index(head) + 1, "the row is one line of the screen"
            assert not pane.wrapped() or width < 80


def test_a_long_name_costs_only_its_own_row(house: House) -> None:
    crowd(house)
    head, luna, long, *_ = [
        line for line in Pane(house, 80).run("knell list") if not line.startswith("$")
    ]
    assert long.startswith(LONG)
    assert luna.index("command") == head.index("KIND")


def test_colour_is_for_terminals(house: House) -> None:
    house.spawn(name="luna")
    pane = Pane(house)
    assert any("\x1b[32m" in line for line in pane.run("knell status", colours=True))
    for plain in (
        "NO_COLOR=1 knell status",
        "TERM=dumb knell status",
        "knell status | cat",
        "NO_COLOR=1 FORCE_COLOR=1 knell status",
    ):
        assert not any(ESCAPE in line for line in pane.run(plain, colours=True)), plain
    assert any(
        ESCAPE in line for line in pane.run("FORCE_COLOR=1 knell status | cat", colours=True)
    )
    assert "\x1b" not in house.run("status").stdout


def test_times_are_local_and_relative(house: House) -> None:
    house.spawn(name="luna")
    at = house.json("list")["agents"][0]["started_at"]
    assert at.endswith("+00:00"), "a document has UTC"
    east = house.env | {"TZ": "EAST-14"}
    assert re.search(r"\d+s ago|1m ago", house.run("list", env=east).stdout)
    full = at[:19].replace("T", " ") + "Z"
    assert full in house.run("list", "--utc", env=east).stdout
    assert full in house.run("events", "--utc", env=east).stdout
    hour = (int(at[11:13]) + 14) % 24
    assert f"{hour:02}{at[13:16]}" in house.run("events", env=east).stdout


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "?[31mred"),
        ("a\nb", "a?b"),
        ("\u202egpj.exe", "?gpj.exe"),
        ("plain", "plain"),
    ],
)
def test_texts_that_could_move_the_cursor_are_shown_harmlessly(text: str, shown: str) -> None:
    assert terminal.printable(text) == shown


def test_a_text_from_right_to_left_stays_in_its_cell(house: House) -> None:
    house.knell.world.store.events.record("life.note", "luna", "", {"reason": "שלום"})
    pane = Pane(house, 80)
    [line] = [line for line in pane.run("knell events") if "life.note" in line]
    assert line.index("life.note") < line.index("reason=")
    assert "שלום" in house.run("events").stdout


def test_wide_letters_count_twice() -> None:
    assert terminal.columns("日本") == 4
    assert terminal.cut("日本語", 4) == "日…"
    assert terminal.cut("abc", 0) == ""


def test_columns_give_way_in_their_order() -> None:
    heads = (columns.Column("NAME"), columns.Column("SIDE", drop=1), columns.Column("NOTE"))
    rows = [("luna", "side by side", "a note that is very long indeed")]

    def row(width: int) -> str:
        return columns.table(heads, rows, on=terminal.Sheet(width)).splitlines()[1]

    assert row(100) == "luna  side by side  a note that is very long indeed"
    assert row(40) == "luna  side by side  a note that is very…"
    assert row(30) == "luna  side by si…  a note tha…"
    assert row(14) == "luna  a note …"
    assert row(3) == "lu…"


def test_a_closed_stdout_is_no_terminal() -> None:
    script = "import os,sys; os.close(1); from knell.faces.text.terminal import sheet; sheet()"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", script) == 0
