"""Measures one ending by every way: until the command returns, and until everybody is dead."""

import random
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from deathwatch import Deathwatch
from ways import Way, all_ways
from workshop import Bench, against, spread, timed

from house import descendants, eventually
from knell.api.habits import BOUND, HABITS, OBEDIENT

CEILING = 8.0  # seconds after the start of the command; who lives then has survived it
EARLY = 20.0  # ms by which a claim may precede the last death, as we see both on a busy machine
LEAVES_IN = 1.6  # seconds; what a real Claude Code takes to write down what it knows
SLOW = f"""
import os, signal, time
signal.alarm({BOUND})

def leave(*_):
    time.sleep({LEAVES_IN})
    os._exit(0)

for number in (1, 15):
    signal.signal(number, leave)
open(os.environ["KNELL_READY"], "w").close()
while True:
    signal.pause()
"""


class Case(NamedTuple):
    """An agent, and the seconds between TERM and KILL for every way that can be told."""

    source: str
    grace: float


CASES = {
    "obedient": Case(OBEDIENT, 2),
    f"leaves in {LEAVES_IN} s": Case(SLOW, 2),
    "ignores TERM": Case(HABITS["ignores_term"], 1),
}


class Ended(NamedTuple):
    returned_ms: float
    died_ms: float | None  # None: somebody still lived at the ceiling
    claimed: bool  # that the agent is ended
    said: str

    @property
    def early(self) -> bool:
        """It said that the agent is ended while somebody lived."""
        died = float("inf") if self.died_ms is None else self.died_ms
        return self.claimed and died > self.returned_ms + EARLY


Endings = dict[tuple[str, str], list[Ended]]


def times_figures(bench: Bench, trials: int) -> dict[str, Any]:
    """`{"ceiling_s", "grace_s", "floor", "versions", "unavailable", "ways"}`.

    `ways` is way → case → `{"n", "return_ms", "death_ms", "never", "claims", "early_claims",
    "false_claims", "said"}`: from the start of the command to its return, and to the death of the
    agent and of everything below it, seen by pidfds; `death_ms` is None where it never came. A
    claim is early if somebody lived on after it, and false if somebody lived at the ceiling.
    Spreads have `floors` too, the ratio to `python -c pass` among the same shuffled trials.
    """
    ways, unavailable = opened(all_ways(bench))
    endings: Endings = {}
    floor: list[float] = []
    rounds = [
        (way, case)
        for way in ways
        for case in CASES
        for _ in range(trials * 2 if case == "obedient" else max(1, trials // 2))
    ]
    random.shuffle(rounds)
    try:
        for number, (way, case) in enumerate(rounds):
            floor.append(timed(lambda: bench.call(bench.python, "-c", "pass")))
            if way.name in unavailable:
                continue
            try:
                ended = ending(bench, way, CASES[case], f"timed-{number}")
            except (RuntimeError, AssertionError, OSError) as error:
                unavailable[way.name] = f"{case}: {error}"  # the others go on
                continue
            endings.setdefault((way.name, case), []).append(ended)
    finally:
        closed(ways)
    return {
        "ceiling_s": CEILING,
        "grace_s": {name: case.grace for name, case in CASES.items()},
        "floor": spread(floor),
        "versions": {way.name: way.version for way in ways if way.version},
        "unavailable": unavailable,
        "ways": summed(endings, floor, [way.name for way in ways]),
    }


def opened(ways: Sequence[Way]) -> tuple[list[Way], dict[str, str]]:
    """Those that can be measured here, open; and why the others cannot."""
    found: list[Way] = []
    unavailable: dict[str, str] = {}
    for way in ways:
        why = way.unavailable()
        if not why:
            try:
                way.open()
            except (RuntimeError, AssertionError, OSError) as error:
                why = str(error)
        if why:
            unavailable[way.name] = why
        else:
            found.append(way)
    return found, unavailable


def closed(ways: Sequence[Way]) -> None:
    for way in ways:
        way.close()
    descendants()  # reaps


def ending(bench: Bench, way: Way, case: Case, name: str) -> Ended:
    """One agent started, ready and ended."""
    ready = bench.root / f"{name}.ready"
    way.grace = case.grace
    argv = [bench.python, "-S", "-c", case.source]
    started = way.start(name, argv, {"KNELL_READY": str(ready)})
    eventually(ready.exists)
    with Deathwatch([started.pid]) as watch:
        begun = time.perf_counter()
        said = way.end(started)
        returned = time.perf_counter()
        died = watch.last_death(max(returned, begun + CEILING))
    descendants()  # reaps
    ms = None if died is None else (died - begun) * 1000
    return Ended((returned - begun) * 1000, ms, said.success, said.text)


def summed(endings: Endings, floor: list[float], ways: list[str]) -> dict[str, Any]:
    """Way → case → figures, in the order of the ways."""
    found: dict[str, Any] = {}
    for way in ways:
        for case in CASES:
            ended = endings.get((way, case))
            if ended:
                found.setdefault(way, {})[case] = figures(ended, floor)
    return found


def figures(ended: list[Ended], floor: list[float]) -> dict[str, Any]:
    died = [one.died_ms for one in ended if one.died_ms is not None]
    times = against({"floor": floor, "return": [one.returned_ms for one in ended], "death": died})
    return {
        "n": len(ended),
        "return_ms": times["return"],
        "death_ms": times.get("death"),
        "never": len(ended) - len(died),
        "claims": sum(one.claimed for one in ended),
        "early_claims": sum(one.early for one in ended),
        "false_claims": sum(one.claimed and one.died_ms is None for one in ended),
        "said": ended[-1].said,
    }
