"""The page of the benchmarks: it may leave out, but never flatter."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from budgets import BUDGETS, judged
from page import page, write_page
from summary import verdicts

from bench.made_up import GONE, ended, habit, results

SEED = "kill PID, as the seed does"
KEEPER = "knell, keeper only"


def section(text: str, heading: str) -> str:
    """From that heading to the next one of its rank."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def row(text: str, first: str) -> list[str]:
    """The cells of the one row that begins with those words."""
    [line] = [line for line in text.splitlines() if line.startswith(f"| {first}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def leaves(found: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every way down into nested dictionaries; a spread is there as a whole or not at all."""
    if not isinstance(found, dict) or "median" in found:
        return []
    below = [leaves(value, (*path, key)) for key, value in found.items()]
    return [(*path, key) for key in found] + [one for many in below for one in many]


def without(path: tuple[str, ...]) -> dict[str, Any]:
    given = results()
    place = given
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return given


PARTS = [path for path in leaves(results()) if len(path) == 1]
PLACES = [
    path
    for path in leaves(results())
    if path[:1] in {("survivors",), ("innocents",), ("times",), ("many",)} and len(path) <= 4
]


# -- what the page says ----------------------------------------------------------------------------


def test_the_first_screen_has_the_figures() -> None:
    """Who reads only the first table learns survivors, lies, innocents and times of every way."""
    short = section(page(results()), "In short")
    assert row(short, KEEPER) == [KEEPER, "0 of 15", "0", "0", "0 of 14", "121 ms", "117 ms"]
    assert row(short, SEED)[1:] == ["**6 of 10**", "12", "**5**", "**6 of 7**", "11 ms", "14 ms"]
    assert row(short, "hcom kill")[0] == "hcom kill (0.7.31)"


def test_every_part_is_on_the_page() -> None:
    """Machine, noise, cost, growth, MCP, watch and real agents are printed with their figures."""
    text = page(results())
    for figure in (
        "Linux 6.18, 2 cores", "load before the parts 0.41 to 2.25",
        "median 15.5 ms, 7.75 to 31 ms", "8.6 MB", "234.5 MB", "830.5 MB", "0.77 %", "325236",
        "2.1.197", "the server's child",
        "term → kill",
    ):  # fmt: skip
        assert figure in text, figure
    assert "one child" in section(text, "Survivors")


def test_a_way_with_survivors_is_not_shown_as_clean() -> None:
    """One trial of many that left something is bold in both tables, and never a bare zero."""
    given = results()
    given["survivors"]["ways"][KEEPER]["habits"]["root_dead"] = habit(100, left=1)
    text = page(given)
    assert row(section(text, "In short"), KEEPER)[1] == "**1 of 110**"
    matrix = section(text, "Survivors")
    assert row(matrix, "root dead")[row(matrix, "habit").index(KEEPER)] == "**1/100**"
    [survivors] = [found for budget, found in judged(given) if budget.what.startswith("survivors")]
    assert survivors == ("2 in 110 trials", False)


def test_what_could_not_be_measured_says_why() -> None:
    """A way that is not here has its reason on the page, and no row of zeros."""
    text = page(results())
    assert f"* hcom stop: not measured, {GONE}" in text
    assert "| hcom stop" not in text
    assert row(section(text, "In short"), "knell, adopted")[4:] == ["not measured"] * 3


def test_trials_that_did_not_start_count_for_nobody() -> None:
    """They are neither a success nor a failure of the way, and the page says how many."""
    text = page(results())
    matrix = section(text, "Survivors")
    assert row(matrix, "hopper tight")[row(matrix, "habit").index(SEED)] == "did not start"
    assert f"{SEED}: 5 trials did not start" in text


def test_an_innocent_case_without_trials_is_not_an_innocent_spared() -> None:
    """No trials is "not measured", not "0 of 0"."""
    table = section(page(results()), "Innocents")
    assert row(table, "hcom kill") == ["hcom kill", "0 of 7", "not measured: no tmux"]
    assert row(table, SEED)[2] == "does not apply"


def test_a_death_that_never_came_is_not_a_time() -> None:
    """Where something lived on in some trials the page says in how many; in all, "never"."""
    text = page(results())
    assert row(section(text, "In short"), "hcom kill")[-1] == "448 ms, **never in 2 of 6**"
    deaf = section(text, "Time").split("### One agent: ignores TERM")[1]
    assert row(deaf, SEED)[3:] == ["**never**", "", "**6 of 6**"]
    many = text.split("### Many at once: deaf")[1]
    assert row(many, "tmux kill-session")[1] == "100 ms / **never**"


def test_ours_come_first_and_the_cleanest_of_the_others_next() -> None:
    """The order of the rows is by what is left alive, whatever the order of the figures."""
    found = [one.way for one in verdicts(results())]
    assert found == [KEEPER, "knell, adopted", "hcom kill", SEED, "hcom stop"]


def test_real_agents_that_could_not_be_had_are_no_empty_table() -> None:
    """Without npm the page says so."""
    given = results() | {"real": {"version": "2.1", "unavailable": "npm not on PATH", "rows": []}}
    assert section(page(given), "Real agents").strip() == "Not measured: npm not on PATH."


# -- whatever is missing ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", PARTS, ids="/".join)
def test_any_part_may_be_missing(path: tuple[str, ...]) -> None:
    """A run of some of the parts gives a page with those, and no zero for the others."""
    text = page(without(path))
    assert "None" not in text
    assert "nan" not in text.split()


@pytest.mark.parametrize("part", [path[0] for path in PARTS])
def test_a_part_may_be_alone(part: str) -> None:
    """A first run of one part gives a page too."""
    assert "# Benchmarks" in page({part: results()[part]})


@pytest.mark.parametrize("path", PLACES, ids="/".join)
def test_any_figure_of_the_comparison_may_be_missing(path: tuple[str, ...], tmp_path: Path) -> None:
    """A habit, a case, a count or a time that is not there never becomes a zero."""
    before, after = page(results()), page(without(path))
    assert after.count("| 0 ") <= before.count("| 0 ")
    assert after.count("| 0 of ") <= before.count("| 0 of ")
    assert "None" not in after
    write_page(without(path), tmp_path)


def test_nothing_at_all() -> None:
    """Without any figures there is a head, and every budget is "not measured"."""
    table = section(page({}), "Budgets")
    assert table.count("not measured") == len(BUDGETS)
    assert "met" not in re.findall(r"\w+", table)


# -- budgets ---------------------------------------------------------------------------------------


def verdict_of(given: dict[str, Any], what: str) -> bool:
    [found] = [found for budget, found in judged(given) if budget.what == what]
    assert found
    return found[1]


def test_budgets_are_computed_from_the_figures() -> None:
    """A budget is met or missed by the numbers of this run, and the head says which is missed."""
    given = results()
    assert verdict_of(given, "`list`, 1 agent")
    assert not verdict_of(given, "`list`, 1000 agents")
    assert "missed: `list`, 1000 agents" in page(given)
    assert verdict_of(given, "`kill all`, up to 100")
    given["many"]["ways"]["knell kill all"]["obedient"]["50"] = ended(900, 900)
    assert not verdict_of(given, "`kill all`, up to 100")
    assert not verdict_of(given, "`kill all`, 50 obedient")


def test_a_survivor_among_many_misses_the_budget_of_time() -> None:
    """Fifty ended in no time but for one that lives on is not within any budget."""
    given = results()
    given["many"]["ways"]["knell kill all"]["obedient"]["50"] = ended(90, 90, never=1)
    assert not verdict_of(given, "`kill all`, 50 obedient")


def test_an_adopted_run_is_not_under_the_promise() -> None:
    """What knell did not start is measured, but the budget of no survivors is the keeper's."""
    given = results()
    given["survivors"]["ways"]["knell, adopted"]["habits"]["plain"] = habit(left=2)
    assert verdict_of(given, "survivors, every habit, under a keeper")


# -- pictures --------------------------------------------------------------------------------------


def test_the_page_links_every_picture_that_is_written(tmp_path: Path) -> None:
    """Each picture stands on the page with words that carry its message, and old ones are gone."""
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "old.svg").touch()
    write_page(results(), tmp_path)
    text = (tmp_path / "benchmarks.md").read_text()
    linked = {file: told for told, file in re.findall(r"!\[(.+?)\]\((.+?)\)", text)}
    assert sorted(linked) == sorted(f"charts/{one.name}" for one in tmp_path.glob("charts/*"))
    assert len(linked) == 5
    for name, told in linked.items():
        assert ElementTree.fromstring((tmp_path / name).read_text())[1].text == told
    assert "kill PID, as the seed does 6 of 10" in linked["charts/survivors.svg"]


def test_a_picture_does_not_flatter(tmp_path: Path) -> None:
    """What is not measured is a dot in the map, and what never died has no time in the bars."""
    write_page(results(), tmp_path)
    drawn = (tmp_path / "charts" / "survivors.svg").read_text()
    assert drawn.count(">·<") == 1 + 1 + 3  # legend, what did not start, the way that is not here
    bars = (tmp_path / "charts" / "times-ignores-term.svg").read_text()
    assert bars.count(">never<") == 1
    assert "tmux kill-session" not in (tmp_path / "charts" / "many-deaf.svg").read_text()
