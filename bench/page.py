"""The page that `make bench` writes: tables from one run, with the machine's noise beside them."""

from typing import Any

HEAD = """<!-- written by `make bench`; the raw figures are in bench/results.json -->

# Benchmarks

{machine}; load before the run {load}. Parts may come from different runs (`--only`), orders
shuffled, an installed wheel with its own interpreter. Ratios are to `python -c pass` in the run of
the starts: median {floor} ms, {low} to {high} ms over {n} starts. That spread is the machine's
noise; read no difference smaller than it.
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
        *(watch_part(results["watch"]) if "watch" in results else ()),
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


# -- the watch ---------------------------------------------------------------------------------

WATCH = """
## The watch

Load before this part {load}. Its floor, `python -c pass`: median {floor} ms.

### A simulated day
"""
DAY = """\
{agents} agents over real processes, headless and in tmux panes, and a clock that is wound by hand:
{rounds} rounds, {interval:g} s apart, in an hour awake. In it the machine sleeps for 40 minutes,
the clock is set forwards and back by an hour, and the watch stands still for 10 minutes. Stalled
agents are ended (`--stalled kill`).
"""


def watch_part(found: dict[str, Any]) -> list[str]:
    floor = found["beat"]["floor: python -c pass"]["median"]
    return [
        WATCH.format(load=found["load_before"], floor=floor),
        day_table(found["day"]),
        "\n### What it costs, at its default interval of 15 s\n",
        cost_table(found["watcher"]),
        "\n### Heartbeats, and how soon a stall is told\n",
        beat_table(found, floor),
        "",
    ]


def day_table(day: dict[str, Any]) -> str:
    head = DAY.format(agents=day["agents"], rounds=day["rounds"], interval=day["interval_s"])
    healthy, hung = day["healthy"], day["hung"]
    lines = [
        head,
        "| what | figure |",
        "|---|---|",
        f"| verdicts on agents that had not stalled | {day['verdicts_on_the_healthy']} |",
        f'| of these "stalled" | {day["false_verdicts"]} |',
        f"| ended that should live | {len(day['ended_wrongly'])} of {healthy} |",
        f"| hung, found and ended | {hung - len(day['missed'])} of {hung} |",
        "",
        "| hung | may be silent for | found after |",
        "|---|---|---|",
    ]
    for name, one in day["found"].items():
        lines.append(f"| {name} | {one['patience_s']:g} s | {one['after_s']:g} s |")
    lines += ["", "| agent | what it does | verdicts |", "|---|---|---|"]
    for name, seen in day["verdicts"].items():
        told = ", ".join(f"{word} {count}" for word, count in sorted(seen.items()))
        lines.append(f"| {name} | {day['parts'][name]} | {told} |")
    return "\n".join(lines)


def cost_table(watchers: dict[str, Any]) -> str:
    lines = [
        "| with | of a core | CPU a round | a round takes | resident | its own (PSS) | load |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in watchers.items():
        took = one["round_ms"]
        cells = (
            name,
            f"{one['percent_of_a_core']} %",
            f"{one['cpu_ms_a_round']} ms",
            f"{took['median']} ms ({took['min']} to {took['max']})",
            f"{one['resident_kb'] / 1024:.1f} MB",
            f"{one['proportional_kb'] / 1024:.1f} MB",
            f"{one['load']}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    servers = [one["tmux_server_percent"] for one in watchers.values()]
    also = "The tmux server, which draws what the panes print and answers the watch, uses up to"
    lines += ["", f"{also} {max(servers)} % of a core more."]
    return "\n".join(lines)


def beat_table(found: dict[str, Any], floor: float) -> str:
    beats, late = found["heartbeats"], found["verdict_s"]
    lines = [
        "| what | figure |",
        "|---|---|",
        f"| beats a second by 1 process | {beats['by_1_process_a_second']} |",
        f"| beats a second by 8 processes | {beats['by_8_processes_a_second']} |",
    ]
    for agents in (200, 1000):
        took = beats[f"taken_in_ms_{agents}"]
        told = f"{took['median']} ms ({took['min']} to {took['max']})"
        lines.append(f"| {agents} beats looked at and stored, one round | {told} |")
    for name in ("quell beat", "touch"):
        one = found["beat"][name]
        lines.append(f"| `{name}` | {one['median']} ms, {one['median'] / floor:.1f} x the floor |")
    told = f"{late['median']} s ({late['min']} to {late['max']}, {late['n']} trials)"
    lines.append(f"| from a stall to its event, with `--interval 1` | {told} |")
    return "\n".join(lines)
