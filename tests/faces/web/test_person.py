"""`knell web` as people use it, in a real browser: the two evenings for which it was made."""

import shlex

from faces.web.browsing import PHONE, Window, answer, browser, card, waits
from faces.web.serving import served
from house import House, alive
from repo import Repo
from scenes import number, started
from watchers import watching

BEATS_ONCE = (
    "open(os.environ['KNELL_HEARTBEAT'], 'w').close()\nprint('Reading the plan')\ntell()\nsleep()"
)


def stall_soon(house: House) -> None:
    """Two seconds without a heartbeat are a stall."""
    config = house.root / "config.toml"
    config.write_text("[stall]\nafter = 2\n")
    house.env["KNELL_CONFIG"] = str(config)


def test_on_a_phone_the_stalled_agent_is_found_understood_ended_and_brought_back(
    house: House,
) -> None:
    """Only by what the page shows, in the order in which it shows it."""
    stall_soon(house)
    luna = house.spawn(name="luna")
    nova = started(house, BEATS_ONCE, name="nova", tag="night")
    with served(house) as server, browser(house) as chromium:
        window = Window(chromium, server, **PHONE)
        page = window.enter()
        first = page.locator("article.card").first
        first.get_by_text("stalled", exact=True).wait_for()
        assert first.get_by_role("link").first.text_content() == "nova"
        first.get_by_text("no heartbeat for").wait_for()
        first.get_by_role("link", name="nova").tap()
        page.get_by_role("heading", name="nova").wait_for()
        page.get_by_role("region", name="Evidence").get_by_text("heartbeat: unchanged").wait_for()
        page.get_by_role("button", name="Kill").tap()
        page.get_by_role("dialog").get_by_text("Kill “nova”?").wait_for()
        page.get_by_role("dialog").get_by_text("processes").wait_for()
        answer(page, "Kill")
        page.get_by_text("proven gone").first.wait_for()
        assert not alive(nova.pid)
        page.get_by_role("button", name="Resume").tap()
        page.get_by_role("dialog").get_by_text("Resume “nova”?").wait_for()
        answer(page, "Resume")
        waits(page, lambda: {view.name for view in house.knell.list()} == {"luna", "nova"})
        page.get_by_role("link", name="← All agents").tap()
        card(page, "nova").get_by_role("button", name="Kill").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert window.troubles == []
    assert alive(number(luna.run.process))
    house.kill("all")


def test_in_the_morning_a_person_reads_what_happened_at_night(house: House) -> None:
    """A stall that the watch saw and restarted, a kill that saved work and handed a task back."""
    stall_soon(house)
    repo = Repo(house)
    tree = repo.worktree("fix-login")
    (tree / "new.txt").write_text("unsaved")
    red = house.knell.team("red")
    red.create()
    task = red.add_task("Mend the roof").id
    house.knell.spawn(
        command=("sleep", "600"), name="luna", place="headless", cwd=str(tree), team="red"
    )
    house.knell.task(task).claim("luna")
    started(house, BEATS_ONCE, name="nova", restart=1)
    with watching(house, "--stalled", "kill", "--interval", "1") as watch:
        watch.line("restart.started", "nova")
    house.kill("luna", cleanup="force", reason="the sprint is over")
    with served(house) as server, browser(house) as chromium:
        window = Window(chromium, server)
        page = window.enter()
        page.get_by_role("link", name="While you slept").click()
        for name, told in (
            ("Stalls", "no heartbeat for"),
            ("Restarts", "nova"),
            ("Endings", "the sprint is over"),
            ("Tasks handed back", task),
            ("Work saved", "-back refs/knell/rescue"),
        ):
            page.get_by_role("region", name=name).get_by_text(told).first.wait_for()
        page.get_by_role("link", name="Worktrees").click()
        saved = page.get_by_role("region", name="After agents ended")
        saved.get_by_text("Its work was saved").wait_for()
        for button in saved.locator("button.copy").all():
            button.click()
            saved.get_by_role("button", name="Copied").wait_for()
            git, *words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
            assert git == "git"
            repo.git(*words)
            saved.get_by_role("button", name="Copied").wait_for(state="hidden")
        assert (house.root / "luna-back" / "new.txt").read_text() == "unsaved"
        page.get_by_role("link", name="Tasks").click()
        board = page.get_by_role("region", name="Waiting")
        board.get_by_text("Mend the roof").wait_for()
        board.get_by_text("History").click()
        board.get_by_text("by luna").first.wait_for()
        assert window.troubles == []
    house.kill("all")
