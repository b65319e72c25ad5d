"""Two hundred agents in a real browser: what changes is touched, and nothing else."""

import contextlib
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page

from faces.web.browsing import Window, browser
from faces.web.serving import served
from house import House

MANY = 200
NAMES = [f"agent-{number:03}" for number in range(MANY)]
FOCUSED = "agent-120"
ENDED = {"Cards": ("agent-150", "agent-190"), "Table": ("agent-151", "agent-191")}

# Which rows came and went, and which elements of the others were touched although they say the same
# as before. An age is another one each second.
WATCH = """() => {
    const rowOf = (node) => {
        const one = node.nodeType === 1 ? node : node.parentElement;
        return one?.closest('.groups article, .groups tbody tr');
    };
    const nameOf = (row) => row.querySelector('a.name').textContent;
    const looks = (node) => `${node.textContent} ${[...node.attributes]
        .map((one) => `${one.name}=${one.value}`).join(' ')}`;
    const groups = document.querySelector('.groups');
    const before = new Map([...groups.querySelectorAll('*')].map((one) => [one, looks(one)]));
    const rows = new Map([...groups.querySelectorAll('article, tbody tr')]
        .map((one) => [one, nameOf(one)]));
    const told = {added: [], removed: [], idle: [], touched: 0};
    const take = (records) => {
        for (const one of records) {
            const isRow = (node) => node.nodeType === 1 && node.matches('article, tr');
            const named = (node) => rows.get(node) ?? nameOf(node);
            told.added.push(...[...one.addedNodes].filter(isRow).map(named));
            told.removed.push(...[...one.removedNodes].filter(isRow).map(named));
            const node = one.target.nodeType === 1 ? one.target : one.target.parentElement;
            if (!rows.has(rowOf(node)) || node.closest('[data-ticks], .history')) continue;
            told.touched += 1;
            if (before.get(node) === looks(node))
                told.idle.push([nameOf(rowOf(node)), node.tagName, one.attributeName].join(' '));
        }
    };
    const observer = new MutationObserver(take);
    const all = {subtree: true, childList: true, attributes: true, characterData: true};
    observer.observe(groups, all);
    window.told = () => { take(observer.takeRecords()); return told; };
}"""
NAMED = (
    "(name) => [...document.querySelectorAll('.groups a.name')].some((a) => a.textContent === name)"
)


@contextlib.contextmanager
def crowd(house: House) -> Iterator[None]:
    """Real rows of real processes, without keepers, which are two hundred interpreters.

    Adopted are those that will be ended. Taking charge of one looks at every process and every row
    there is, so the others get the rows that it would have written."""
    processes = [house.process("sleep", "900") for _ in NAMES]
    store, look = house.knell.world.store.runs, house.knell.world.processes.identify
    try:
        ended = [one for pair in ENDED.values() for one in pair]
        for name in ended:
            house.knell.adopt(processes[NAMES.index(name)].pid, name=name)
        run, agent = store.newest()[ended[0]], store.agent(ended[0])
        assert agent
        for name, process in zip(NAMES, processes, strict=True):
            if name not in ended:
                mine = run._replace(id=house.knell.world.new_id(), agent=name, cgroup="")
                mine = mine._replace(process=look(process.pid))
                store.add(agent._replace(name=name), mine)
                store.mark_born(mine)
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(60)


def named(page: Page, name: str, *, there: bool) -> None:
    page.wait_for_function(f"(name) => ({NAMED})(name) === {str(there).lower()}", arg=name)


def place_of(page: Page) -> list[Any]:
    """Who has the focus, how far the page is scrolled, and where that one is seen."""
    return page.evaluate("""() => [document.activeElement.ariaLabel, scrollY,
        document.querySelector('.scroll')?.scrollTop ?? 0,
        Math.round(document.activeElement.getBoundingClientRect().top)]""")


def test_two_hundred_agents_change_without_flicker(house: House) -> None:
    with crowd(house), served(house) as server, browser(house) as chromium:
        window = Window(chromium, server)
        page = window.enter()
        for (way, ended), new in zip(ENDED.items(), ("nova", "vega"), strict=True):
            page.get_by_role("button", name=way, exact=True).click()
            for name in (NAMES[0], NAMES[-1]):
                named(page, name, there=True)
            page.get_by_label(f"Choose {FOCUSED}").focus()
            page.evaluate(WATCH)
            before = place_of(page)
            assert before[0] == f"Choose {FOCUSED}"
            house.kill(*ended)
            house.spawn(name=new)
            named(page, new, there=True)
            for name in ended:
                named(page, name, there=False)
            told = page.evaluate("told()")
            assert sorted(told["removed"]) == sorted(ended), "and none of them comes back"
            assert told["added"] == [new], "no other row is taken out and put in again"
            assert told["idle"] == [], "an element that says the same as before was touched"
            assert place_of(page) == before
        assert page.locator(".groups a.name").count() == MANY - 2
        assert window.troubles == []
        house.kill("nova", "vega")
