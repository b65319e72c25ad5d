"""Clocks that are set, machines that sleep: nobody ages by it, nothing fires early or starves."""

import random
import re
from collections.abc import Callable

from chaos.report import Tally
from house import House, alive
from knell.core.shutdown import Overdue
from knell.life.watch.loop import WatchLoop, WatchWish
from scenes import SLEEPS, started
from watchers import (
    BEATS_ON,
    BEATS_ONCE,
    EXITS_WHEN_TOLD,
    WoundWorld,
    gone,
    let_exit,
    plans,
    runs,
    told,
    wound,
)

ROUND = 15.0
KILL = WatchWish("kill")  # 120 s of patience
DAY = 86_400.0
NEGATIVE = re.compile(r"(?<![\w.:-])-\d")  # a number below zero, and no part of a date or a name


def upset(world: WoundWorld, chance: random.Random) -> str:
    """One thing that happens to clocks; what it was."""
    seconds = chance.choice([1.0, 90.0, 3600.0, DAY, 400 * DAY]) * chance.uniform(0.5, 1)
    deeds: dict[str, Callable[[], None]] = {
        "clock set forwards": lambda: world.set_clock(seconds),
        "clock set backwards": lambda: world.set_clock(-seconds),
        "machine suspended": lambda: world.suspend(seconds),
    }
    what = chance.choice(list(deeds))
    deeds[what]()
    return what


def test_clocks_that_jump_all_day_age_nobody(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """However the clock is set and the machine suspended, nobody is called stalled for it"""
    working = started(house, BEATS_ON, name="working")
    silent = started(house, BEATS_ONCE, name="silent")
    world = wound(house)
    watch = WatchLoop(world, KILL)
    list(watch.run_round())
    for _ in range(10 * often):
        tally.broke(upset(world, chance))
        list(watch.run_round())
        ages(house)
        assert (alive(working.pid), alive(silent.pid)) == (True, True)
    assert told(house, "watch.verdict", name="") == []
    for _ in range(12):  # three minutes in which nobody touches a clock
        world.pass_by(ROUND)
        list(watch.run_round())
    assert alive(working.pid)
    assert not alive(silent.pid), "and makes nobody immortal"


def ages(house: House) -> None:
    """Nothing that anybody is shown is older than nothing."""
    for view in house.knell.list():
        assert view.heartbeat_age_s is None or view.heartbeat_age_s >= 0, view
    for one in house.knell.verdicts():
        assert not NEGATIVE.search(one.verdict.why), one.verdict
    no_negatives(house.knell.status()._asdict())


def no_negatives(told: object) -> None:
    if isinstance(told, dict):
        told = list(told.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(told, list | tuple):
        for part in told:  # pyright: ignore[reportUnknownVariableType]
            no_negatives(part)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(told, float):
        assert told >= 0


def test_a_life_over_which_the_clock_jumps(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """A receipt's times are never negative, and events keep their order, whatever the clock did"""
    world = wound(house)
    for number in range(3 * often):
        luna = started(house, SLEEPS)
        tally.broke(upset(world, chance))
        [[receipt]] = [slain.receipts for slain in house.kill("luna")]
        assert not alive(luna.pid)
        no_negatives(receipt.to_json())
        assert receipt.duration_ms >= 0
        assert all(rung.at_ms >= 0 for rung in receipt.rungs)
        assert len(runs(house)) == number + 1
        assert runs(house)[-1].id == luna.run.id, "the newest is the last"
    events = house.knell.events(limit=10_000)
    assert [event.id for event in events] == sorted(event.id for event in events)
    by_run: dict[str, list[str]] = {}
    for event in events:
        by_run.setdefault(event.run, []).append(event.type)
    for types in by_run.values():
        assert types[0] == "life.spawning", types
        assert types[-1] == "life.stopped", types


def test_a_clock_set_back_starves_no_restart(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """A clock set back by more than any restart waits holds none up"""
    for number in range(2 * often):
        name = f"luna-{number}"
        luna = started(house, EXITS_WHEN_TOLD, name=name, restart=1)
        world = wound(house)
        let_exit(house, 3)
        gone(luna.pid, luna.keeper)
        (house.root / "go").unlink()
        world.set_clock(-60)  # keepers have the real clock: so nothing is due when it is planned
        watch = WatchLoop(world, KILL)
        list(watch.run_round())
        assert [plan.decision for plan in plans(house) if plan.agent == name] == ["planned"]
        assert len(runs(house, name)) == 1, "nor is it early"
        world.set_clock(-chance.uniform(121, DAY - 70))
        list(watch.run_round())
        assert [run.restarted_from for run in runs(house, name)] == ["", luna.run.id]
        house.kill(name)
    tally.broke("clock set back before a restart", 2 * often)


def test_a_deadline_is_neither_early_nor_late_when_the_clock_is_set(
    house: House, tally: Tally
) -> None:
    """Who was given time for an answer has it, whatever the clock is set to meanwhile"""
    for number, set_by in enumerate((3600.0, -3600.0)):
        name = f"luna-{number}"
        luna = started(house, SLEEPS, name=name)
        world = wound(house)
        house.knell.shutdowns.ask(name, deadline=100, overdue=Overdue.FORCE)
        watch = WatchLoop(world, WatchWish())
        list(watch.run_round())
        world.set_clock(set_by)
        for _ in range(3):
            world.pass_by(25)
            list(watch.run_round())
        assert alive(luna.pid), "it had 25 seconds left"
        for _ in range(2):
            world.pass_by(25)
            list(watch.run_round())
        assert not alive(luna.pid)
    tally.broke("clock set while an answer was awaited", 2)
