"""The site: it builds without a warning, every link in it leads somewhere, it loads nothing from
elsewhere, and its pages for users speak plain English."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import DOCS, ROOT, for_users

PICTURES = ("keeper", "stamp", "proof", "ladder", "receipt", "stall")
# Sphinx keeps millions of small objects: to look through them for rubbish as often as Python does
# by itself is a good part of the work.
SPHINX = (
    "import gc, sys; gc.set_threshold(200_000, 50, 50);"
    " from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"
)
CONTRACT_ID = re.compile(r"(?<![\w/.-])[HOMTCGPKR]\d{1,2}(?![\w.-])")


class Page(HTMLParser):
    """The links of a page, what it loads, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        loaded = given.get("src") or (given.get("href") if tag == "link" else "")
        if loaded:
            self.loads.append(loaded)


def build(out: Path) -> dict[Path, Page]:
    """Every page of the site."""
    done = subprocess.run(
        [
            *(sys.executable, "-c", SPHINX, "-W", "--keep-going", "-q"),
            *("-d", str(out / "trees"), "-b", "html", str(DOCS), str(out / "html")),
        ],
        capture_output=True, text=True, check=False, timeout=550,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    return {path: Page(path.read_text("utf-8")) for path in (out / "html").rglob("*.html")}


def dead(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    """The links of a page that lead to no file, or to no place in it."""
    found: list[str] = []
    for link in (*page.links, *page.loads):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        known = pages.get(target)
        if not target.exists() or (known and parts.fragment and parts.fragment not in known.ids):
            found.append(link)
    return found


def test_the_site_is_whole(tmp_path: Path) -> None:
    """In one test, because the site takes seconds to build: no warning, no dead link, nothing that
    is loaded from elsewhere, and a picture for light and for dark at each concept."""
    site = build(tmp_path)
    assert len(site) > len(for_users())
    assert {one.name: found for one, page in site.items() if (found := dead(one, page, site))} == {}
    assert {one for page in site.values() for one in page.loads if urlsplit(one).netloc} == set()
    for path, page in site.items():
        if path.parent.name == "concepts" and path.stem in PICTURES:
            shown = {Path(one).name for one in page.loads}
            assert {f"{path.stem}-light.svg", f"{path.stem}-dark.svg"} <= shown


def test_a_dead_link_of_the_site_is_seen(tmp_path: Path) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    one.write_text('<a href="two.html#here">a</a> <a href="two.html#gone">b</a> <img src="no.svg">')
    two.write_text('<p id="here"><a href="https://example.org">c</a> <a href="#here">d</a></p>')
    pages = {path: Page(path.read_text()) for path in (one, two)}
    assert dead(one, pages[one], pages) == ["two.html#gone", "no.svg"]
    assert dead(two, pages[two], pages) == []


def test_no_page_for_users_names_an_item_of_the_contracts() -> None:
    found = {
        page.relative_to(ROOT).as_posix(): ids
        for page in for_users()
        if (ids := CONTRACT_ID.findall(page.read_text("utf-8")))
    }
    assert found == {}


def test_an_item_of_the_contracts_is_seen() -> None:
    assert CONTRACT_ID.findall("as H12 says, and P3; not in UTF-8, H2O, M1-x or knell.P3") == [
        "H12",
        "P3",
    ]


def test_every_picture_and_chart_of_a_page_has_words_beside_it() -> None:
    bare = [
        page.name
        for page in for_users()
        if re.search(r'<img(?![^>]*alt="[^"]{10,}")|!\[\]\(', page.read_text("utf-8"))
    ]
    assert bare == []
