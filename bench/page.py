"""The page that `make bench` writes, docs/benchmarks.md, and the pictures beside it.

The first screen answers: what is left alive, how long it takes, what it costs. Then every table. A
part that was not measured is left out, and a way that could not be measured says why.
"""

from collections.abc import Sequence
from pathlib import Path

from budgets import budgets_table, budgets_told
from cost_tables import cost_part, cost_told, growth_part
from face_tables import faces_part
from fleet_tables import fleet_part
from pictures import Picture, pictures
from real_tables import real_part
from scale_page import scale_page
from summary import (
    Results,
    Verdict,
    by_way,
    cases,
    excuses,
    floor_of,
    one_ending,
    verdict,
    verdicts,
)
from tables import (
    NONE,
    agents,
    habits_list,
    innocents_table,
    share,
    survivors_table,
    table,
    wrapped,
)
from time_tables import commands_table, crowds_table, died_text, endings_table, returned_text
from watch_tables import watch_part

CHARTS = "charts"  # folder of the pictures, beside the page

HEAD = """\
<!-- written by `make bench`; the raw figures are in bench/results.json -->

# Benchmarks

`make bench` ends the same agents by every way that you might use instead of knell, side by side, in
shuffled order; each way is installed into a temporary place. knell is an installed wheel, started
by its own interpreter. `make bench ARGS='--only survivors'` measures one part again, so parts may
come from different runs.
"""

NOISE = """\
The floor is `python -c pass`: median {median:g} ms, {min:g} to {max:g} ms over {n} starts. That
spread is the machine's noise: read no difference smaller than it.
"""

SHORT = """
## In short

*Left something*: trials after which a process of the agent was alive, over all habits. *Said done*:
those among them in which the command reported that the agent was ended. *Innocents hit*: trials in
which something else was ended (a process that got the PID, a tmux session with a longer name).
*Adopted*: started by hand, and adopted before its habit showed. Times are for one obedient agent.
"""

SURVIVORS = """
## Survivors

Trials that left something alive, for each habit of an agent{moments}. "Said done": the command
reported success all the same.
"""

INNOCENTS = """
## Innocents

Trials in which somebody was hit who was not meant.
"""

TIME = """
## Time

Medians from the start of the command, with the fastest and the slowest, and as a multiple of the
floor in the same shuffled run. *Never*: trials in which something still lived {ceiling}.
"""

MANY = """
### Many at once: {habit}

Until the command returned / until all were gone. Ways without a command for all are not here.
"""

BUDGETS = """
## Budgets

What knell set out to keep to. Every one is computed from the figures above.
"""


def write_page(results: Results, docs: Path) -> None:
    """The page and its pictures; pictures of an earlier run that this one does not have go."""
    folder = docs / CHARTS
    folder.mkdir(exist_ok=True)
    drawn = {one.file: one.svg for one in pictures(results, verdicts(results)).values()}
    for old in folder.glob("*.svg"):
        if old.name.replace("-dark", "") not in drawn:  # `make docs` darkens some of them
            old.unlink()
    for name, text in drawn.items():
        (folder / name).write_text(text, "utf-8")
    (docs / "benchmarks.md").write_text(page(results), "utf-8")
    if scale := (results.get("fleet") or {}).get("scale"):
        (docs / "scale.md").write_text(scale_page(scale), "utf-8")


def page(results: Results) -> str:
    found = verdicts(results)
    drawn = pictures(results, found)
    parts = [
        head_part(results),
        short_part(results, found),
        *(image(drawn.get(name)) for name in ("survivors", "times obedient", "many obedient")),
        survivors_part(results, found),
        innocents_part(results),
        time_part(results, found, drawn),
        many_part(results, drawn),
        cost_part(results),
        growth_part(results),
        *(watch_part(results["watch"]) if results.get("watch") else ()),
        faces_part(results),
        fleet_part(results),
        real_part(results),
        BUDGETS,
        budgets_table(results),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def image(picture: Picture | None) -> str:
    """Its alternative text is what it shows, not that it is a chart."""
    if not picture:
        return ""
    told = picture.told.replace("[", "(").replace("]", ")")
    return f"![{told}]({CHARTS}/{picture.file})\n"


# -- the first screen ------------------------------------------------------------------------------


def head_part(results: Results) -> str:
    paragraphs = [HEAD, machine_told(results)]
    if floor := floor_of(results):
        paragraphs.append(wrapped(NOISE.format(**floor)))
    paragraphs += [wrapped(told) for told in (cost_told(results), budgets_told(results)) if told]
    return "\n".join(f"{paragraph.strip()}\n" for paragraph in paragraphs if paragraph)


def machine_told(results: Results) -> str:
    """Where, when, and how busy it was before each part."""
    if "machine" not in results:
        return ""
    taken = (results.get("taken") or {}).values()
    told = [results["machine"]]
    days = sorted({one["at"][:10] for one in taken if "at" in one})
    if days:
        told.append(days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}")
    loads = sorted(one["load"] for one in taken if "load" in one)
    if loads:
        told.append(f"load before the parts {loads[0]:g} to {loads[-1]:g}")
    return wrapped(f"{'; '.join(told)}.")


def short_part(results: Results, found: Sequence[Verdict]) -> str:
    if not found:
        return ""
    rows = [short_row(results, one) for one in found if has_figures(results, one)]
    head = ["way", "left something", "survivors", "said done", "innocents hit"]
    head += ["returns", "all gone"]
    missing = [missing_told(results, way, why) for way, why in excuses(results).items()]
    missing += [
        f"* {one.way}: {one.not_started} trials did not start, and are not counted"
        for one in found
        if one.not_started
    ]
    return "\n".join([SHORT, table(head, rows), *missing])


def missing_told(results: Results, way: str, why: str) -> str:
    partly = has_figures(results, verdict(results, way))
    return f"* {way}: {'measured in part' if partly else 'not measured'}, {why}"


def has_figures(results: Results, one: Verdict) -> bool:
    timed = by_way(results, "times").get(one.way)
    return bool(one.trials or one.innocents or timed)


def short_row(results: Results, one: Verdict) -> list[str]:
    name = f"{one.way} ({one.version})" if one.version else one.way
    timed = one_ending(results, one.way, "obedient")
    return [
        name,
        share(one.leaky, one.trials),
        NONE if one.survivors is None else f"{one.survivors}",
        NONE if one.lies is None else f"**{one.lies}**" if one.lies else "0",
        share(one.hit, one.innocents),
        returned_text(timed),
        died_text(timed),
    ]


# -- all of it -------------------------------------------------------------------------------------


def survivors_part(results: Results, found: Sequence[Verdict]) -> str:
    if not any(one.trials for one in found):
        return ""
    part = results["survivors"]
    moments = ""
    if "settle_s" in part:
        moments = f", {part['settle_s']:g} s after the command had returned"
    if "grace_s" in part:
        moments += f"; {part['grace_s']:g} s between TERM and KILL where a way can be told"
    return "\n".join(
        (
            wrapped(SURVIVORS.format(moments=moments)),
            survivors_table(results, found),
            habits_list(results),
        )
    )


def innocents_part(results: Results) -> str:
    return f"{INNOCENTS}\n{innocents_table(results)}" if by_way(results, "innocents") else ""


def time_part(results: Results, found: Sequence[Verdict], drawn: dict[str, Picture]) -> str:
    commands = (results.get("starts") or {}).get("commands") or {}
    names = cases(results)
    if not names and not commands:
        return ""
    ceiling = (results.get("times") or {}).get("ceiling_s")
    lived = f"{ceiling:g} s after the start" if ceiling else "at the end"
    parts = [wrapped(TIME.format(ceiling=lived))]
    for case in names:
        parts.append(f"### One agent: {case}\n")
        if case != "obedient":  # that one is on the first screen
            parts.append(image(drawn.get(f"times {case}")))
        parts.append(endings_table(results, case, found))
    if commands:
        engine = results["starts"].get("engine_ms") or {}
        also = {f"the engine alone (signal to proof), {name}": one for name, one in engine.items()}
        parts += ["### knell's own commands\n", commands_table(commands | also)]
    return "\n".join(parts)


def many_part(results: Results, drawn: dict[str, Picture]) -> str:
    parts: list[str] = []
    many = results.get("many") or {}
    ways = by_way(results, "many").values()
    for habit in dict.fromkeys(habit for one in ways for habit in one):
        parts.append(MANY.format(habit=habit))
        if habit != "obedient":
            parts.append(image(drawn.get(f"many {habit}")))
        parts.append(crowds_table(results, habit))
    for way, why in (many.get("unavailable") or {}).items():
        parts.append(f"* {way}: not measured, {why}")
    for way, why in (many.get("skipped") or {}).items():
        parts.append(f"* {way}: given up at {why}")
    if many.get("list"):
        listed = {f"knell list, {agents(size)}": one for size, one in many["list"].items()}
        parts += ["\n### `knell list`\n", commands_table(listed)]
    return "\n".join(parts)
