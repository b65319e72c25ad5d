"""Every page in a real browser: what it shows, that all can use it, and that nothing evil runs."""

import sys
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from faces.web.browsing import PHONE, Window, answer, browser, card, waits
from faces.web.serving import served
from house import House, alive, eventually
from knell.core.conversation import KnownConversation
from repo import Repo
from scenes import number

PLACES = ("agents", "agent/luna", "events", "receipts", "tasks", "worktrees", "night")
EVIL = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
TALK = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def peopled(house: House) -> House:
    """Something on every page: a team, tasks, a worktree, two that ended."""
    repo = Repo(house)
    tree = repo.worktree("fix-login")
    (tree / "new.txt").write_text("unsaved")
    red = house.knell.team("red")
    red.create()
    house.spawn(name="luna", tag="night", team="red")
    task = red.add_task("Mend the roof").id
    red.add_task("Paint the door")
    house.knell.task(task).claim("luna")
    house.spawn(name="nova")
    for name, folder in (("old", str(tree)), ("vega", str(house.root))):
        house.knell.spawn(command=("sleep", "600"), name=name, place="headless", cwd=folder)
    house.knell.world.store.runs.set_conversation("vega", KnownConversation(TALK, "given"))
    house.kill("old", cleanup="force", reason="the sprint is over")
    house.kill("vega", reason="it talked too much")
    return house


def test_every_page_shows_its_subject_and_asks_nobody_else(peopled: House) -> None:
    with served(peopled) as server, browser(peopled) as chromium:
        window = Window(chromium, server)
        page = window.enter()
        page.get_by_text("The watch is off.").wait_for()
        team = page.get_by_role("region", name="Team red")
        for text in ("luna", "night", "TASK-1", "process", "MB"):
            team.get_by_text(text).first.wait_for()
        page.get_by_role("button", name="Table").click()
        page.get_by_role("row").filter(has_text="luna").get_by_text("TASK-1").wait_for()
        page.get_by_role("searchbox").fill("red")
        page.get_by_role("row").filter(has_text="nova").wait_for(state="hidden")
        page.get_by_role("button", name="Cards").click()
        page.get_by_role("searchbox").fill("")
        look_at_events(page)
        look_at_receipts(page)
        page.get_by_role("link", name="Tasks").click()
        page.get_by_role("region", name="In progress").get_by_text("Mend the roof").wait_for()
        page.get_by_role("region", name="Waiting").get_by_text("Paint the door").wait_for()
        page.get_by_role("link", name="Worktrees").click()
        page.get_by_text("-back refs/knell/rescue").wait_for()
        page.get_by_role("link", name="While you slept").click()
        page.get_by_role("region", name="Endings").get_by_text("the sprint is over").wait_for()
        assert {url.startswith(f"{server.origin}/") for url in window.requests} == {True}
        assert window.troubles == []
    peopled.kill("all")


def look_at_events(page: Page) -> None:
    page.get_by_role("link", name="Events").click()
    events = page.get_by_role("list", name="Events, the newest first")
    events.get_by_text("life.stopped").first.wait_for()
    page.get_by_label("Subject").select_option("task")
    events.get_by_text("life.stopped").first.wait_for(state="hidden")
    page.get_by_label("Subject").select_option("")
    page.get_by_label("Filter events").fill("nova pid")
    waits(page, lambda: events.get_by_role("listitem").count() == 1)


def look_at_receipts(page: Page) -> None:
    page.get_by_role("link", name="Receipts").click()
    page.get_by_text("2 receipts, the newest first").wait_for()
    page.get_by_label("Search receipts").fill("VEGA talked")
    page.get_by_text("1 receipt, the newest first").wait_for()
    receipt = page.locator(".receipt")
    receipt.get_by_text("vega").first.click()
    for text in ("proven gone", "TERM", "KILL was not needed", "its keeper saw"):
        receipt.get_by_text(text).first.wait_for()


def test_all_can_use_every_page(peopled: House) -> None:
    """axe has no serious finding, and a phone needs no sideways scrolling; light and dark."""
    with served(peopled) as server, browser(peopled) as chromium:
        first = Window(chromium, server)
        card(first.enter(), "luna").wait_for()  # else it might not have its session yet
        known = first.profile.storage_state()
        for scheme, shape in (("light", {}), ("dark", PHONE)):
            window = Window(chromium, server, storage_state=known, color_scheme=scheme, **shape)
            page = window.tab()
            card(page, "luna").wait_for()
            for place in PLACES:
                page.goto(f"{server.origin}/#/{place}")
                page.locator("main .card").first.wait_for()
                assert serious(page) == [], (place, scheme)
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (ground == "rgb(246, 245, 242)") == (scheme == "light"), ground
            page.goto(f"{server.origin}/#/agents")
            card(page, "luna").get_by_role("button", name="Kill").click()
            page.get_by_role("dialog").wait_for()
            assert serious(page) == []
    peopled.kill("all")


def serious(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_by_the_keyboard_alone(house: House) -> None:
    """What has the focus is visible, the question gives it back, Cancel has it first."""
    luna = house.spawn(name="luna").run
    with served(house) as server, browser(house) as chromium:
        page = Window(chromium, server).enter()
        card(page, "luna").wait_for()
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the page"
        press_until(page, "Tab", "Kill")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) == "solid"
        for key in ("Enter", "Escape"):  # Cancel has the focus; Escape says no as well
            page.keyboard.press("Enter")
            page.get_by_role("dialog").wait_for()
            waits(page, lambda: focused(page) == "Cancel")
            page.keyboard.press(key)
            page.get_by_role("dialog").wait_for(state="hidden")
            assert focused(page) == "Kill"
        assert alive(number(luna.process))
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        press_until(page, "Tab", "Kill")
        page.keyboard.press("Enter")
        waits(page, lambda: not alive(number(luna.process)))
        page.get_by_text("proven gone").first.wait_for()
    assert house.knell.list() == []


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def press_until(page: Page, key: str, text: str) -> None:
    for _ in range(60):
        page.keyboard.press(key)
        if focused(page) == text:
            return
    raise AssertionError(f"{key} never comes to {text}")


def test_what_agents_write_is_only_text(house: House) -> None:
    """Titles, screens, reasons, branches, tags, tasks, paths: each is written by somebody else."""
    repo = Repo(house)
    branch = "x<svg/onload=window.hacked=1>"
    tree = repo.worktree(branch)
    (tree / "new.txt").write_text("unsaved")
    team = house.knell.team("red")
    team.create()
    team.add_task(EVIL)
    body = f"print({EVIL!r}, flush=True)\nimport time\ntime.sleep(600)"
    house.knell.spawn(
        command=(sys.executable, "-S", "-c", body, EVIL),
        name="luna", tag="night", place="headless", cwd=str(tree), team="red",
    )  # fmt: skip
    with served(house) as server, browser(house) as chromium:
        window = Window(chromium, server)
        page = window.enter()
        card(page, "luna").get_by_text(branch).first.wait_for()
        card(page, "luna").get_by_role("link", name="luna").click()
        page.get_by_role("region", name="Last screen").get_by_text(EVIL).wait_for()
        page.get_by_role("region", name="Processes").get_by_text(EVIL).wait_for()
        page.get_by_role("link", name="Tasks").click()
        page.get_by_role("region", name="Last screen").wait_for(state="detached")
        page.get_by_text(EVIL).first.wait_for()
        house.kill("luna", reason=EVIL, cleanup="force")
        for place, told in (
            ("receipts/luna", "onerror"),
            ("events", "onerror"),
            ("worktrees", branch),
            ("night", "onerror"),
            ("agents", "luna"),
        ):
            page.goto(f"{server.origin}/#/{place}")
            page.locator("main").get_by_text(told).first.wait_for()
        page.goto(f"{server.origin}/#/agent/{'%3Cimg%20src=x%20onerror=window.hacked=1%3E'}")
        page.get_by_role("heading", name="<img src=x").wait_for()
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, main svg[onload]").count() == 0
        eventually(lambda: page.evaluate("true") and window.troubles)  # which lets events come in
        assert window.troubles == [
            "Failed to load resource: the server responded with a status of 400 (Bad Request)"
        ]  # that agent is not there
        assert {url.startswith(f"{server.origin}/") for url in window.requests} == {True}


# -- deeds ---------------------------------------------------------------------------------------


def test_every_button_to_its_effect(house: House) -> None:
    luna = house.spawn(name="luna").run
    with served(house) as server, browser(house) as chromium:
        page = Window(chromium, server).enter()
        page.goto(f"{server.origin}/#/agent/luna")

        def do(button: str, word: str = "") -> Any:
            page.locator(".large").get_by_role("button", name=button).click()
            page.get_by_role("dialog").get_by_text("luna").first.wait_for()
            answer(page, word or button)

        do("Ask to leave")
        page.get_by_text("was asked to leave").wait_for()
        do("Stop")
        waits(page, lambda: not alive(number(luna.process)))
        do("Resume")
        waits(page, lambda: len(house.knell.list()) == 1)
        second = house.knell.list()[0].run
        do("Restart")
        waits(page, lambda: house.knell.list() and house.knell.list()[0].run != second)
        do("Kill")
        waits(page, lambda: house.knell.list() == [])
        do("Clean up", "Clean up after")
        page.get_by_text("Cleaned up").or_(page.get_by_text("already")).first.wait_for()


def test_many_need_their_number_and_a_plan_that_changed_is_shown_anew(house: House) -> None:
    names = [f"agent-{number}" for number in range(6)]
    for name in names:
        house.spawn(name=name)
    with served(house) as server, browser(house) as chromium:
        page = Window(chromium, server).enter()
        for name in names:
            page.get_by_label(f"Choose {name}").check()
        page.get_by_role("toolbar").get_by_role("button", name="Kill").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("Kill 6 agents?").wait_for()
        yes = dialog.get_by_role("button", name="Kill", exact=True)
        assert yes.is_disabled()
        dialog.get_by_role("textbox").fill("5")
        assert yes.is_disabled()
        house.kill("agent-0")
        dialog.get_by_role("textbox").fill("6")
        yes.click()
        dialog.get_by_text("It is no longer as you were shown. Nothing was done.").wait_for()
        dialog.get_by_text("Kill 5 agents?").wait_for()
        assert len(house.knell.list()) == 5
        dialog.get_by_role("button", name="Kill", exact=True).click()
        waits(page, lambda: house.knell.list() == [])


def test_a_browser_that_is_closed_in_the_middle_of_a_kill_stops_nothing(house: House) -> None:
    luna = house.spawn("ignores_term", name="luna").run
    with served(house) as server, browser(house) as chromium:
        window = Window(chromium, server)
        page = window.enter()
        card(page, "luna").get_by_role("button", name="Kill").click()
        page.get_by_role("dialog").get_by_role("button", name="Kill", exact=True).click()
        card(page, "luna").get_by_text("ending: TERM").wait_for()
        window.profile.close()
    assert not alive(number(luna.process))
    assert house.knell.receipt("luna").proof == "proven"
