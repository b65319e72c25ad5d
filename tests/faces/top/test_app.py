"""`top` with real agents: what is seen, what the keys do, and that they ask first."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from faces.top.playing import Played, play
from house import House, alive, eventually
from scenes import number, started

BEATS_ONCE = "open(os.environ['KNELL_HEARTBEAT'], 'w').close()\ntell()\nsleep()"


def stall_soon(house: House) -> None:
    """Two seconds without a heartbeat are a stall."""
    config = house.root / "config.toml"
    config.write_text("[stall]\nafter = 2\n")
    house.env["KNELL_CONFIG"] = str(config)


def test_a_newcomer_finds_the_stalled_agent_sees_why_ends_it_and_brings_it_back(
    house: House,
) -> None:
    """Only by what the screen says: no key is pressed that it does not name."""
    stall_soon(house)
    luna = house.spawn(name="luna")
    nova = started(house, BEATS_ONCE, name="nova", tag="night")

    async def find_it(played: Played) -> None:
        await played.shows("STALLED")
        assert played.rows()[0].name == "nova"
        await played.shows("WHY  stalled", "X kill", "r resume")  # why, and what can be done
        await played.press("X")
        await played.shows("Kill 'nova'?", "2 processes, with its keeper", "X again: kill")
        await played.press("X")
        await played.shows("proven gone", "r=resume")
        assert not alive(nova.pid)
        await played.until(lambda: (row := played.row("nova")) and not row.live)
        while (at := played.app.board.selected()) is None or at.name != "nova":
            await played.press("down")
        await played.press("r")
        await played.shows("Resume 'nova'?")
        await played.press("r")
        await played.until(lambda: (row := played.row("nova")) and row.live)

    play(house, find_it)
    assert {view.name for view in house.knell.list()} == {"luna", "nova"}
    assert alive(number(luna.run.process))
    house.kill("all")


def test_cancel_has_the_focus_and_ends_nobody(house: House) -> None:
    luna = house.spawn(name="luna")

    async def hesitate(played: Played) -> None:
        await played.until(lambda: played.row("luna"))
        # One dialog asks for both: what answers the one answers the other.
        for key, answers in (("X", ("enter", "escape", "n", "q")), ("s", ("enter",))):
            for answer in answers:
                await played.press(key)
                await played.shows("'luna'?")
                await played.press(answer)
                await played.until(lambda: "'luna'?" not in played.text())

    play(house, hesitate)
    assert alive(number(luna.run.process))
    house.kill("luna")


def test_an_agent_that_dies_while_its_question_is_open(house: House) -> None:
    luna, nova = started(house, "tell()\nsleep()"), house.spawn(name="nova")

    async def be_late(played: Played) -> None:
        await played.until(lambda: played.row("luna") and played.row("nova"))
        await played.press("X")
        await played.shows("Kill 'luna'?")
        os.kill(luna.pid, signal.SIGKILL)
        eventually(lambda: not alive(luna.keeper))
        await played.press("X")
        await played.told("'luna' has ended meanwhile: nothing was done to it")

    play(house, be_late)
    assert alive(number(nova.run.process))
    assert house.knell.receipt("luna").by != "operator"
    house.kill("nova")


def test_one_of_the_same_name_that_came_meanwhile_is_another(house: House) -> None:
    house.spawn(name="luna")

    async def be_late(played: Played) -> None:
        await played.until(lambda: played.row("luna"))
        await played.press("X")
        await played.shows("Kill 'luna'?")
        house.kill("luna")
        house.spawn(name="luna")
        await played.press("X")
        await played.told("'luna' is another run by now")

    play(house, be_late)
    assert [view.name for view in house.knell.list()] == ["luna"]
    house.kill("luna")


def test_marked_agents_are_ended_together_and_no_other(house: House) -> None:
    for name in ("ada", "bea", "cleo"):
        house.spawn(name=name)

    async def mark_two(played: Played) -> None:
        await played.until(lambda: len(played.rows()) == 3)
        await played.press("home", "space", "space", "X")
        await played.shows("Kill 2 agents?", "ada  command", "bea  command")
        await played.press("X")
        await played.until(lambda: [row.name for row in played.rows() if row.live] == ["cleo"])

    play(house, mark_two)
    assert [view.name for view in house.knell.list()] == ["cleo"]
    house.kill("cleo")


def test_more_than_five_need_their_number(house: House) -> None:
    names = [f"agent-{number}" for number in range(6)]
    for name in names:
        house.spawn(name=name)

    async def type_it(played: Played) -> None:
        await played.until(lambda: len(played.rows()) == 6)
        await played.press("home", *["space"] * 6, "X")
        await played.shows("Kill 6 agents?", "Type 6")
        await played.press("X", "enter", "5", "enter")
        await played.until(lambda: "6, or Escape" in played.text())
        assert len(house.knell.list()) == 6
        await played.press("6", "enter")
        await played.until(lambda: not any(row.live for row in played.rows()))

    play(house, type_it)
    assert house.knell.list() == []


@pytest.mark.parametrize("how", ["option", "key"])
def test_read_only_changes_nothing(house: House, how: str) -> None:
    luna = house.spawn(name="luna")

    async def try_all(played: Played) -> None:
        await played.until(lambda: played.row("luna"))
        if how == "key":
            await played.press("exclamation_mark")
        await played.shows("READ-ONLY")
        for key in ("X", "s", "r", "R", "a", "c", "w"):
            await played.press(key)
        await played.told("read-only")
        assert len(played.app.screen_stack) == 1  # no question was asked
        if how == "option":
            await played.press("exclamation_mark")
            await played.shows("READ-ONLY")

    play(house, try_all, readonly=how == "option")
    assert alive(number(luna.run.process))
    house.kill("luna")


def test_the_filter_hides_and_is_never_remembered(house: House) -> None:
    for name in ("luna", "nova"):
        house.spawn(name=name)

    async def filtered(played: Played) -> None:
        await played.until(lambda: len(played.rows()) == 2)
        await played.press("slash", "n", "o", "v", "enter")
        await played.until(lambda: [row.name for row in played.rows()] == ["nova"])
        await played.shows("filter 'nov': 1 shown")
        await played.press("escape")
        await played.until(lambda: len(played.rows()) == 2)
        await played.press("slash", "n", "o", "v", "enter")

    play(house, filtered)

    async def again(played: Played) -> None:
        await played.until(lambda: len(played.rows()) == 2)

    play(house, again)
    house.kill("all")


def test_no_key_that_a_finger_may_hit_ends_anybody(house: House) -> None:
    """k9s ends by Ctrl-K, others by k, d or Delete: here these move or do nothing."""
    luna = house.spawn(name="luna")

    async def hit(played: Played) -> None:
        await played.until(lambda: played.row("luna"))
        for key in ("k", "d", "ctrl+k", "ctrl+d", "delete", "x", "ctrl+x", "D", "K"):
            await played.press(key)
            await played.pilot.pause(0.2)
            assert len(played.app.screen_stack) == 1, key

    play(house, hit)
    assert alive(number(luna.run.process))
    house.kill("luna")


def test_explain_tree_receipt_and_log_are_pages(house: House) -> None:
    done = house.run("spawn", "--name", "luna", "--in", "headless", "--", "sh", "-c",
                     "echo hello from luna; exec sleep 600")  # fmt: skip
    assert done.returncode == 0

    async def read(played: Played) -> None:
        await played.until(lambda: played.row("luna"))
        for key, words in (
            ("e", "heartbeat: never seen"),
            ("t", "[agent]"),
            ("p", "has never ended"),
            ("l", "hello from luna"),
            ("question_mark", "no agent ends with top"),
        ):
            await played.press(key)
            await played.shows("Escape closes", words)
            await played.press("escape")
            await played.until(lambda: "Escape closes" not in played.text())

    play(house, read)
    house.kill("luna")


def test_the_page_of_keys_has_one_key_a_line_where_two_do_not_fit(house: House) -> None:
    async def read(played: Played) -> None:
        await played.press("question_mark")
        await played.shows("Escape closes")
        lines = [line.strip(" │▌") for line in played.text().splitlines()]
        assert "Enter    go to its pane" in lines
        assert "l        what it printed" in lines

    play(house, read, size=(40, 24))


def test_the_watch_is_switched_on_and_off(house: House) -> None:
    async def switch(played: Played) -> None:
        await played.shows("watch OFF (w)")
        await played.press("w")
        await played.shows("watch on")
        await played.press("w")
        await played.shows("watch OFF (w)")

    play(house, switch)


def test_a_store_that_cannot_be_read_is_said_and_tried_again(house: House) -> None:
    luna = house.spawn(name="luna")
    store = next(Path(house.state).glob("*.db"))

    aside = store.with_suffix(".aside")
    store.rename(aside)
    store.mkdir()

    async def mend_it(played: Played) -> None:
        await played.shows("cannot look")
        store.rmdir()
        aside.rename(store)
        await played.until(lambda: played.row("luna"))
        await played.until(lambda: "cannot look" not in played.text())

    play(house, mend_it)
    assert alive(number(luna.run.process))
    house.kill("luna")


@pytest.mark.parametrize("size", [(80, 24), (140, 45), (40, 12), (20, 8)])
def test_every_size_shows_the_names_and_breaks_nothing(house: House, size: tuple[int, int]) -> None:
    for name in ("luna", "nova"):
        house.spawn(name=name)

    async def look(played: Played) -> None:
        await played.until(lambda: len(played.rows()) == 2)
        await played.shows("luna", "nova")
        assert all(len(line) <= size[0] for line in played.text().splitlines())
        await played.pilot.resize_terminal(100, 30)
        await played.shows("luna", "nova")

    play(house, look, size=size)
    house.kill("all")


def test_only_the_targets_are_shown(house: House) -> None:
    house.spawn(name="luna", tag="night")
    house.spawn(name="nova")

    async def look(played: Played) -> None:
        await played.until(lambda: [row.name for row in played.rows()] == ["luna"])

    play(house, look, targets=("tag:night",))
    house.kill("all")


def test_without_a_terminal_and_without_textual_it_says_so(house: House) -> None:
    done = house.run("top")
    assert (done.returncode, "needs a terminal" in done.stderr) == (2, True)
    hide = house.root / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text("import sys\nsys.modules['textual'] = None\n")
    done = house.run("top", env=house.env | {"PYTHONPATH": str(hide)})
    assert (done.returncode, ".[top]" in done.stderr) == (2, True)


def test_a_kill_in_top_is_in_the_books_as_any_other(house: House) -> None:
    luna = started(house, "tell()\nsleep()")

    async def kill(played: Played) -> None:
        await played.until(lambda: played.row("luna"))
        await played.press("X")
        await played.shows("Kill 'luna'?")
        await played.press("X")
        await played.until(lambda: (row := played.row("luna")) and not row.live)

    play(house, kill)
    receipt = json.loads(house.run("receipt", "luna", "--json").stdout)
    assert (receipt["result"], receipt["proof"], receipt["by"]) == ("ended", "proven", "operator")
    assert not alive(luna.pid)
    assert sys.executable
