"""`top --fleet` while the database does not answer, and with what a host should not publish."""

import json
import time

import pytest

from faces.top.playing import Played, play
from fleets import Fleet
from house import alive
from scenes import number

WIDE = (160, 44)


@pytest.mark.parametrize("how", ["frozen", "gone"])
def test_local_agents_go_on_while_the_database_does_not_answer(fleet: Fleet, how: str) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    fleet.boss.spawn(name="luna")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
    server, key = fleet.database.server, f"{nova.run.id}@build-7"

    async def go_on(played: Played) -> None:
        await played.until(lambda: played.line_of(key) and played.row("luna"))
        (server.freeze if how == "frozen" else server.crash)()
        try:
            await played.shows("the fleet does not answer since ")
            old = played.line_of(key)
            fleet.boss.spawn(name="vega")  # this host's own agents are live all the same
            await played.until(lambda: played.row("vega"))
            await played.go_to(next(row.key for row in played.rows() if row.name == "luna"))
            await played.press("X")
            await played.shows("Kill 'luna'?")
            await played.press("X")
            await played.until(lambda: (row := played.row("luna")) and not row.live)
            await played.until(lambda: played.line_of(key) != old)  # its age grows
            assert "nova" in played.line_of(key)
        finally:
            (server.thaw if how == "frozen" else server.start)()
        await played.until(lambda: "does not answer" not in played.text())

    play(fleet.boss, go_on, size=WIDE, fleet=True)
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
        await played.until(lambda: played.line_of("r1@build-7"))
        await played.go_to("r1@build-7")
        assert "\x1b" not in played.text()
        await played.press("X")
        await played.told("nothing is done to it")

    play(fleet.boss, look, size=WIDE, fleet=True)
    assert fleet.orders() == []
    assert alive(number(nova.run.process))
    assert alive(number(vega.run.process))


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
