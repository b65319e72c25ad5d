"""What one run of the bench says of each way: read once for tables, pictures and budgets.

Whatever is missing or unavailable stays None: nothing that was not measured ever becomes a zero.
"""

from typing import Any, NamedTuple

Results = dict[str, Any]
OURS = "knell"  # how the names of our own ways begin
PARTS = ("survivors", "innocents", "times")
FLOOR = "floor: python -c pass"


class Verdict(NamedTuple):
    """One way over all habits."""

    way: str
    version: str
    unavailable: str  # why it has no figures; "" if it has
    not_started: int = 0  # trials that count for nothing
    trials: int | None = None
    leaky: int | None = None  # trials after which something was alive
    survivors: int | None = None  # processes, all trials together
    lies: int | None = None  # trials in which it said "ended" while something was alive
    hit: int | None = None  # innocents, of so many:
    innocents: int | None = None


def verdicts(results: Results) -> list[Verdict]:
    """Ours first, then those that leave least; those without figures last."""
    found = [verdict(results, way) for way in all_ways(results)]
    return sorted(found, key=rank)


def rank(one: Verdict) -> tuple[bool, bool, float, str]:
    share = one.leaky / one.trials if one.trials and one.leaky is not None else 2.0
    ours = one.way.startswith(OURS)
    return not ours, one.trials is None, 0.0 if ours else share, "" if ours else one.way


def all_ways(results: Results) -> list[str]:
    """Whoever is named in any part, in the order of the first naming."""
    named = [way for part in PARTS for way in (*by_way(results, part), *refused(results, part))]
    return list(dict.fromkeys(named))


def by_way(results: Results, part: str) -> dict[str, Any]:
    """The part's figures by way: under that word, or, for the innocents, nothing but ways."""
    found = results.get(part) or {}
    ways = found.get("ways", found if part == "innocents" else {})
    return {way: one for way, one in ways.items() if isinstance(one, dict)}


def refused(results: Results, part: str) -> dict[str, str]:
    """Why a way has no figures in that part, by way."""
    whys = {way: one.get("unavailable") for way, one in by_way(results, part).items()}
    also = (results.get(part) or {}).get("unavailable")
    whys |= also if isinstance(also, dict) else {}
    return {way: str(why) for way, why in whys.items() if why}


def verdict(results: Results, way: str) -> Verdict:
    one = by_way(results, "survivors").get(way, {})
    cases = innocent_cases(results, way)
    trials, hit = total(cases, "trials"), total(cases, "hit")
    empty = Verdict(way, one.get("version", ""), one.get("unavailable", ""), absent(one))
    if trials:
        empty = empty._replace(innocents=trials, hit=hit)
    habits = list(habits_of(one).values())
    if not habits or not total(habits, "trials"):
        return empty
    return empty._replace(
        trials=total(habits, "trials"),
        leaky=total(habits, "trials_with_survivors"),
        survivors=total(habits, "survivors"),
        lies=total(habits, "false_success"),
    )


def habits_of(one: dict[str, Any]) -> dict[str, Any]:
    habits = one.get("habits") or {}
    return {name: found for name, found in habits.items() if found.get("trials")}


def absent(one: dict[str, Any]) -> int:
    """Trials that did not come about."""
    return sum(found.get("not_started") or 0 for found in (one.get("habits") or {}).values())


def innocent_cases(results: Results, way: str) -> list[dict[str, Any]]:
    cases = by_way(results, "innocents").get(way, {})
    return [case for case in cases.values() if isinstance(case, dict) and case.get("trials")]


def total(many: list[dict[str, Any]], field: str) -> int | None:
    """None as soon as one of them has no such figure."""
    values = [one.get(field) for one in many]
    numbers = [int(value) for value in values if value is not None]
    return sum(numbers) if numbers and len(numbers) == len(values) else None


def all_habits(results: Results) -> list[str]:
    ways = by_way(results, "survivors").values()
    return list(dict.fromkeys(habit for one in ways for habit in habits_of(one)))


def case_names(results: Results) -> list[str]:
    ways = by_way(results, "innocents").values()
    return list(
        dict.fromkeys(name for one in ways for name, case in one.items() if isinstance(case, dict))
    )


def excuses(results: Results) -> dict[str, str]:
    """Every way that some part could not measure, with the first reason given."""
    found: dict[str, str] = {}
    for part in PARTS:
        for way, why in refused(results, part).items():
            found.setdefault(way, why)
    return found


# -- time ------------------------------------------------------------------------------------------


class Timing(NamedTuple):
    """Of one way and one sort of agent, in milliseconds from the start of its command."""

    returned: Any = None  # a spread
    died: Any = None  # a spread of those trials in which it came; None if it never did
    trials: int = 0
    never: int = 0  # trials in which somebody still lived at the ceiling

    def median(self) -> float | None:
        """Until everybody was dead; None unless that came in every trial."""
        return None if self.never or not self.died else self.died["median"]


def timing(found: dict[str, Any] | None) -> Timing:
    if not found or not found.get("n"):
        return Timing()
    return Timing(found.get("return_ms"), found.get("death_ms"), found["n"], found.get("never", 0))


def one_ending(results: Results, way: str, case: str) -> Timing:
    return timing(by_way(results, "times").get(way, {}).get(case))


def cases(results: Results) -> list[str]:
    """The sorts of agents, in the order in which they were measured."""
    return list(dict.fromkeys(case for one in by_way(results, "times").values() for case in one))


def crowds(results: Results, habit: str) -> dict[str, dict[int, Timing]]:
    """Way → number of agents ended by one command → its timing."""
    return {
        way: {int(size): timing(found) for size, found in (one.get(habit) or {}).items()}
        for way, one in by_way(results, "many").items()
        if one.get(habit)
    }


def floor_of(results: Results) -> Any:
    """The spread of `python -c pass`: the machine's noise."""
    for part in ("starts", "times", "many"):
        found = results.get(part) or {}
        if floor := found.get("floor") or found.get(FLOOR):
            return floor
    return None
