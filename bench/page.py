"""The page that `make bench` writes: tables from one run, with the machine's noise beside them."""

from typing import Any

HEAD = """<!-- written by `make bench`; the raw figures are in bench/results.json -->

# Benchmarks

{machine}; load before the run {load}. One run, orders shuffled, an installed wheel with its own
interpreter. Ratios are to `python -c pass` in the same run: median {floor} ms, {low} to {high} ms
over {n} starts. That spread is the machine's noise; read no difference smaller than it.
"""

DEAF = """
`deaf` agents ignore TERM and were killed with `--grace 1`. "The engine alone" is the receipt's
`duration_ms`: first signal to proof.
"""


def page(results: dict[str, Any]) -> str:
    floor = results["starts"]["floor: python -c pass"]
    base = floor["median"]
    parts = [
        HEAD.format(
            machine=results["machine"],
            load=results["load_before"],
            floor=floor["median"],
            low=floor["min"],
            high=floor["max"],
            n=floor["n"],
        ),
        "## Survivors\n",
        survivor_table(results["survivors"]),
        "\n## Time, start of the command to its return\n",
        time_table({**results["starts"], **results["endings"], **results["many"]}, base),
        DEAF,
        "## The keeper\n",
        keeper_table(results["keeper"]),
    ]
    return "\n".join(parts)


def survivor_table(results: dict[str, Any]) -> str:
    lines = ["| habit | headless | tmux | proven |", "|---|---|---|---|"]
    habits = dict.fromkeys(name.rsplit(", ", 1)[0] for name in results)
    for habit in habits:
        cells, proven, trials = [], 0, 0
        for place in ("headless", "tmux"):
            found = results.get(f"{habit}, {place}")
            cells.append(f"{found['survivors']} in {found['trials']}" if found else "not run")
            proven += found["proven"] if found else 0
            trials += found["trials"] if found else 0
        row = (habit.replace("_", " "), *cells, f"{proven} of {trials}")
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def time_table(results: dict[str, Any], base: float) -> str:
    lines = ["| what | median ms | min to max | ratio to the floor |", "|---|---|---|---|"]
    for name, found in results.items():
        ratio = f"{found['median'] / base:.1f} x"
        lines.append(f"| {name} | {found['median']} | {found['min']} to {found['max']} | {ratio} |")
    return "\n".join(lines)


def keeper_table(found: dict[str, Any]) -> str:
    birth, bare = found["birth_ms"], found["bare_start_ms"]
    started = f"{birth['median']} ms ({birth['min']} to {birth['max']})"
    return "\n".join(
        (
            "| what | figure |",
            "|---|---|",
            f"| resident memory | {found['resident_kb'] / 1024:.1f} MB |",
            f"| its own share of it (PSS) | {found['proportional_kb'] / 1024:.1f} MB |",
            f"| CPU ticks in 2 s while the agent lives | {found['cpu_ticks_in_2_s']} |",
            f"| start of the keeper until the agent is executed | {started} |",
            f"| for comparison, `python -S -c pass` | {bare['median']} ms |",
            "",
        )
    )
