"""Who survives: every habit, ended in every way, in one shuffled run.

`survivor_figures` returns

    {"ways": {WAY: {"unavailable": why, or "",
                    "version": of the program behind it, or "",
                    "habits": {HABIT: {"trials": that started,
                                       "not_started": that did not, with the reason in "said",
                                       "survivors": processes left, in all trials together,
                                       "trials_with_survivors": n,
                                       "false_success": trials in which it said that the agent is
                                                        ended while something of it lived,
                                       "said": its answer in the last trial, or in the last one
                                               with a false success if there was one}}}},
     "told": {HABIT: the habit in words},
     "grace_s": the wait between TERM and KILL that each way was told, if it can be told,
     "settle_s": how long after its return each way had before the survivors were counted}

A way that is unavailable has no habits. Every way gets the same moment after its command has
returned, because some only send a signal; who is alive then is a survivor.
"""

import contextlib
import os
import random
import signal
import sys
import time
from typing import Any, NamedTuple

from more_habits import ALL_HABITS, TOLD_MORE
from ways import GRACE, Said, Way, all_ways
from witness import Witness, reap
from workshop import Bench

from house import descendants, eventually, pause
from knell.api.habits import MEANINGS

SETTLE = 3.0
SHOWS = 0.15  # seconds after readiness in which a habit's children do what they are known for
AT_ONCE = 6  # agents that may be within their moment while the next trial begins


class Trial(NamedTuple):
    """An agent that a way has ended, as it says."""

    way: Way
    habit: str
    witness: Witness
    said: Said
    due: float  # when what is left counts


def survivor_figures(bench: Bench, trials: int) -> dict[str, Any]:
    """See the top of this file for the shape."""
    ways = all_ways(bench)
    before = set(descendants())
    why_not = {way.name: why_not_opened(way) for way in ways}
    present = [way for way in ways if not why_not[way.name]]
    figures = {
        way.name: {
            "unavailable": why_not[way.name],
            "version": way.version,
            "habits": {habit: nothing_yet() for habit in ALL_HABITS} if way in present else {},
        }
        for way in ways
    }
    try:
        run_all(bench, present, trials, figures)
    finally:
        for way in present:
            way.close()
        end_rest(before)
    told = {habit: (MEANINGS | TOLD_MORE)[habit] for habit in ALL_HABITS}
    return {"ways": figures, "told": told, "grace_s": GRACE, "settle_s": SETTLE}


def why_not_opened(way: Way) -> str:
    """Opens it, or tells why that cannot be."""
    try:
        why = way.unavailable()
        if not why:
            way.open()
    except (AssertionError, OSError, RuntimeError) as error:
        return str(error)
    return why


def nothing_yet() -> dict[str, Any]:
    counts = ("trials", "not_started", "survivors", "trials_with_survivors", "false_success")
    return {**dict.fromkeys(counts, 0), "said": ""}


def run_all(bench: Bench, ways: list[Way], trials: int, figures: dict[str, Any]) -> None:
    """One after another in any order; the moments that follow them overlap."""
    rounds = [
        (way, habit, f"{habit}-{number}-{trial}".replace("_", "-"))
        for number, way in enumerate(ways)
        for habit in ALL_HABITS
        for trial in range(trials)
    ]
    random.shuffle(rounds)
    settling: list[Trial] = []
    for done, (way, habit, name) in enumerate(rounds):
        if done % 50 == 0:
            print(f"survivors: {done} of {len(rounds)} trials", file=sys.stderr)
        try:
            settling.append(ended(bench, way, habit, name))
        except (AssertionError, OSError, RuntimeError) as error:
            counted = figures[way.name]["habits"][habit]
            counted["not_started"] += 1
            counted["said"] = f"did not start: {error}"
        settling = settled(settling, AT_ONCE - 1, figures)
    settled(settling, 0, figures)


def settled(settling: list[Trial], most: int, figures: dict[str, Any]) -> list[Trial]:
    """Those whose moment is not over, once they are no more than `most`."""
    while True:
        reap()
        settling = [trial for trial in settling if not judged(trial, figures)]
        if len(settling) <= most:
            return settling
        pause(0.01)


def ended(bench: Bench, way: Way, habit: str, name: str) -> Trial:
    """Starts an agent, waits until its habit shows, and has it ended."""
    witness = Witness(bench.root / f"{name}.lock")
    ready = bench.root / f"{name}.ready"
    argv = [bench.python, "-S", "-c", witness.mark(ALL_HABITS[habit])]
    try:
        started = way.start(name, argv, {"KNELL_READY": str(ready)})
        eventually(ready.exists)
    except BaseException:
        witness.end()
        raise
    pause(SHOWS)
    said = way.end(started)
    return Trial(way, habit, witness, said, time.monotonic() + SETTLE)


def judged(trial: Trial, figures: dict[str, Any]) -> bool:
    """Whether the trial is over; then it is counted, and what is left of it ended."""
    if not trial.witness.none_left() and time.monotonic() < trial.due:
        return False
    left = trial.witness.left()
    counted = figures[trial.way.name]["habits"][trial.habit]
    lied = bool(left and trial.said.success)
    counted["trials"] += 1
    counted["survivors"] += left
    counted["trials_with_survivors"] += bool(left)
    counted["false_success"] += lied
    if lied or not counted["false_success"]:
        counted["said"] = trial.said.text
    trial.witness.end()
    return True


def end_rest(before: set[int]) -> None:
    """What a way leaves of itself (a pseudo-terminal's parent, a shell) is ended by its pid."""
    until = time.monotonic() + 10
    while (rest := set(descendants()) - before) and time.monotonic() < until:
        pause(0.02)
    for pid in rest:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # below us, so nobody else can have reaped it
    eventually(lambda: not set(descendants()) - before)
