"""The tables of the page. What was not measured says so; it is never a zero or an empty cell."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from charts import duration
from summary import Results, Verdict, all_habits, by_way, case_names

NONE = "not measured"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def wrapped(text: str) -> str:
    """Its paragraphs and headings, no line longer than those that were typed."""
    paragraphs = (
        textwrap.fill(part, 100, break_long_words=False, break_on_hyphens=False)
        for part in text.strip().split("\n\n")
    )
    return "\n\n".join(paragraphs) + "\n"


def agents(number: int | str) -> str:
    return "1 agent" if int(number) == 1 else f"{int(number):,} agents"


def plainly(habit: str) -> str:
    return habit.replace("_", " ")


def share(some: int | None, of: int | None) -> str:
    """`3 of 90`, in bold unless it is nothing."""
    if some is None or of is None:
        return NONE
    return f"**{some} of {of}**" if some else f"0 of {of}"


def spread_text(found: Any) -> str:
    """The median with its extremes, from milliseconds."""
    if not found or found.get("median") is None:
        return NONE
    low, high = duration(found["min"]), duration(found["max"])
    around = f" ({low} to {high})" if found.get("n", 1) > 1 else ""
    return f"{duration(found['median'])}{around}"


# -- who is left, who is hit -----------------------------------------------------------------------


def survivors_table(results: Results, verdicts: Sequence[Verdict]) -> str:
    """Habits by ways, as the heat map has them."""
    ways = [one.way for one in verdicts if one.trials]
    found = by_way(results, "survivors")
    rows = [
        [plainly(habit), *(survivors_cell(found[way]["habits"].get(habit)) for way in ways)]
        for habit in all_habits(results)
    ]
    return table(["habit", *ways], rows)


def survivors_cell(found: dict[str, Any] | None) -> str:
    """Trials that left something, and how often it was called a success all the same."""
    leaky, trials = (found or {}).get("trials_with_survivors"), (found or {}).get("trials")
    if not found or not trials or leaky is None:
        return "did not start" if (found or {}).get("not_started") else NONE
    if not leaky:
        return "0"
    lies = found.get("false_success") or 0
    return f"**{leaky}/{trials}**" + (f", {lies} said done" if lies else "")


def innocents_table(results: Results) -> str:
    names = case_names(results)
    rows = []
    for way, cases in by_way(results, "innocents").items():
        cells = [innocents_cell(cases.get(name)) for name in names]
        rows.append([way, *cells])
    return table(["way", *map(plainly, names)], rows)


def innocents_cell(case: dict[str, Any] | None) -> str:
    """A case is left out where it cannot arise; without trials it says why there are none."""
    if case is None:
        return "does not apply"
    if not case.get("trials"):
        return f"{NONE}: {case['said']}" if case.get("said") else NONE
    return share(case.get("hit"), case["trials"])


def habits_list(results: Results) -> str:
    """What each habit is, in words."""
    told = (results.get("survivors") or {}).get("told") or {}
    return "\n".join(f"* *{plainly(habit)}*: {words}" for habit, words in told.items())
