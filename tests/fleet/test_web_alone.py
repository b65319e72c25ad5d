"""`web --fleet` while the database does not answer, and with what a host should not publish."""

import json
from typing import Any

import pytest

from faces.web.browsing import Window, answer, browser, card, waits
from faces.web.serving import served
from fleets import Fleet
from house import alive
from scenes import number

EVIL = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"


@pytest.mark.parametrize("how", ["frozen", "gone"])
def test_local_agents_go_on_while_the_database_does_not_answer(fleet: Fleet, how: str) -> None:
    origin = fleet.join("build-7", link=False)
    origin.spawn(name="nova")
    luna = fleet.boss.spawn(name="luna")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
    database = fleet.database.server
    with served(fleet.boss, "--fleet") as server, browser(fleet.boss) as chromium:
        page = Window(chromium, server).enter()
        far = page.get_by_role("region", name="Host build-7")
        far.get_by_role("link", name="nova", exact=True).wait_for()
        (database.freeze if how == "frozen" else database.crash)()
        try:
            page.get_by_text("The fleet does not answer since ").wait_for()
            age = far.locator("article .age").inner_text()
            fleet.boss.spawn(name="vega")
            here = page.get_by_role("region", name="Host (here)")
            here.get_by_role("link", name="vega", exact=True).wait_for()
            card(page, "luna").get_by_role("button", name="Kill").click()
            answer(page, "Kill")
            waits(page, lambda: not alive(number(luna.run.process)))
            far.get_by_role("link", name="nova", exact=True).wait_for()
            waits(page, lambda: far.locator("article .age").inner_text() != age)
            far.get_by_role("button", name="Kill").click()  # said, and nothing hangs
            page.locator(".toast.bad").first.wait_for()
        finally:
            (database.thaw if how == "frozen" else database.start)()
        page.get_by_text("The fleet does not answer since ").wait_for(state="hidden")
    assert fleet.orders() == []
    assert origin.knell.show("nova").view.state == "running"


def test_the_server_ends_while_the_database_hangs(fleet: Fleet) -> None:
    fleet.join("build-7", link=False)
    with served(fleet.boss, "--fleet") as server:
        server.enter()
        with server.stream() as told:
            next(one for one in told if "build-7" in one.get("data", ""))
            fleet.database.server.freeze()
            next(one for one in told if "no answer came" in one.get("data", ""))
            assert server.get("/api/snapshot").status == 200
            assert server.end() == 0
            assert fleet.database.server.processes()  # and still nobody has thawed it


def test_what_a_host_publishes_is_only_text_and_ends_nobody_else(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova, vega = origin.spawn(name="nova"), origin.spawn(name="vega")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "vega")
    words = dict.fromkeys(("name", "kind", "why", "note", "tag", "team", "cwd", "worktree"), EVIL)
    words |= {"name": f"{EVIL}/../#x", "activity": "stalled", "run": f"r{EVIL}"}
    sql = fleet.database.sql
    sql("UPDATE knell.agents SET view = view || %s::jsonb WHERE name = 'nova'", json.dumps(words))
    ended = {"name": "vega", "state": "ended", "ended_at": EVIL, "by": EVIL, "reason": EVIL}
    sql(
        "UPDATE knell.agents SET live = false, view = view || %s::jsonb WHERE name = 'vega'",
        json.dumps(ended),
    )
    receipt = {"agent": EVIL, "kind": EVIL, "rungs": 7, "by": EVIL, "outcome": EVIL}
    sql(
        "INSERT INTO knell.receipts (host, run, number, agent, at, receipt)"
        " VALUES ('build-7', %s, 1, 'vega', '2026-01-01T00:00:00Z', %s)",
        vega.run.id, json.dumps(receipt),
    )  # fmt: skip
    with (
        fleet_is_heard(fleet),
        served(fleet.boss, "--fleet") as server,
        browser(fleet.boss) as chromium,
    ):
        window = Window(chromium, server)
        page = window.enter()
        far = page.get_by_role("region", name="Host build-7")
        far.get_by_role("button", name="Kill").click()
        page.locator(".toast").get_by_text("nothing is done to it").first.wait_for()
        page.get_by_role("button", name="Table").click()
        far.get_by_role("link").first.click()
        page.get_by_role("heading", level=1).wait_for()
        page.goto(f"{server.origin}/#/agent/vega@build-7")
        page.get_by_text("the receipt is not signed by build-7").wait_for()
        assert page.evaluate("window.hacked") is None
        assert [one for one in window.troubles if "Content Security" in one] == []
    assert alive(number(nova.run.process))
    assert fleet.orders() == []


def fleet_is_heard(fleet: Fleet) -> Any:
    """For the time of a test build-7 counts as heard, without a link that would publish again."""
    fleet.database.sql("UPDATE knell.hosts SET seen_at = now() + interval '1 h'")
    return fleet.linked()
