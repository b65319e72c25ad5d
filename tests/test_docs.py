"""The pages for readers: every link leads somewhere, and the map in CONTRIBUTING.md is true."""

import re
from pathlib import Path

from e2e.cells import RIGHT, SCENES, WRONG, load
from e2e.programs import PROGRAMS
from e2e.report import PAGE, page

ROOT = Path(__file__).resolve().parent.parent
PAGES = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
QUESTIONS = 20
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")  # https:, mailto:


def links(markdown: str) -> list[str]:
    """The targets of all links, without what stands in code."""
    fenced = re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return LINK.findall(re.sub(r"`[^`\n]*`", "", fenced))


def anchors(markdown: str) -> set[str]:
    """What a heading is called in a link, as GitHub makes it."""
    heads = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links(page: Path) -> list[str]:
    """The links of a page that lead to no file, or to no heading of one."""
    dead: list[str] = []
    for link in links(page.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if ELSEWHERE.match(link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            dead.append(link)
    return dead


def test_the_page_of_e2e_is_its_record() -> None:
    record = load()
    assert page(record) == PAGE.read_text("utf-8"), "make e2e writes both"


def test_no_scene_with_a_real_program_came_out_wrong() -> None:
    """Each cell was run, and came out right or unsure; or it says why there is no such thing."""
    cells = {
        (scene, one): load()["cells"].get(scene, {}).get(one)
        for scene in SCENES
        for one in PROGRAMS
    }
    assert {key for key, cell in cells.items() if cell is None} == set(), "never run"
    assert {key: cell for key, cell in cells.items() if cell and cell[0] == WRONG} == {}
    assert {
        key for key, cell in cells.items() if cell and cell[0] != RIGHT and not cell[1]
    } == set()


def test_every_link_leads_somewhere() -> None:
    assert {page.name: dead for page in PAGES if (dead := dead_links(page))} == {}


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A head, and more\n[a](page.md) [b](gone.md) [c](#a-head-and-more) [d](page.md#none)\n"
        "[e](https://example.org/x) ![f](gone.svg) `[g](in code)`\n```\n[h](fenced.md)\n```\n"
    )
    assert dead_links(page) == ["gone.md", "page.md#none", "gone.svg"]


# -- the map ---------------------------------------------------------------------------------------


def answers(contributing: str) -> dict[str, str]:
    """Question → path, from the table below "Where do I change …?"."""
    section = contributing.partition("## Where do I change …?")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (.+?) \| `(\S+)` \|$", section, re.MULTILINE))


def test_the_map_answers_twenty_questions_with_paths_that_exist() -> None:
    found = answers((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(found) >= QUESTIONS
    assert {what: path for what, path in found.items() if not (ROOT / path).exists()} == {}


def paths_in_code(markdown: str) -> set[str]:
    """What a page calls by its path below src/knell or below the repository."""
    words = re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", markdown)
    tops = {path.name for path in (*ROOT.iterdir(), *(ROOT / "src" / "knell").iterdir())}
    return {word for word in words if word.split("/")[0] in tops}


def test_every_file_that_a_page_names_exists() -> None:
    tops = (ROOT, ROOT / "src" / "knell")
    named = {(page.name, path) for page in PAGES for path in paths_in_code(page.read_text("utf-8"))}
    assert len(named) > QUESTIONS
    assert {one for one in named if not any((top / one[1]).exists() for top in tops)} == set()


def test_a_path_that_is_gone_is_seen() -> None:
    assert paths_in_code("`core/gone.py`, `and/or`, `life/`, `tests/fast/`") == {
        *("core/gone.py", "tests/fast/"),
    }


# -- the tree of rooms -----------------------------------------------------------------------------


def drawn_rooms(contributing: str) -> set[str]:
    """The folders and files of the tree, as paths below src/knell."""
    tree = contributing.partition("```\nsrc/knell/\n")[2].partition("```")[0]
    found: set[str] = set()
    above = ""
    for indent, name in re.findall(r"^( +)(\S+)", tree, re.MULTILINE):
        above = "" if len(indent) == 2 else above
        found.add(above + name)
        above = name if len(indent) == 2 else above
    return found


def test_the_tree_shows_every_room() -> None:
    source = ROOT / "src" / "knell"
    two_levels = [*source.glob("*"), *source.glob("*/*")]
    packages = {f"{p.relative_to(source)}/" for p in two_levels if p.is_dir() and has_code(p)}
    modules = {path.name for path in source.glob("[!_]*.py")}
    drawn = drawn_rooms((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert packages | modules == drawn


def has_code(folder: Path) -> bool:
    return any(folder.glob("*.py"))


# -- how one kill flows ----------------------------------------------------------------------------


def steps(contributing: str) -> list[tuple[list[str], list[str]]]:
    """The functions and the files of each row of the table."""
    section = contributing.partition("## How one kill flows")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \d+ \| (.+?) \| (.+?) \|", section, re.MULTILINE)
    return [(re.findall(r"`([^`]+)`", one), re.findall(r"`([^`]+)`", two)) for one, two in rows]


def test_every_function_on_the_way_of_a_kill_is_where_the_table_says() -> None:
    found = steps((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(found) > 10
    for functions, files in found:
        text = "".join((ROOT / "src" / "knell" / file).read_text("utf-8") for file in files)
        for function in functions:
            name = function.rpartition(".")[2]
            assert re.search(rf"^ *(def|class) {name}\b", text, re.MULTILINE), (function, files)


def test_every_file_that_the_source_names_exists() -> None:
    """In docstrings and comments: a reader who is sent elsewhere must find something there."""
    folders = (ROOT / "src", ROOT / "tests")
    files = [p.relative_to(ROOT).as_posix() for one in folders for p in one.rglob("*.py")]
    named = re.compile(r"(?<![\w/.{<$-])(?:[a-z_]+/)+[a-z_]+\.py\b")
    gone = {
        (path.name, name)
        for path in (ROOT / "src" / "knell").rglob("*.py")
        for name in named.findall(path.read_text("utf-8"))
        if not any(f"/{one}".endswith(f"/{name}") for one in files)
    }
    assert gone == set()
