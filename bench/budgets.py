"""What knell promises to cost, and whether this run kept to it. The one place with the numbers."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from charts import duration
from summary import OURS, Results, crowds, one_ending, verdicts
from tables import NONE, table

ADOPTED = "adopted"  # found from the outside: nothing is promised for it but "none found"
KILL_ALL = "knell kill all"
Measured = tuple[str, bool] | None  # the figure in words, and whether it is within the budget


class Budget(NamedTuple):
    what: str
    limit: str
    measure: Callable[[Results], Measured]
    why: str = ""  # said beside it where it is missed


def deep(results: Any, *keys: str) -> Any:
    """What lies under those keys, or None."""
    for key in keys:
        results = results.get(key) if isinstance(results, dict) else None
    return results


# -- the measures ----------------------------------------------------------------------------------


def survivors(results: Results) -> Measured:
    ours = [
        one
        for one in verdicts(results)
        if one.way.startswith(OURS) and ADOPTED not in one.way and one.trials
    ]
    left = [one.survivors for one in ours if one.survivors is not None]
    if not ours or len(left) != len(ours):
        return None
    trials = sum(one.trials or 0 for one in ours)
    return f"{sum(left)} in {trials} trials", sum(left) == 0


def at_most(limit: float, *keys: str) -> Callable[[Results], Measured]:
    """A spread's ratio to the floor."""

    def measure(results: Results) -> Measured:
        found = deep(results, *keys, "floors")
        return None if found is None else (f"{found:.1f} x", found <= limit)

    return measure


def kill_to_death(results: Results) -> Measured:
    """The slowest of our ways with a keeper."""
    found = [
        one_ending(results, one.way, "obedient")
        for one in verdicts(results)
        if one.way.startswith(OURS) and ADOPTED not in one.way
    ]
    found = [one for one in found if one.trials]
    if not found:
        return None
    if any(one.median() is None for one in found):
        return "never", False
    most = max(one.died["floors"] for one in found)
    return f"{most:.1f} x", most <= 8


def against_hcom(results: Results) -> Measured:
    ours, theirs = (
        one_ending(results, way, "obedient") for way in ("knell, keeper only", "hcom kill")
    )
    if not ours.trials or not theirs.returned:
        return None
    mine, other = ours.median(), theirs.returned["median"]
    said = "never" if mine is None else duration(mine)
    return f"{said} against {duration(other)}", mine is not None and mine < other


def engine(results: Results) -> Measured:
    found = deep(results, "starts", "engine_ms") or {}
    medians = [one["median"] for one in found.values()]
    return (duration(max(medians)), max(medians) <= 10) if medians else None


def crowd(habit: str, agents: int, seconds: float) -> Callable[[Results], Measured]:
    """Until the last of so many is dead; the grace comes on top for those that ignore TERM."""

    def measure(results: Results) -> Measured:
        found = crowds(results, habit).get(KILL_ALL, {}).get(agents)
        if not found or not found.trials:
            return None
        grace = (deep(results, "many", "grace_s") or 0) if habit == "deaf" else 0
        median = found.median()
        if median is None:
            return f"never in {found.never} of {found.trials}", False
        return duration(median), median <= (seconds + grace) * 1000

    return measure


def slower_than_linear(results: Results) -> Measured:
    line = crowds(results, "obedient").get(KILL_ALL, {})
    known = [(size, line[size].median()) for size in sorted(line) if size <= 100]
    points = [(size, ms) for size, ms in known if ms is not None]
    if len(points) < 2 or len(points) != len(known):
        return None
    told = ", ".join(f"{size} in {duration(ms)}" for size, ms in points)
    steps = [(after[1] / before[1], after[0] / before[0]) for before, after in pairwise(points)]
    return told, all(time < agents for time, agents in steps)


def keeper_weight(field: str, megabytes: float) -> Callable[[Results], Measured]:
    def measure(results: Results) -> Measured:
        found = [one[field] / 1024 for one in keepers(results) if field in one]
        return (f"{max(found):.1f} MB", max(found) <= megabytes) if found else None

    return measure


def keepers(results: Results) -> list[dict[str, Any]]:
    """One record for each number of agents that was weighed."""
    return list((deep(results, "keeper", "agents") or {}).values())


def keeper_cpu(results: Results) -> Measured:
    found = [value for one in keepers(results) for key, value in one.items() if "ticks" in key]
    return (f"{sum(found)} ticks in 2 s", not sum(found)) if found else None


def keeper_start(results: Results) -> Measured:
    birth = deep(results, "keeper", "birth_ms", "median")
    bare = deep(results, "keeper", "bare_start_ms", "median")
    if birth is None or bare is None:
        return None
    return duration(birth - bare), birth - bare <= 40


def watcher(results: Results) -> Measured:
    found = (deep(results, "watch", "watcher") or {}).get("200 headless agents")
    if not found:
        return None
    return f"{found['percent_of_a_core']} %", found["percent_of_a_core"] <= 2


def heartbeats(results: Results) -> Measured:
    found = deep(results, "watch", "heartbeats", "by_1_process_a_second")
    return None if found is None else (f"{found:,} a second", found >= 10_000)


def far_kill(results: Results) -> Measured:
    found = deep(results, "fleet", "scale", "kill_one_ms", "median")
    return None if found is None else (duration(found), found < 500)


def far_kill_all(results: Results) -> Measured:
    found = deep(results, "fleet", "scale", "kill_all", "last_receipt_s")
    return None if found is None else (f"{found:g} s", found <= 60)


def idle_database(results: Results) -> Measured:
    found = deep(results, "fleet", "scale", "idle", "cores")
    return None if found is None else (f"{found:.2f} of a core", found < 0.5)


def kill_at_home(results: Results) -> Measured:
    """The worst state of the fleet's database; without one, a twin is compared with a twin."""
    local = deep(results, "fleet", "local") or {}
    found = [one["ratio"] for state, one in local.items() if state != "without a fleet"]
    return (f"{max(found):.3f} at most", max(found) <= 1.05) if found else None


def under(limit: float, unit: str, *keys: str) -> Callable[[Results], Measured]:
    """A figure of its own."""

    def measure(results: Results) -> Measured:
        found = deep(results, *keys)
        return None if found is None else (f"{found:g} {unit}", found <= limit)

    return measure


def state_a_run(results: Results) -> Measured:
    """In the store, and below `runs`, from which a lost store is restored."""
    left = deep(results, "faces", "left_a_run") or deep(results, "growth", "rundir_a_run") or {}
    rows = left.get("bytes_in_store") or deep(results, "growth", "bytes_a_run")
    files = left.get("bytes_on_disk")
    if rows is None or files is None:
        return None
    told = f"{rows / 1000:.1f} kB in the store, {files / 1000:.1f} kB on the disk beside it"
    return told, rows + files < 4096


def receipts_found(results: Results) -> Measured:
    found = deep(results, "faces", "receipts", "found_ms")
    if not found:
        return None
    most = max(one["median"] for one in found.values())
    return duration(most), most <= 200


TOP_FIRST = ("faces", "first", "top", "knell top, its first rows")
WEB_FIRST = ("faces", "first", "web", "knell web, its first page")

BUDGETS = (
    Budget("survivors, every habit, under a keeper", "0", survivors),
    Budget(
        "`list`, 1 agent", "6 x the floor", at_most(6, "starts", "commands", "knell list, 1 agent")
    ),
    Budget("`list`, 1000 agents", "10 x the floor", at_most(10, "many", "list", "1000")),
    Budget("`kill`, obedient, until all is gone", "8 x the floor", kill_to_death),
    Budget("the same, before `hcom kill` returns", "sooner", against_hcom),
    Budget("the engine alone, signal to proof", "10 ms", engine),
    Budget("`kill all`, 50 obedient", "0.5 s", crowd("obedient", 50, 0.5)),
    Budget("`kill all`, 50 that ignore TERM", "0.5 s and the grace", crowd("deaf", 50, 0.5)),
    Budget("`kill all`, up to 100", "slower than linear", slower_than_linear),
    Budget("`kill all`, 1000 obedient", "5 s", crowd("obedient", 1000, 5)),
    Budget("`kill all`, 1000 that ignore TERM", "5 s and the grace", crowd("deaf", 1000, 5)),
    Budget("keeper, resident", "12 MB", keeper_weight("resident_kb", 12)),
    Budget("keeper, its own share (PSS)", "6 MB", keeper_weight("proportional_kb", 6)),
    Budget("keeper, CPU while the agent lives", "0", keeper_cpu),
    Budget("keeper, added to the start", "40 ms", keeper_start),
    Budget("`watch` with 200 agents", "2 % of a core", watcher),
    Budget("heartbeats", "10,000 a second", heartbeats),
    Budget("`top`, its first rows", "2.5 x `import textual.app`", at_most(2.5, *TOP_FIRST)),
    Budget("`top` with 200 agents", "2 % of a core", under(2, "%", "faces", "top_cpu_percent")),
    Budget("`top`, a key in 5,000 rows", "100 ms", under(100, "ms", "faces", "scroll_ms", "max")),
    Budget("`web`, its first page", "3 x `import starlette, uvicorn`", at_most(3, *WEB_FIRST)),
    Budget("`web`, 10 browsers, 200 agents", "120 MB", under(120, "MB", "faces", "web_memory_mb")),
    Budget("`web`, one browser that rests", "1 %", under(1, "%", "faces", "web_idle_percent")),
    Budget("an event, on the page", "0.3 s", under(300, "ms", "faces", "news_ms", "median")),
    Budget("a search in 10,000 receipts", "200 ms", receipts_found),
    Budget("what an ended run leaves", "4 kB", state_a_run),
    Budget("kill on another host, 1,000 idle: order to receipt", "0.5 s", far_kill),
    Budget("`kill all@*` of 20,000 agents: last receipt", "60 s", far_kill_all),
    Budget("the fleet's database with 1,000 idle hosts", "0.5 of a core", idle_database),
    Budget("`kill` at home while that database fails", "1.05 x without a fleet", kill_at_home),
)


# -- what is said of them --------------------------------------------------------------------------


def judged(results: Results) -> list[tuple[Budget, Measured]]:
    return [(budget, budget.measure(results)) for budget in BUDGETS]


def budgets_told(results: Results) -> str:
    """`15 of 17 budgets are met`, with those that are not; "" if none was measured."""
    known = [(budget, found) for budget, found in judged(results) if found]
    missed = [budget.what for budget, found in known if not found[1]]
    if not known:
        return ""
    told = f"{len(known) - len(missed)} of {len(known)} budgets that were measured are met"
    told += f"; missed: {', '.join(missed)}" if missed else ""
    return f"{told} ([Budgets](#budgets))."


def budgets_table(results: Results) -> str:
    """Every budget, the measured figure, and the reason where it is missed."""
    rows = []
    for budget, found in judged(results):
        verdict = "" if not found else "met" if found[1] else "**missed**"
        why = f": {budget.why}" if found and not found[1] and budget.why else ""
        rows.append([budget.what, budget.limit, found[0] if found else NONE, verdict + why])
    return table(["what", "budget", "measured", ""], rows)
