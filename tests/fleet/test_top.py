"""`top --fleet`: the agents of all hosts live, and orders to other hosts by its keys."""

import json
import time
from typing import Any

import pytest

from faces.top.playing import Played, play
from fleets import Fleet, ThreadLink
from house import alive, eventually
from hushed import fall_silent
from knell.api import Knell
from knell.core.errors import FleetFailed
from knell.core.receipt import Receipt
from knell.faces.top.app import TopApp
from scenes import number

WIDE = (160, 44)


def go_to(played: Played, key: str) -> Any:
    """Presses down until the line of this key is under the cursor."""

    async def go() -> None:
        await played.press("home")
        for _ in range(60):
            if played.app.board.table.cursor == key:
                return
            await played.press("down")
        raise AssertionError(f"no line {key}:\n{played.text()}")

    return go()


def line_of(played: Played, key: str) -> str:
    return next((row.text for row in played.rows() if row.key == key), "")


def receipt_of(fleet: Fleet, host: str, name: str) -> Receipt:
    return fleet.hosts[host].knell.receipt(name)


def test_agents_of_all_hosts_are_shown_by_host_and_a_silent_one_is_marked(fleet: Fleet) -> None:
    near, away = fleet.join("build-7", link=False), fleet.join("build-8", link=False)
    nova = near.spawn(name="nova", tag="night")
    mona = away.spawn(name="mona")
    fleet.boss.spawn(name="luna")
    with fleet.linked("build-8"):
        fleet.await_agent("build-8", "mona")
    fall_silent(fleet, "build-8")

    async def look(played: Played) -> None:
        await played.until(lambda: played.row("nova") and played.row("luna"))
        mona_key = f"{mona.run.id}@build-8"
        await played.until(lambda: "silent, seen 4m ago" in line_of(played, mona_key))
        heads = [row.text for row in played.rows() if row.key.startswith("host:")]
        assert heads[0].startswith("─ (here)  1 agent"), heads
        assert heads[1].startswith("─ build-7  1 agent"), heads
        assert heads[2].startswith("─ build-8  1 agent  silent, seen 4m ago"), heads
        assert [row.name for row in played.rows()] == [
            *("(here)", "luna", "build-7", "nova", "build-8", "mona"),
        ]
        assert "dead" not in played.text()
        await played.shows("on 2 hosts, 1 silent", "HOST")
        await go_to(played, "host:build-8")
        await played.shows("its agents may be working")
        await played.press("g")  # in one list
        await played.until(lambda: not any(r.key.startswith("host:") for r in played.rows()))
        assert sorted(row.name for row in played.rows()) == ["luna", "mona", "nova"]
        await played.press("slash", *"build-7", "enter")
        await played.until(lambda: [row.name for row in played.rows()] == ["nova"])

    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
        play(fleet.boss, look, size=WIDE, fleet=True)
    assert alive(number(nova.run.process))
    assert alive(number(mona.run.process))


def test_a_kill_of_an_agent_of_another_host_to_the_origins_receipt(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    luna = fleet.boss.spawn(name="nova")  # the same name here is another agent
    key = f"{nova.run.id}@build-7"

    async def end_it(played: Played) -> None:
        await played.until(lambda: line_of(played, key))
        await go_to(played, key)
        await played.press("X")
        await played.shows("Kill 'nova@build-7'?", "2 processes", "X again: kill")
        assert alive(number(nova.run.process))
        await played.press("X")
        await played.told("build-7: ")
        await played.shows("proven gone", "r=resume")
        await go_to(played, key)
        await played.press("p")
        await played.shows("nova@build-7: receipt", "operator:ann")
        await played.press("escape")
        await played.press("r")
        await played.shows("Resume 'nova@build-7'?")
        await played.press("r")
        await played.until(lambda: (row := back(played)) and row.live)

    def back(played: Played) -> Any:
        rows = [row for row in played.rows() if row.key.endswith("@build-7")]
        return rows[0] if len(rows) == 1 else None

    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
        play(fleet.boss, end_it, size=WIDE, fleet=True)
    receipt = receipt_of(fleet, "build-7", f"id:{nova.run.id}")
    assert (receipt.result, receipt.by, receipt.run) == ("ended", "operator:ann", nova.run.id)
    assert alive(number(luna.run.process))
    states = fleet.database.sql("SELECT state, body FROM knell.orders ORDER BY issued_at")
    assert [(state, json.loads(body)["verb"]) for state, body in states] == [
        *(("done", "kill"), ("done", "kill"), ("done", "resume")),  # the first is the dry run
    ]


def test_what_a_host_has_not_answered_is_pending_and_never_done(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
    fleet.database.sql("UPDATE knell.hosts SET seen_at = now() - interval '4 min'")
    key = f"{nova.run.id}@build-7"

    async def ask(played: Played) -> None:
        await played.until(lambda: "seen 4m ago" in line_of(played, key))
        await go_to(played, key)
        await played.press("X")
        await played.shows("Kill 'nova@build-7'?", "seen 4m ago", "the order waits")
        await played.press("X")
        await played.told("pending: it has not answered yet")
        [id] = [row[0] for row in fleet.database.sql("SELECT id::text FROM knell.orders")]
        await played.told(id[:8])
        await played.until(lambda: f"kill pending  order {id[:8]}" in line_of(played, key))
        assert alive(number(nova.run.process))
        assert "proven" not in played.text()
        with ThreadLink(origin):
            await played.until(lambda: (row := played.row("nova")) and not row.live)
            await played.shows("proven gone")

    play(fleet.boss, ask, size=WIDE, fleet=True)
    assert fleet.orders() == ["done"]
    assert receipt_of(fleet, "build-7", "nova").run == nova.run.id


@pytest.mark.parametrize("how", ["frozen", "gone"])
def test_local_agents_go_on_while_the_database_does_not_answer(fleet: Fleet, how: str) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    fleet.boss.spawn(name="luna")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
    server, key = fleet.database.server, f"{nova.run.id}@build-7"

    async def go_on(played: Played) -> None:
        await played.until(lambda: line_of(played, key) and played.row("luna"))
        (server.freeze if how == "frozen" else server.crash)()
        try:
            await played.shows("the fleet does not answer since ")
            old = line_of(played, key)
            fleet.boss.spawn(name="vega")  # this host's own agents are live all the same
            await played.until(lambda: played.row("vega"))
            await go_to(played, next(row.key for row in played.rows() if row.name == "luna"))
            await played.press("X")
            await played.shows("Kill 'luna'?")
            await played.press("X")
            await played.until(lambda: (row := played.row("luna")) and not row.live)
            await played.until(lambda: line_of(played, key) != old)  # its age grows
            assert "nova" in line_of(played, key)
        finally:
            (server.thaw if how == "frozen" else server.start)()
        await played.until(lambda: "does not answer" not in played.text())

    play(fleet.boss, go_on, size=WIDE, fleet=True)
    assert alive(number(nova.run.process))


def test_read_only_sends_no_order(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    key = f"{nova.run.id}@build-7"

    async def press_all(played: Played) -> None:
        await played.until(lambda: line_of(played, key))
        await go_to(played, key)
        for one in ("X", "s", "R"):
            await played.press(one)
            await played.told("read-only")
        for one in ("e", "t"):
            await played.press(one)
            await played.shows("no order is sent")
            await played.press("escape")

    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
        play(fleet.boss, press_all, size=WIDE, fleet=True, readonly=True)
    assert fleet.orders() == []


def test_pages_about_agents_of_other_hosts_and_what_is_not_there(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    key = f"{nova.run.id}@build-7"

    async def read(played: Played) -> None:
        await played.until(lambda: line_of(played, key))
        await go_to(played, key)
        await played.press("t")
        await played.shows("nova@build-7: processes", str(number(nova.run.process)))
        await played.press("escape", "e")
        await played.shows("nova@build-7: why")
        await played.press("escape", "l")
        await played.shows("no order carries them", "knell logs nova")
        await played.press("escape", "a")
        await played.told("not on other hosts")
        await played.press("enter")
        await played.told("its pane is on build-7")

    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
        play(fleet.boss, read, size=WIDE, fleet=True)
    assert alive(number(nova.run.process))


def test_what_a_host_publishes_is_only_text_and_ends_nobody_else(fleet: Fleet) -> None:
    """A host may publish any words: as a name, a run or a number."""
    origin = fleet.join("build-7", link=False)
    nova, vega = origin.spawn(name="nova"), origin.spawn(name="vega")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "vega")
    evil = {"name": "all", "pid": "x", "activity": ["working"], "why": "\x1b[2J", "run": "r1"}
    sql = fleet.database.sql
    sql("UPDATE knell.agents SET view = view || %s::jsonb WHERE name = 'nova'", json.dumps(evil))
    sql("UPDATE knell.agents SET view = '[]' WHERE name = 'vega'")

    async def look(played: Played) -> None:
        await played.until(lambda: line_of(played, "r1@build-7"))
        await go_to(played, "r1@build-7")
        assert "\x1b" not in played.text()
        await played.press("X")
        await played.told("nothing is done to it")

    play(fleet.boss, look, size=WIDE, fleet=True)
    assert fleet.orders() == []
    assert alive(number(nova.run.process))
    assert alive(number(vega.run.process))


def test_without_an_operators_home_it_says_how_to_get_one(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    with pytest.raises(FleetFailed) as caught:
        TopApp(lambda: Knell(env=origin.env), fleet=True)
    assert "knell fleet join URL --operator NAME" in caught.value.hint
    done = origin.run("web", "--fleet", "--port", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "knell fleet join URL --operator NAME" in done.stderr


def test_the_banner_says_since_when(fleet: Fleet) -> None:
    """A database that was never there: since the first question."""
    fleet.join("build-7", link=False)
    fleet.boss.spawn(name="luna")
    fleet.database.server.crash()
    began = time.time()

    async def look(played: Played) -> None:
        await played.until(lambda: played.row("luna"))
        await played.shows("the fleet does not answer since ", "other hosts: not seen yet")
        assert played.app.far
        assert began - 1 <= played.app.far.since <= time.time()

    play(fleet.boss, look, size=WIDE, fleet=True)
    eventually(fleet.boss.knell.list)
