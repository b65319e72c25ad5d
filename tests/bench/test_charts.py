"""The pictures: well-formed, nothing outside, and nothing shown as better than it is."""

import itertools
import math
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from charts import NOT_MEASURED, Cell, Group, Heat, Words, bar_chart, duration, heat_map, line_chart
from svg import width_of

SVG = "{http://www.w3.org/2000/svg}"
WORDS = Words('A title <with> signs & "quotes"', "How to read it", "knell leaves 0 of 5")
WAYS = ["knell, keeper only", "a way with a long name that leans far out", "hcom kill"]
HABITS = ["plain", "a habit of many words in a row"]
LEGEND = [("nothing left", Cell("0", 0)), ("not measured", NOT_MEASURED)]


def heat(cells: dict[tuple[str, str], Cell] | None = None) -> str:
    return heat_map(WORDS, Heat(HABITS, WAYS, cells or {}, LEGEND))


def bars(value: float | None = 12.0) -> str:
    groups = [Group(way, [3.0, value], ["3 ms", "never"]) for way in WAYS]
    return bar_chart(WORDS, ["until it returns", "until all is gone"], groups)


def lines(many: int = 3) -> str:
    sizes = (1, 10, 50, 200, 1000)
    return line_chart(
        WORDS,
        "agents",
        {f"way {n}": [(size, (n + 1) * size) for size in sizes] for n in range(many)},
    )


def crowded() -> str:
    """Every line ends at the same point, and at the bottom."""
    return line_chart(WORDS, "agents", {f"way {n}": [(1, 50), (200, 10)] for n in range(12)})


PICTURES: dict[str, Callable[[], str]] = {
    "heat": heat,
    "heat of nothing": lambda: heat_map(WORDS, Heat([], [], {}, LEGEND)),
    "bars": bars,
    "bars without a value": lambda: bars(None),
    "no bars": lambda: bar_chart(WORDS, ["returns"], []),
    "lines": lines,
    "twelve lines that end together": crowded,
    "one point": lambda: line_chart(WORDS, "agents", {"knell": [(1, 100)]}),
    "no lines": lambda: line_chart(WORDS, "agents", {"knell": []}),
}


def texts(root: ElementTree.Element) -> list[ElementTree.Element]:
    return list(root.iter(f"{SVG}text"))


def corners(text: ElementTree.Element) -> list[tuple[float, float]]:
    """Where its words begin and end, by the font's size and its turn."""
    x, y = float(text.get("x", 0)), float(text.get("y", 0))
    wide = width_of(text.text or "", float(text.get("font-size", 0)))
    begin = {"start": 0.0, "middle": -wide / 2, "end": -wide}[text.get("text-anchor", "start")]
    turned = re.search(r"rotate\((-?[\d.]+)", text.get("transform", ""))
    angle = math.radians(float(turned[1])) if turned else 0.0
    return [
        (x + along * math.cos(angle), y + along * math.sin(angle))
        for along in (begin, begin + wide)
    ]


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off(name: str) -> None:
    """Every word of a picture lies within it, whichever names it is given."""
    root = ElementTree.fromstring(PICTURES[name]())
    width, height = map(float, root.get("viewBox", "").split()[2:])
    for text in texts(root):
        for x, y in corners(text):
            assert 0 <= x <= width, text.text
            assert 0 <= y <= height, text.text


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_heard_and_runs_nothing(name: str) -> None:
    """A picture has a title and says in words what it shows; it has no script and no link."""
    root = ElementTree.fromstring(PICTURES[name]())
    assert [root.findtext(f"{SVG}{tag}") for tag in ("title", "desc")] == [WORDS.title, WORDS.told]
    assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {
        "svg", "title", "desc", "rect", "text", "polyline", "polygon",
    }  # fmt: skip
    paper = root.find(f"{SVG}rect")
    assert paper is not None
    assert paper.get("fill") == "#ffffff"  # readable on a dark page too


def test_labels_at_the_end_of_lines_do_not_cover_each_other() -> None:
    """The names of lines that end at the same point stand below each other."""
    root = ElementTree.fromstring(crowded())
    heights = sorted(
        float(text.get("y", 0)) for text in texts(root) if (text.text or "").startswith("way ")
    )
    assert len(heights) == 12
    assert all(below - above >= 12 for above, below in itertools.pairwise(heights))


def fill_behind(picture: str, words: str) -> str:
    """The colour of the box that was drawn just before those words."""
    shapes = list(ElementTree.fromstring(picture))
    at = next(number for number, shape in enumerate(shapes) if shape.text == words)
    return shapes[at - 1].get("fill", "")


def test_the_least_survivor_is_not_the_colour_of_none() -> None:
    """A cell with one survivor in a hundred trials looks neither clean nor unmeasured."""
    plain = HABITS[0]
    picture = heat({(plain, WAYS[0]): Cell("none", 0), (plain, WAYS[1]): Cell("1/100", 0.01)})
    shades = [fill_behind(picture, words) for words in ("none", "1/100", NOT_MEASURED.text)]
    assert len(set(shades)) == 3


def test_what_was_not_measured_has_no_number() -> None:
    """A cell without figures shows a dot, never a zero."""
    root = ElementTree.fromstring(heat({}))
    shown = [text.text for text in texts(root)]
    assert shown.count("0") == 1  # in the legend
    assert shown.count(NOT_MEASURED.text) == len(HABITS) * len(WAYS) + 1


def test_a_bar_without_a_value_is_not_a_short_one() -> None:
    """What never came has no bar and says so."""
    root = ElementTree.fromstring(bars(None))
    assert [text.text for text in texts(root)].count("never") == len(WAYS)
    drawn = [float(box.get("width", 0)) for box in root.iter(f"{SVG}rect")][3:]
    assert [wide == 0 for wide in drawn] == [False, True] * len(WAYS)


@pytest.mark.parametrize(
    ("ms", "said"),
    [(0, "0 ms"), (3.94, "3.9 ms"), (4, "4 ms"), (139.6, "140 ms"), (999.4, "999 ms"),
     (999.9, "1 s"), (1640, "1.6 s"), (10_000, "10 s")],
)  # fmt: skip
def test_times_are_said_as_people_say_them(ms: float, said: str) -> None:
    """Milliseconds below a second, seconds above it."""
    assert duration(ms) == said
