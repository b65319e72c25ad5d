"""The page stays live, in a real browser: tabs, cuts, a new server, sleep, clocks that jump."""

import signal

from playwright.sync_api import Page

from faces.web.browsing import Window, browser, card
from faces.web.serving import served
from house import House, eventually
from knell.api import Knell
from knell.faces.web.feed import WebFeed


def streams(window: Window) -> int:
    return sum("/api/changes" in address for address in window.requests)


def test_seven_tabs_share_one_stream_and_another_leads_when_the_first_is_closed(
    house: House,
) -> None:
    """A browser opens at most six connections to a server: a seventh stream would hang."""
    house.spawn(name="luna")
    with served(house) as server, browser(house) as chromium:
        window = Window(chromium, server)
        tabs = [window.enter()]
        card(tabs[0], "luna").wait_for()
        tabs += [window.tab() for _ in range(6)]
        for tab in tabs:
            card(tab, "luna").wait_for()
        assert streams(window) == 1
        house.spawn(name="nova")
        for tab in tabs:
            card(tab, "nova").wait_for()
        tabs[0].close()
        house.spawn(name="vega")
        for tab in tabs[1:]:
            card(tab, "vega").wait_for()
        assert streams(window) == 2
        assert window.troubles == []
    house.kill("all")


def test_a_server_that_was_killed_and_started_again(house: House) -> None:
    """Tabs say that it is away; when its new address is opened in any tab, all go on, with what
    happened meanwhile and nothing twice."""
    house.spawn(name="luna")
    with browser(house) as chromium, served(house) as server:
        window = Window(chromium, server)
        page = window.enter()
        card(page, "luna").wait_for()
        page.get_by_role("link", name="Events").click()
        events = page.get_by_role("list", name="Events, the newest first")
        events.get_by_text("life.started").wait_for()
        server.end(signal.SIGKILL)
        page.get_by_text("The server does not answer.").wait_for()
        house.spawn(name="nova")
        with served(house, port=server.port) as again:
            page.get_by_text("This browser has no session.").wait_for()
            window.tab(address=again.address)
            page.get_by_text("This browser has no session.").wait_for(state="hidden")
            events.get_by_role("link", name="nova").first.wait_for()
            told = events.get_by_role("listitem").all_inner_texts()
            assert len(told) == len(house.knell.events())
            page.get_by_role("link", name="Agents", exact=True).click()
            card(page, "nova").wait_for()
        assert window.troubles == []
    house.kill("all")


def test_a_page_that_slept_and_a_clock_that_jumped(house: House) -> None:
    house.spawn(name="luna")
    with served(house) as server, browser(house) as chromium:
        window = Window(chromium, server)
        page = window.enter()
        card(page, "luna").wait_for()
        asleep = window.profile.new_cdp_session(page)
        asleep.send("Page.setWebLifecycleState", {"state": "frozen"})
        house.spawn(name="nova")
        house.kill("luna")
        asleep.send("Page.setWebLifecycleState", {"state": "active"})
        card(page, "nova").wait_for()
        card(page, "luna").get_by_role("button", name="Resume").wait_for()
        for jump in (36, -36):
            page.clock.install(time=page.evaluate("Date.now()") / 1000 + jump * 3600)
            page.clock.run_for(5000)
            page.clock.resume()
        house.spawn(name="vega")
        card(page, "vega").wait_for()
        assert "NaN" not in page.locator("body").inner_text()
        assert window.troubles == []
    house.kill("all")


def test_what_changes_does_not_flicker(house: House) -> None:
    """A card keeps its element as long as its agent lives: so does the focus in it."""
    names = [f"agent-{number}" for number in range(8)]
    for name in names:
        house.spawn(name=name)
    with served(house) as server, browser(house) as chromium:
        page = Window(chromium, server).enter()
        for name in names:
            card(page, name).wait_for()
        watch_cards(page)
        page.get_by_label("Choose agent-5").focus()
        house.kill("agent-3")
        house.spawn(name="nova")
        card(page, "nova").wait_for()
        card(page, "agent-3").get_by_role("button", name="Resume").wait_for()
        assert page.evaluate("marked()") == 7
        page.evaluate("""() => import('/dom.js').then(({keyed}) => {
            const list = document.createElement('div');
            const make = (name) => Object.assign(document.createElement('i'), {name});
            window.moved = (items) => {
                const seen = new MutationObserver(() => {});
                seen.observe(list, {childList: true});
                keyed(list, items, (one) => one, make);
                const added = seen.takeRecords().flatMap((one) => [...one.addedNodes]);
                return [[...list.children].map((one) => one.name).join(''),
                    new Set(added.map((one) => one.name)).size];
            };
        })""")
        for order, moved in (("abcdef", 6), ("bcdefa", 1), ("abcdef", 1), ("acdf", 0), ("fdca", 3)):
            assert page.evaluate("(order) => moved([...order])", order) == [order, moved]
        assert page.evaluate("document.activeElement.ariaLabel") == "Choose agent-5"
    house.kill("all")


def watch_cards(page: Page) -> None:
    """Marks every card; `marked()` counts those that are still the same elements."""
    page.evaluate("""() => {
        const cards = [...document.querySelectorAll('.groups article')];
        for (const one of cards) one.known = true;
        window.marked = () => [...document.querySelectorAll('.groups article')]
            .filter((one) => one.known).length;
    }""")


def test_a_store_that_cannot_be_read_meanwhile_is_a_banner(house: House) -> None:
    house.spawn(name="luna")
    store, aside = house.state / "knell.db", house.state / "aside"
    with served(house) as server, browser(house) as chromium:
        store.rename(aside)
        store.mkdir()
        page = Window(chromium, server).enter()
        page.get_by_text("Cannot look:").wait_for()
        store.rmdir()
        aside.rename(store)
        page.get_by_text("Cannot look:").wait_for(state="hidden")
        card(page, "luna").wait_for()
    house.kill("all")


def test_who_comes_the_moment_another_leaves_gets_the_whole_picture(house: House) -> None:
    """The thread that looks need not have noticed that nobody was there."""
    house.spawn(name="luna")
    told: list[dict[str, object]] = []
    feed = WebFeed(lambda: Knell(env=house.env), lambda _, what: told.append(what))
    feed.start()
    try:
        for count in (1, 2, 3):
            feed.begin()
            eventually(lambda count=count: sum("full" in one for one in told) == count)
            feed.rest()
    finally:
        feed.stop()
        feed.join()
    house.kill("luna")
