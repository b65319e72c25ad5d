"""The proof of an ending as text, as JSON and as a page: the same facts, and no way in."""

import re
from html.parser import HTMLParser

import pytest

from complaints import FAILED, complaint
from house import House, eventually
from knell.core.receipt import Survivor, receipt_from_json
from knell.faces.text.receipt import page, text

HOSTILE = "<script>alert(1)</script> & \"'</td><img src=x onerror=alert(1)>"


class Seen(HTMLParser):
    """The elements, attributes and texts that a browser would make of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.texts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def ended(house: House) -> House:
    """Luna had a child, was called by a hostile name and killed for a hostile reason."""
    command = ("sh", "-c", "sleep 97 & touch ready; wait", HOSTILE)
    assert house.run("spawn", "--name", "luna", "--", *command).returncode == 0
    eventually((house.root / "ready").exists)
    assert house.run("kill", "--reason", HOSTILE, "luna").returncode == 0
    return house


def test_as_text(ended: House) -> None:
    done = ended.run("receipt", "luna")
    assert (done.returncode, done.stderr) == (0, "")
    head, *rest = done.stdout.splitlines()
    assert head == "luna: killed, proven gone"
    facts = {line[2:15].strip(): line[16:] for line in rest if line.startswith("  ")}
    assert facts["ended by"].startswith("operator: killed (")
    assert facts["exit"] == "signal 15"
    assert facts["processes"] == "2"
    assert facts["rungs"].startswith("term at ")


def test_colours_reach_the_terminal_and_escapes_from_outside_do_not(house: House) -> None:
    """The head of the table of processes was printed as `?[1mPID`."""
    red = "\x1b[31mred"
    assert house.run("spawn", "--name", "luna", "--", "sh", "-c", "sleep 97", red).returncode == 0
    assert house.run("kill", "--reason", red, "luna").returncode == 0
    told = house.run("receipt", "luna", env={**house.env, "FORCE_COLOR": "1"}).stdout
    assert "\x1b[1mPID" in told
    assert "?[31mred" in told
    assert "\x1b[31m" not in told


def test_as_json(ended: House) -> None:
    told = ended.json("receipt", "luna")
    assert (told["agent"], told["outcome"], told["result"]) == ("luna", "killed", "ended")
    assert (told["by"], told["detail"], told["proof"]) == ("operator", HOSTILE, "proven")
    assert {process["ended_by"] for process in told["processes"]} == {"term"}
    assert receipt_from_json(told).to_json() == told


def test_as_a_page_that_runs_nothing(ended: House) -> None:
    source = ended.run("receipt", "--html", "luna").stdout
    seen = Seen(source)
    assert not {"script", "img", "iframe", "object", "link", "a", "form"} & set(seen.tags)
    assert not [name for name in seen.names if name.startswith("on")]
    assert any(HOSTILE in text for text in seen.texts), "it is there, as text"
    assert any("proven gone" in text for text in seen.texts)
    assert any("sleep 97" in text for text in seen.texts)


def test_the_page_needs_nothing_from_anywhere(ended: House) -> None:
    source = ended.run("receipt", "--html", "luna").stdout
    assert source.startswith("<!doctype html>")
    assert not re.search(r"\b(src|href)\s*=\s*[\"']?\w|url\(|@import|https?://", source.replace(
        "&lt;img src=x", ""
    ))  # fmt: skip


def test_by_the_runs_own_id(ended: House) -> None:
    run = ended.json("receipt", "luna")["run"]
    assert ended.json("receipt", run)["run"] == run
    assert ended.json("receipt", f"id:{run}")["run"] == run


def test_the_newest_of_several(ended: House) -> None:
    first = ended.json("receipt", "luna")["run"]
    assert ended.run("resume", "luna").returncode == 0
    assert ended.json("receipt", "luna")["run"] == first, "the new run has not ended"
    assert ended.run("kill", "luna").returncode == 0
    assert ended.json("receipt", "luna")["run"] != first


def test_who_has_never_ended_has_none(house: House) -> None:
    house.spawn(name="luna")
    what, hint = complaint(house.run("receipt", "luna"), FAILED)
    assert "never ended" in what
    assert "knell show luna" in hint


def test_the_last_screen_is_shown_when_asked_for(house: House) -> None:
    house.run("spawn", "--name", "luna", "--", "sh", "-c", "echo last words; exec sleep 100")
    log = house.state / "runs" / house.json("show", "luna")["run"] / "output.log"
    eventually(log.read_text)
    house.run("kill", "luna")
    assert "last words" not in house.run("receipt", "luna").stdout
    assert "  | last words" in house.run("receipt", "--screen", "luna").stdout
    assert "<pre>last words</pre>" in house.run("receipt", "--html", "luna").stdout


def test_survivors_cannot_be_overlooked(ended: House) -> None:
    """Built from a real receipt: a process in state D is not to be had at will."""
    receipt = receipt_from_json(ended.json("receipt", "luna"))
    left = Survivor(77, HOSTILE, "D", "uninterruptible sleep")
    receipt = receipt._replace(survivors=(left,), kept=(left._replace(pid=78, why="kept: x"),))
    assert "SURVIVED      77 (state D, uninterruptible sleep)" in text(receipt)
    assert "left alone    78 (kept: x)" in text(receipt)
    seen = Seen(page(receipt))
    assert "SURVIVED" in seen.texts
    assert 'class="bad"' in page(receipt)
    assert "script" not in seen.tags
