"""`top --fleet`: the agents of all hosts live, and orders to other hosts by its keys."""

import json
from typing import Any

import pytest

from faces.top.playing import Played, play
from fleets import Fleet, ThreadLink
from house import alive, eventually
from hushed import fall_silent
from knell.api import Knell
from knell.core.errors import FleetFailed, Refused
from knell.core.receipt import Receipt
from knell.faces.top.app import TopApp
from scenes import number

WIDE = (160, 44)


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
        await played.until(lambda: "silent, seen 4m ago" in played.line_of(mona_key))
        heads = [row.text for row in played.rows() if row.key.startswith("host:")]
        assert heads[0].startswith("─ (here)  1 agent"), heads
        assert heads[1].startswith("─ build-7  1 agent"), heads
        assert heads[2].startswith("─ build-8  1 agent  silent, seen 4m ago"), heads
        assert [row.name for row in played.rows()] == [
            *("(here)", "luna", "build-7", "nova", "build-8", "mona"),
        ]
        assert "dead" not in played.text()
        await played.shows("on 2 hosts, 1 silent", "HOST")
        await played.go_to("host:build-8")
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
        await played.until(lambda: played.line_of(key))
        await played.go_to(key)
        await played.press("X")
        await played.shows("Kill 'nova@build-7'?", "2 processes", "X again: kill")
        assert alive(number(nova.run.process))
        await played.press("X")
        await played.told("build-7: ")
        await played.shows("proven gone", "r=resume")
        await played.go_to(key)
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
        await played.until(lambda: "seen 4m ago" in played.line_of(key))
        await played.go_to(key)
        await played.press("X")
        await played.shows("Kill 'nova@build-7'?", "seen 4m ago", "the order waits")
        await played.press("X")
        await played.told("pending: it has not answered yet")
        [id] = [row[0] for row in fleet.database.sql("SELECT id::text FROM knell.orders")]
        await played.told(id[:8])
        await played.until(lambda: f"kill pending  order {id[:8]}" in played.line_of(key))
        assert alive(number(nova.run.process))
        assert "proven" not in played.text()
        with ThreadLink(origin):
            await played.until(lambda: (row := played.row("nova")) and not row.live)
            await played.shows("proven gone")

    play(fleet.boss, ask, size=WIDE, fleet=True)
    assert fleet.orders() == ["done"]
    assert receipt_of(fleet, "build-7", "nova").run == nova.run.id


def test_only_the_targets_are_shown_on_whichever_host(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    for host in (origin, fleet.boss):
        for name, tag in (("nova", "night"), ("vega", "day"), ("mona", "night")):
            host.spawn(name=name, tag=tag)
    wanted = {
        ("tag:night",): {"nova", "nova@build-7", "mona", "mona@build-7"},
        ("vega",): {"vega", "vega@build-7"},
        ("tag:night@build-7", "vega"): {"nova@build-7", "mona@build-7", "vega", "vega@build-7"},
        ("all@build-7",): {"nova@build-7", "vega@build-7", "mona@build-7"},
    }

    def shown(played: Played) -> set[str]:
        rows = [row for row in played.rows() if not row.key.startswith("host:")]
        return {f"{row.name}@build-7" if "@" in row.key else row.name for row in rows}

    with fleet.linked("build-7"):
        for name in ("nova", "vega", "mona"):
            fleet.await_agent("build-7", name)
        for host in (origin, fleet.boss):
            host.kill("mona")
        fleet.await_agent("build-7", "mona", live=False)
        for targets, names in wanted.items():

            async def look(played: Played, names: set[str] = names) -> None:
                await played.until(lambda: shown(played) == names, str(names))

            play(fleet.boss, look, size=WIDE, fleet=True, targets=targets)


def test_read_only_sends_no_order(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    key = f"{nova.run.id}@build-7"

    async def press_all(played: Played) -> None:
        await played.until(lambda: played.line_of(key))
        await played.go_to(key)
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
        await played.until(lambda: played.line_of(key))
        await played.go_to(key)
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


def test_without_an_operators_home_it_says_how_to_get_one(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    with pytest.raises(FleetFailed) as caught:
        TopApp(lambda: Knell(env=origin.env), fleet=True)
    assert "knell fleet join URL --operator NAME" in caught.value.hint
    done = origin.run("web", "--fleet", "--port", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "knell fleet join URL --operator NAME" in done.stderr


def test_an_order_for_a_run_that_is_over_is_not_sent(fleet: Fleet) -> None:
    """A person who saw a run means that run, and no other that has its name by now."""
    origin = fleet.join("build-7", link=False)
    origin.spawn(name="nova")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
        asker = Knell(env=fleet.boss.env)
        [seen] = asker.fleet.picture().agents
        again = origin.knell.restart("nova")
        eventually(lambda: asker.fleet.picture().agents[0].run != seen.run)
        [refused] = asker.fleet.order_runs("kill", [seen], {"yes": True}, wait=0)
        asker.close()
    assert isinstance(refused, Refused)
    assert refused.code == "run_over"
    assert fleet.orders() == []
    assert origin.knell.show("nova").view.state == "running", again
