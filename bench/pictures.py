"""Which pictures a run gives: file name → SVG, each with the sentence that it shows."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from charts import NOT_MEASURED, Cell, Group, Heat, Words, bar_chart, duration, heat_map, line_chart
from summary import (
    Results,
    Timing,
    Verdict,
    all_habits,
    by_way,
    cases,
    crowds,
    habits_of,
    one_ending,
)
from tables import plainly

LONG = 24  # letters of a name beyond which only what stands before its comma is drawn


class Picture(NamedTuple):
    file: str
    svg: str
    told: str  # the message, for the page and for whoever cannot see it


def labels(ways: Sequence[str]) -> dict[str, str]:
    """Short names for the pictures, still different from each other."""
    short = {way: way if len(way) <= LONG else way.split(",")[0] for way in ways}
    return {
        way: name if list(short.values()).count(name) == 1 else way for way, name in short.items()
    }


def survivors_picture(results: Results, verdicts: Sequence[Verdict]) -> Picture | None:
    if not any(one.trials for one in verdicts):
        return None
    found = by_way(results, "survivors")
    names = labels([one.way for one in verdicts if one.way in found])
    cells = {
        (plainly(habit), name): heat_cell(one)
        for way, name in names.items()
        for habit, one in habits_of(found[way]).items()
    }
    legend = [
        ("nothing left", Cell("0", 0)),
        ("something left in 2 of 5 trials", Cell("2/5", 0.4)),
        ("in all; ! it said at least once that it was done", Cell("5/5 !", 1)),
        ("not measured", NOT_MEASURED),
    ]
    words = Words(
        "What each way of ending an agent leaves behind",
        "Trials in which a process of the agent still lived, for each of its bad habits.",
        survivors_told(verdicts),
    )
    heat = Heat(list(map(plainly, all_habits(results))), list(names.values()), cells, legend)
    return Picture("survivors.svg", heat_map(words, heat), words.told)


def heat_cell(found: dict[str, int]) -> Cell:
    leaky = found.get("trials_with_survivors")
    if leaky is None:
        return NOT_MEASURED
    if not leaky:
        return Cell("0", 0)
    lied = " !" if found.get("false_success") else ""
    return Cell(f"{leaky}/{found['trials']}{lied}", leaky / found["trials"])


def survivors_told(verdicts: Sequence[Verdict]) -> str:
    """Who left something in how many trials, in one sentence."""
    told = [f"{one.way} {one.leaky} of {one.trials}" for one in verdicts if one.trials]
    return f"Trials in which something was left alive: {'; '.join(told)}."


# -- time ------------------------------------------------------------------------------------------


def times_picture(results: Results, verdicts: Sequence[Verdict], case: str) -> Picture | None:
    timed = {one.way: one_ending(results, one.way, case) for one in verdicts}
    timed = {way: found for way, found in timed.items() if found.trials}
    if not timed:
        return None
    names = labels(list(timed))
    groups = [
        Group(
            names[way],
            [found.returned["median"], found.died["median"] if found.died else None],
            [duration(found.returned["median"]), died_words(found)],
        )
        for way, found in timed.items()
    ]
    told = "; ".join(
        f"{way} returns after {duration(found.returned['median'])}, all gone: {died_words(found)}"
        for way, found in timed.items()
    )
    words = Words(
        f"Time to end one agent: {case}",
        "Median from the start of the command, its own start included. Shorter is faster.",
        f"{told}.",
    )
    legend = ["until the command returns", "until every process is gone"]
    return Picture(f"times-{slug(case)}.svg", bar_chart(words, legend, groups), words.told)


def died_words(found: Timing) -> str:
    if not found.died:
        return "never"
    also = f", never in {found.never} of {found.trials}" if found.never else ""
    return f"{duration(found.died['median'])}{also}"


def slug(words: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", words.lower()))


def many_picture(results: Results, habit: str) -> Picture | None:
    """A trial in which somebody lived on has no time, so its point is missing."""
    lines = {
        way: [(size, ms) for size, found in line.items() if (ms := found.median()) is not None]
        for way, line in crowds(results, habit).items()
    }
    lines = {way: line for way, line in lines.items() if line}
    if not lines:
        return None
    names = labels(list(lines))
    last = {way: max(line) for way, line in lines.items()}
    told = "; ".join(f"{way} {size:g} in {duration(ms)}" for way, (size, ms) in last.items())
    words = Words(
        f"One command for many agents: {habit}",
        "Median from its start to the last death. Both axes are logarithmic.",
        f"The most that each ended at once: {told}.",
    )
    drawn = {names[way]: line for way, line in lines.items()}
    return Picture(f"many-{slug(habit)}.svg", line_chart(words, "agents", drawn), words.told)


def pictures(results: Results, verdicts: Sequence[Verdict]) -> dict[str, Picture]:
    """By the part and its sort: `survivors`, `times obedient`, `many deaf`."""
    habits = dict.fromkeys(habit for one in by_way(results, "many").values() for habit in one)
    found = {
        "survivors": survivors_picture(results, verdicts),
        **{f"times {case}": times_picture(results, verdicts, case) for case in cases(results)},
        **{f"many {habit}": many_picture(results, habit) for habit in habits},
    }
    return {name: picture for name, picture in found.items() if picture}
