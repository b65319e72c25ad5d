"""`web --fleet` in a real browser: all hosts, orders by its buttons, and a database that stops."""

import json
from typing import Any

from axe_playwright_python.sync_playwright import Axe

from faces.web.browsing import Window, answer, browser
from faces.web.serving import Server, served
from fleets import Fleet
from house import alive, eventually
from hushed import fall_silent
from repo import Repo
from scenes import number


def order_ids(fleet: Fleet, verb: str, *, dry: bool = False) -> list[str]:
    rows = fleet.database.sql("SELECT id::text, body FROM knell.orders ORDER BY issued_at")
    bodies = [(id, json.loads(body)) for id, body in rows]
    return [
        id
        for id, one in bodies
        if one["verb"] == verb and bool(one["options"].get("dry_run")) is dry
    ]


def test_agents_of_all_hosts_are_shown_by_host_and_a_silent_one_is_marked(fleet: Fleet) -> None:
    near, away = fleet.join("build-7", link=False), fleet.join("build-8", link=False)
    nova, mona = near.spawn(name="nova", team=""), away.spawn(name="mona")
    fleet.boss.spawn(name="luna")
    with fleet.linked("build-8"):
        fleet.await_agent("build-8", "mona")
    fall_silent(fleet, "build-8")
    with (
        fleet.linked("build-7"),
        served(fleet.boss, "--fleet") as server,
        browser(fleet.boss) as chromium,
    ):
        fleet.await_agent("build-7", "nova")
        window = Window(chromium, server)
        page = window.enter()
        page.get_by_role("region", name="Host (here)").get_by_text("luna").wait_for()
        heard = page.get_by_role("region", name="Host build-7")
        heard.get_by_role("link", name="nova", exact=True).wait_for()
        heard.get_by_text("seen ").first.wait_for()
        silent = page.get_by_role("region", name="Host build-8")
        silent.get_by_role("heading").get_by_text("silent, seen 4m").wait_for()
        silent.locator("article").get_by_text("silent, seen 4m").wait_for()  # each row has its age
        page.get_by_text("on 2 hosts, 1 silent").wait_for()
        assert page.get_by_text("dead").count() == 0
        serious = [
            f"{one['id']}: {one['nodes'][0]['html']}"
            for one in Axe().run(page).response["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == []
        page.get_by_role("button", name="Table").click()
        row = page.get_by_role("row").filter(has_text="mona")
        row.get_by_text("build-8, silent, seen 4m").wait_for()
        page.get_by_role("columnheader", name="Host").first.wait_for()
        page.get_by_role("searchbox").fill("build-7")
        page.get_by_role("row").filter(has_text="mona").wait_for(state="hidden")
        page.get_by_role("row").filter(has_text="nova").wait_for()
        second = window.tab()  # which gets its picture from the first
        second.get_by_role("region", name="Host build-8").get_by_text("mona").wait_for()
        assert window.troubles == []
    assert alive(number(nova.run.process))
    assert alive(number(mona.run.process))


def test_a_kill_of_an_agent_of_another_host_to_the_origins_receipt(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova, here = origin.spawn(name="nova"), fleet.boss.spawn(name="nova")
    with (
        fleet.linked("build-7"),
        served(fleet.boss, "--fleet") as server,
        browser(fleet.boss) as chromium,
    ):
        fleet.await_agent("build-7", "nova")
        window = Window(chromium, server)
        page = window.enter()
        far = page.get_by_role("region", name="Host build-7")
        far.get_by_role("button", name="Kill").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("Kill “nova@build-7”?").wait_for()
        dialog.get_by_text("2 processes").wait_for()
        assert alive(number(nova.run.process))
        answer(page, "Kill")
        page.get_by_role("region", name="Ended agents").get_by_text("nova@build-7").wait_for()
        page.get_by_role("link", name="Receipt", exact=True).first.click()
        page.get_by_role("region", name="Receipt", exact=True).get_by_text(
            "proven gone"
        ).first.wait_for()
        page.get_by_role("region", name="Receipt", exact=True).get_by_text(
            "operator:ann"
        ).first.wait_for()
        page.get_by_role("button", name="Resume").click()
        page.get_by_role("dialog").get_by_text("is resumed there").wait_for()
        answer(page, "Resume")
        page.get_by_role("button", name="Ask for its processes").click()
        page.get_by_role("region", name="What its host says").get_by_text("keeper").wait_for()
        assert window.troubles == []
        assert {url.startswith(f"{server.origin}/") for url in window.requests} == {True}
    receipt = origin.knell.receipt(f"id:{nova.run.id}")
    assert (receipt.result, receipt.by, receipt.run) == ("ended", "operator:ann", nova.run.id)
    assert alive(number(here.run.process))


def test_what_a_host_has_not_answered_is_pending_and_never_done(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
    fleet.database.sql("UPDATE knell.hosts SET seen_at = now() - interval '4 min'")
    with served(fleet.boss, "--fleet") as server, browser(fleet.boss) as chromium:
        page = Window(chromium, server).enter()
        page.get_by_role("region", name="Host build-7").get_by_role("button", name="Kill").click()
        page.get_by_role("dialog").get_by_text("the order waits until the host is back").wait_for()
        answer(page, "Kill")
        [id] = order_ids(fleet, "kill")
        page.locator(".toast.warn").get_by_text("pending").first.wait_for()
        page.locator(".toast.warn").get_by_text(id[:8]).first.wait_for()
        page.locator("article").get_by_text(f"kill pending: order {id[:8]}").wait_for()
        assert alive(number(nova.run.process))
        assert page.get_by_text("proven").count() == 0
        with fleet.linked("build-7"):
            page.get_by_role("region", name="Ended agents").get_by_text("nova@build-7").wait_for()
    assert fleet.orders() == ["done"]
    assert origin.knell.receipt("nova").run == nova.run.id


def test_a_plan_is_bound_to_the_run_that_was_shown(fleet: Fleet) -> None:
    """As a script sees it; and what a plan does not name is not ended."""
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    with fleet.linked("build-7"), served(fleet.boss, "--fleet") as server:
        fleet.await_agent("build-7", "nova")
        server.enter()
        [row] = server.get("/api/fleet").json["agents"]
        assert (row["name"], row["host"]) == ("nova", "build-7")
        whole = {"deed": "kill", "runs": [row["id"]]}
        plan = server.post("/api/plan", whole).json
        assert plan["agents"] == [{"name": "nova@build-7", "run": f"{nova.run.id}@build-7"}]
        forged = server.post("/api/act", {**whole, "plan": "0" * 64})
        assert (forged.status, forged.code) == (409, "plan_changed")
        assert order_ids(fleet, "kill") == []
        origin.knell.restart("nova")
        waiting_run(fleet, origin.knell.show("nova").view.run)
        late = server.post("/api/act", {**whole, "plan": plan["plan"]})
        assert late.status == 409, late.text
        assert order_ids(fleet, "kill") == []
        [row] = server.get("/api/fleet").json["agents"]
        now = {"deed": "kill", "runs": [row["id"]]}
        hash = fresh_plan(server, now)
        done = server.post("/api/act", {**now, "plan": hash})
        assert done.status == 200, done.text
        assert "pending" not in done.json
        assert any("build-7: " in line for line in done.json["lines"])
    assert origin.knell.show("nova").view.state == "ended"


def waiting_run(fleet: Fleet, run: str) -> None:
    eventually(lambda: fleet.database.sql("SELECT 1 FROM knell.agents WHERE run = %s", run))


def fresh_plan(server: Server, whole: dict[str, Any]) -> str:
    """The hash of the plan, once the server's picture has that run."""
    return eventually(lambda: server.post("/api/plan", whole).json["plan"])


def test_every_deed_to_its_effect_on_another_host(fleet: Fleet) -> None:
    """As a script sees it; each is carried out by the agent's own host."""
    origin = fleet.join("build-7", link=False)
    repo = Repo(origin)
    tree = repo.worktree("done")
    origin.knell.spawn(command=("sleep", "600"), name="nova", place="headless", cwd=str(tree))

    def has_become(live: bool, run: str) -> bool:  # noqa: FBT001 - of one row
        rows = fleet.database.sql("SELECT live, run FROM knell.agents WHERE name = 'nova'")
        return [live] == [one for one, _ in rows] and (not run or run == rows[0][1])

    with fleet.linked("build-7"), served(fleet.boss, "--fleet") as server:
        fleet.await_agent("build-7", "nova")
        server.enter()
        for deed, live in (
            *(("stop", False), ("resume", True), ("restart", True), ("kill", False)),
            ("cleanup", False),
        ):
            view = origin.knell.show("nova").view
            eventually(lambda view=view: has_become(view.state != "ended", view.run))
            whole = {"deed": deed, "runs": [f"{view.run}@build-7"]}
            plan = fresh_plan(server, whole)
            done = server.post("/api/act", {**whole, "plan": plan})
            assert done.status == 200, done.text
            assert done.json["lines"], deed
            assert "pending" not in done.json, done.text
            state = origin.knell.show("nova").view.state
            assert (state != "ended") is live, (deed, done.text)
    assert not tree.exists()  # it was clean, and its host removed it
    assert {*fleet.orders()} == {"done"}


def test_read_only_sends_no_order(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    nova = origin.spawn(name="nova")
    with fleet.linked("build-7"), served(fleet.boss, "--fleet", "--readonly") as server:
        fleet.await_agent("build-7", "nova")
        server.enter()
        [row] = server.get("/api/fleet").json["agents"]
        for path, body in (
            ("/api/plan", {"deed": "kill", "runs": [row["id"]]}),
            ("/api/act", {"deed": "kill", "runs": [row["id"]], "plan": "0" * 64}),
            ("/api/ask-host", {"what": "tree", "run": row["id"]}),
        ):
            assert server.post(path, body).status == 403, path
        assert server.get("/api/agent?name=nova@build-7").json["host_state"] == "heard"
        assert server.get("/api/fleet", host="evil.example").status == 421
    assert fleet.orders() == []
    assert alive(number(nova.run.process))
    with served(fleet.boss) as server:  # without --fleet there are no other hosts
        server.enter()
        assert server.get("/api/fleet").status == 404
        assert server.get("/api/agent?name=nova@build-7").status == 400
        assert server.post("/api/ask-host", {"what": "tree", "run": "x@y"}).status == 400
        assert server.post("/api/plan", {"deed": "kill", "runs": [row["id"]]}).json["agents"] == []
