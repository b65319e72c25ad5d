"""Measures many at once: `kill all` by every way that has such a command, and `list`."""

import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deathwatch import Deathwatch
from times import closed, opened
from watch import crowd
from ways import Started, Way, all_ways
from workshop import Bench, against, spread, timed

from house import descendants, eventually

KNELL = "knell kill all"
# Ways of other people with one command for all of theirs, by the words their names begin with.
PEERS = ("psutil", "tmux", "hcom kill", "supervisord", "circus")
CEILING = 8.0  # seconds from the start of the command to the death of the last
GRACE = 1.0  # told to every way that can be told
PATIENCE = 30.0  # seconds that starting the agents of one trial may take
DEAF = ("sh", "-c", "trap '' HUP INT TERM; exec sleep 3600")  # an ignored signal stays ignored
HABITS = {"obedient": ("sh", "-c", "exec sleep 3600"), "deaf": DEAF}


class Trial(NamedTuple):
    way: str
    habit: str
    size: int


class Ended(NamedTuple):
    returned_ms: float
    died_ms: float | None  # None: somebody still lived at the ceiling
    listed_ms: tuple[float, ...] = ()  # knell list, before they were ended


def many_figures(bench: Bench, trials: int, sizes: Sequence[int], most: int) -> dict[str, Any]:
    """`{"grace_s", "ceiling_s", "floor", "ways", "list", "skipped", "unavailable"}`.

    `ways` is way → obedient or deaf → number of agents → `{"n", "return_ms", "death_ms",
    "never"}`, as in times.py; `list` is number of agents → spread. knell is measured for `most`
    agents too, at once.
    """
    mine = [way for way in all_ways(bench) if way.name.startswith(PEERS)]
    ways, unavailable = opened(mine)
    starters: dict[str, Callable[[Trial, str], Ended]] = {KNELL: lambda t, _: by_knell(bench, t)}
    for way in ways:
        starters[way.name] = lambda t, name, way=way: by_peer(way, t, name)
    ended: dict[Trial, list[Ended]] = {}
    floor: list[float] = []
    skipped: dict[str, str] = {}
    try:
        for number, trial in enumerate(rounds(list(starters), trials, sizes, most)):
            floor.append(timed(lambda: bench.call(bench.python, "-c", "pass")))
            if trial.way in skipped and trial.size > 1:
                continue
            try:
                one = starters[trial.way](trial, f"many-{number}")
            except (RuntimeError, AssertionError, OSError) as error:
                skipped[trial.way] = f"{trial.size} {trial.habit}: {error}"
                continue
            ended.setdefault(trial, []).append(one)
    finally:
        closed(ways)
    return {
        "grace_s": GRACE,
        "ceiling_s": CEILING,
        "floor": spread(floor),
        "ways": summed(ended, floor),
        "list": listed(ended, floor),
        "skipped": skipped,
        "unavailable": unavailable,
    }


def rounds(ways: list[str], trials: int, sizes: Sequence[int], most: int) -> list[Trial]:
    """Shuffled among those of one size, the small ones first: a large one may be skipped."""
    found: list[Trial] = []
    for size in sorted({*sizes, most} - {0}):
        now: list[Trial] = []
        for way in [KNELL] if size == most and size not in sizes else ways:
            for habit in HABITS:
                now += [Trial(way, habit, size)] * often(way, habit, size, trials)
        random.shuffle(now)
        found += now
    return found


def often(way: str, habit: str, size: int, trials: int) -> int:
    """The larger the less; a way that takes ten deaf ones one by one does so with 200 as well."""
    if way == KNELL:
        return max(1, min(trials, 200 // size))
    if habit == "deaf" and size > 50:
        return 0
    return max(1, min(trials // 2, 10 // size))


# -- one trial -------------------------------------------------------------------------------------


def by_knell(bench: Bench, trial: Trial) -> Ended:
    crowd(bench, trial.size, "headless", HABITS[trial.habit])
    agents = json.loads(bench.must(bench.knell, "list", "--json"))["agents"]
    pids = [int(agent["pid"]) for agent in agents]
    asleep(pids)
    command = (bench.knell, "list")
    looks = tuple(timed(lambda: bench.must(*command)) for _ in range(5))
    words = ("kill", "all", "--grace", f"{GRACE:g}")
    ended = measured(pids, lambda: bench.must(bench.knell, *words))
    return ended._replace(listed_ms=looks)


def by_peer(way: Way, trial: Trial, name: str) -> Ended:
    way.grace = GRACE
    started: list[Started] = []

    def end_all() -> Ended:
        return measured([agent.pid for agent in started], lambda: way.end_all(started))

    try:
        start_all(way, trial, name, started)
    except (RuntimeError, AssertionError, OSError):
        if started:
            end_all()
        raise
    return end_all()


def start_all(way: Way, trial: Trial, name: str, started: list[Started]) -> None:
    """One after another into `started`; gives up when that takes too long."""
    until = time.perf_counter() + PATIENCE
    for number in range(trial.size):
        if time.perf_counter() > until:
            raise RuntimeError(f"{number} agents took {PATIENCE:g} s to start")
        started.append(way.start(f"{name}-{number}", HABITS[trial.habit], {}))
    asleep([agent.pid for agent in started])


def asleep(pids: list[int]) -> None:
    """Returns when each of them is the program that it was going to become."""
    for pid in pids:
        eventually(lambda pid=pid: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")


def measured(pids: list[int], command: Callable[[], object]) -> Ended:
    with Deathwatch(pids) as watch:
        begun = time.perf_counter()
        command()
        returned = time.perf_counter()
        died = watch.last_death(max(returned, begun + CEILING))
    descendants()  # reaps
    ms = None if died is None else (died - begun) * 1000
    return Ended((returned - begun) * 1000, ms)


# -- all of them -----------------------------------------------------------------------------------


def summed(ended: dict[Trial, list[Ended]], floor: list[float]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for trial, endings in ended.items():
        died = [one.died_ms for one in endings if one.died_ms is not None]
        returned = [one.returned_ms for one in endings]
        times = against({"floor": floor, "return": returned, "death": died})
        figures = {
            "n": len(endings),
            "return_ms": times["return"],
            "death_ms": times.get("death"),
            "never": len(endings) - len(died),
        }
        found.setdefault(trial.way, {}).setdefault(trial.habit, {})[str(trial.size)] = figures
    return found


def listed(ended: dict[Trial, list[Ended]], floor: list[float]) -> dict[str, Any]:
    looks: dict[str, list[float]] = {"floor": floor}
    for trial, endings in ended.items():
        for one in endings:
            looks.setdefault(str(trial.size), []).extend(one.listed_ms)
    return {name: figures for name, figures in against(looks).items() if name != "floor"}
