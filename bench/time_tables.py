"""The tables of times. A death that did not come in every trial is never told as a time alone."""

from collections.abc import Sequence
from typing import Any

from charts import duration
from summary import Results, Timing, Verdict, crowds, one_ending
from tables import NONE, agents, spread_text, table


def returned_text(found: Timing) -> str:
    return duration(found.returned["median"]) if found.returned else NONE


def died_text(found: Timing) -> str:
    """The median, and in how many trials nobody can say it, because somebody lived on."""
    if not found.trials:
        return NONE
    if found.never >= found.trials or not found.died:
        return "**never**"
    also = f", **never in {found.never} of {found.trials}**" if found.never else ""
    return duration(found.died["median"]) + also


def endings_table(results: Results, case: str, verdicts: Sequence[Verdict]) -> str:
    """One sort of agent, by every way that was timed with it."""
    rows = []
    for one in verdicts:
        found = one_ending(results, one.way, case)
        if not found.trials:
            continue
        never = f"**{found.never} of {found.trials}**" if found.never else f"0 of {found.trials}"
        returned, died = spread_text(found.returned), spread_text(found.died)
        if not found.died:
            died = "**never**"
        row = [one.way, returned, floors(found.returned), died, floors(found.died), never]
        rows.append(row)
    head = ["way", "the command returns", "x floor", "everything is gone", "x floor", "never"]
    return table(head, rows)


def floors(found: Any) -> str:
    return f"{found['floors']:.1f}" if found and found.get("floors") is not None else ""


def crowds_table(results: Results, habit: str) -> str:
    """Ways by numbers of agents: until the command returned, and until all were gone."""
    found = crowds(results, habit)
    sizes = sorted({size for line in found.values() for size in line})
    rows = [[way, *(crowd_cell(line.get(size)) for size in sizes)] for way, line in found.items()]
    return table(["way", *map(agents, sizes)], rows)


def crowd_cell(found: Timing | None) -> str:
    if not found or not found.trials:
        return NONE
    return f"{returned_text(found)} / {died_text(found)}"


def commands_table(found: dict[str, Any]) -> str:
    """Whole commands, by name; the ratio is to the floor of the same run."""
    known = {name: one for name, one in found.items() if one.get("median") is not None}
    rows = [[name, spread_text(one), floors(one)] for name, one in known.items()]
    return table(["command", "takes", "x floor"], rows)
