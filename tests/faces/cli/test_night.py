"""knell night: what happened while nobody looked, as text, data and a page."""

from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser

import pytest

from house import House
from knell.core.errors import BadRequest
from knell.faces.cli.verbs.look import begun
from repo import Repo

NOW = datetime(2026, 11, 16, 7, 30, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("since", "meant"),
    [
        ("22:00", "2026-11-15T20:00:00.000+00:00"),
        ("7:00", "2026-11-16T05:00:00.000+00:00"),
        ("8h", "2026-11-15T21:30:00.000+00:00"),
        ("2026-11-15T22:00", "2026-11-15T20:00:00.000+00:00"),
        ("2026-11-15T22:00:00+00:00", "2026-11-15T22:00:00.000+00:00"),
    ],
)
def test_times_as_people_say_them(since: str, meant: str) -> None:
    assert begun(since, NOW) == meant


@pytest.mark.parametrize("since", ["", "25:00", "tonight", "0001-01-01T00:00", "1000000d"])
def test_what_is_no_time_is_refused(since: str) -> None:
    with pytest.raises(BadRequest):
        begun(since, NOW)


def test_a_calm_night(house: House) -> None:
    done = house.run("night", "--since", "1h")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["nothing happened"])


def test_a_night_with_stalls_kills_restarts_and_rescued_work(house: House) -> None:
    """What was saved is named with the command that brings it back."""
    repo = Repo(house)
    tree = repo.worktree("feature")
    (tree / "new.txt").write_text("unsaved")
    house.knell.spawn(command=("sleep", "100"), name="luna", place="headless", cwd=str(tree))
    store = house.knell.world.store
    told = {"activity": "stalled", "why": "no heartbeat for 134 s"}
    store.events.record("watch.verdict", "nova", "", told)
    store.events.record("restart.started", "nova", "", {"why": "stalled: restart 1 of 3"})
    house.kill("luna", cleanup="force")
    text = house.run("night", "--since", "1h").stdout
    for part in (
        "stalls: 1",
        "no heartbeat for 134 s",
        "restarts: 1",
        "endings: 1",
        "ended by knell",
    ):
        assert part in text
    found = house.json("night", "--since", "1h")
    [rescued] = found["rescued"]
    assert "-back refs/knell/rescue" in rescued["what"]
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert house.json("night", "--since", later)["endings"] == []


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag, *(name for name, _ in attrs if name.startswith(("on", "src", "href")))]


def test_the_page_runs_nothing_and_needs_nothing(house: House) -> None:
    bad = {"activity": "stalled", "why": "<script>alert(1)</script>\x1b[31m"}
    house.knell.world.store.events.record("watch.verdict", "nova", "", bad)
    page = house.run("night", "--since", "1h", "--html").stdout
    tags = Tags()
    tags.feed(page)
    assert not {"script", "img", "link", "src", "href"} & set(tags.found)
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
