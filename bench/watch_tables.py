"""The tables of the watch: a simulated day, what it costs, heartbeats."""

from typing import Any

WATCH = """
## The watch

Load before this part {load}.{floor}
"""
DAY = """\
{agents} agents over real processes, headless and in tmux panes, and a clock that is wound by hand:
{rounds} rounds, {interval:g} s apart, in an hour awake. In it the machine sleeps for 40 minutes,
the clock is set forwards and back by an hour, and the watch stands still for 10 minutes. Stalled
agents are ended (`--stalled kill`).
"""


def watch_part(found: dict[str, Any]) -> list[str]:
    """Whatever of it was measured."""
    floor = found["beat"]["floor: python -c pass"]["median"] if "beat" in found else None
    told = f" Its floor, `python -c pass`: median {floor} ms." if floor else ""
    parts = [WATCH.format(load=found.get("load_before", "unknown"), floor=told)]
    if "day" in found:
        parts += ["### A simulated day\n", day_table(found["day"])]
    if found.get("watcher"):
        head = "### What it costs, at its default interval of 15 s\n"
        parts += [head, cost_table(found["watcher"])]
    if floor and "heartbeats" in found and "verdict_s" in found:
        parts += ["### Heartbeats, and how soon a stall is told\n", beat_table(found, floor)]
    return parts


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
    for name in ("knell beat", "touch"):
        one = found["beat"][name]
        lines.append(f"| `{name}` | {one['median']} ms, {one['median'] / floor:.1f} x the floor |")
    told = f"{late['median']} s ({late['min']} to {late['max']}, {late['n']} trials)"
    lines.append(f"| from a stall to its event, with `--interval 1` | {told} |")
    return "\n".join(lines)
