"""Heartbeats that are no heartbeats: said by `explain`, believed by nobody, ending nobody."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from complaints import FAILED, complaint
from house import House, alive
from knell.life.watch.loop import WatchLoop, WatchWish
from scenes import SLEEPS, Played, started
from watchers import ask, heartbeat, last_run, once, told, verdict, wound

PATIENT = ("--older-than", "1")


def a_directory(beat: Path) -> None:
    beat.mkdir()


def a_fifo(beat: Path) -> None:
    os.mkfifo(beat)


def a_link_to_a_file(beat: Path) -> None:
    target = beat.with_name("elsewhere")
    target.touch()
    os.utime(target, (1, 1))
    beat.symlink_to(target)


def a_link_to_nothing(beat: Path) -> None:
    beat.symlink_to("/nowhere/at/all")


def a_link_to_itself(beat: Path) -> None:
    beat.symlink_to(beat)


NO_FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a directory": (a_directory, "directory"),
    "a FIFO": (a_fifo, "other"),
    "a link": (a_link_to_a_file, "link"),
    "a dangling link": (a_link_to_nothing, "link"),
    "a link to itself": (a_link_to_itself, "link"),
}
each_no_file = pytest.mark.parametrize(("make", "what"), NO_FILES.values(), ids=NO_FILES)


def found(one: dict[str, object]) -> str:
    return str(one["evidence"])


def killing_round(house: House) -> None:
    once(house, *PATIENT, "--stalled", "kill")


@each_no_file
def test_what_is_no_file_counts_as_never_beaten(
    house: House, make: Callable[[Path], None], what: str
) -> None:
    luna = started(house, SLEEPS)
    make(heartbeat(house, luna.run))
    one = verdict(house, "luna", *PATIENT)
    assert one["activity"] in {"working", "unknown"}
    assert f"its heartbeat file is not believed: no file but a {what}" in found(one)
    assert "heartbeat: never seen" in found(one)
    killing_round(house)
    killing_round(house)
    assert alive(luna.pid)
    assert last_run(house).heartbeat == ""


@each_no_file
def test_beat_says_that_it_cannot(house: House, make: Callable[[Path], None], what: str) -> None:
    """And never writes through a link, or waits for somebody to read."""
    luna = started(house, SLEEPS)
    beat = heartbeat(house, luna.run)
    make(beat)
    before = beat.lstat()
    refused, hint = complaint(house.run("beat", "luna"), FAILED)
    assert refused.startswith(f"cannot beat: {beat}: ")
    assert "knell doctor" in hint
    assert beat.lstat().st_mtime_ns == before.st_mtime_ns
    target = beat.with_name("elsewhere")
    if target.exists():
        assert target.stat().st_mtime == 1


def beating_at(house: House, seconds: float) -> Played:
    """An agent whose last beat lies that far from now."""
    luna = started(house, SLEEPS)
    beat = heartbeat(house, luna.run)
    beat.touch()
    at = time.time() + seconds
    os.utime(beat, (at, at))
    return luna


ODD_TIMES = {
    "in the future": (3600, "its heartbeat lies in the future; only a change of it counts"),
    "in a far future": (5e9, "its heartbeat lies in the future; only a change of it counts"),
    "before it was born": (-3600, "its heartbeat lies before its start; only a change of it count"),
    "in 1970": (-time.time(), "its heartbeat lies before its start; only a change of it counts"),
}


@pytest.mark.parametrize(("away", "says"), ODD_TIMES.values(), ids=ODD_TIMES)
def test_a_time_that_cannot_be_neither_ends_it_nor_keeps_it_for_ever(
    house: House, away: float, says: str
) -> None:
    luna = beating_at(house, away)
    world = wound(house)
    [one] = house.knell.verdicts("luna")
    assert one.verdict.activity == "working"
    assert says in str(one.verdict.evidence)
    world.pass_by(100)
    assert house.knell.verdicts("luna")[0].verdict.activity == "unresponsive"
    world.pass_by(100)
    assert house.knell.verdicts("luna")[0].verdict.activity == "stalled"
    os.utime(heartbeat(house, luna.run))
    assert house.knell.verdicts("luna")[0].verdict.activity == "working"


@pytest.mark.parametrize(("away", "says"), ODD_TIMES.values(), ids=ODD_TIMES)
def test_such_a_time_is_not_taken_into_the_store(house: House, away: float, says: str) -> None:
    luna = beating_at(house, away)
    killing_round(house)
    assert last_run(house).heartbeat == ""
    assert alive(luna.pid)
    assert says in found(verdict(house))


def test_a_beat_after_a_time_in_the_future_is_taken_in(house: House) -> None:
    luna = beating_at(house, 3600)
    once(house)
    os.utime(heartbeat(house, luna.run))
    once(house)
    assert last_run(house).heartbeat[:10] == last_run(house).started_at[:10]


@pytest.mark.parametrize("text", ["yesterday", "", "9999-99-99", "\u0000", "-1", "1e400"])
def test_a_heartbeat_in_the_store_that_is_no_time(house: House, text: str) -> None:
    """Other programs write that column too."""
    luna = started(house, SLEEPS)
    ask(house, "UPDATE runs SET last_heartbeat = ?", text)
    killing_round(house)
    one = verdict(house, "luna", *PATIENT)
    assert one["activity"] in {"working", "unknown"}
    assert alive(luna.pid)


MEMORIES = ["", "null", "[]", "{}", "not JSON", '{"at": 3}', '{"at": [1, 2, 3, "x"], "beat": 7}']


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_memory_that_makes_no_sense_is_looked_at_afresh(house: House, memory: str) -> None:
    luna = started(house, SLEEPS)
    ask(house, "UPDATE instances SET memory = ?", memory)
    killing_round(house)
    assert house.run("list").returncode == 0
    assert verdict(house, "luna")["activity"] == "working"
    assert alive(luna.pid)


def test_a_memory_of_another_boot_ages_nobody(house: House) -> None:
    luna = started(house, SLEEPS)
    heartbeat(house, luna.run).touch()
    world = wound(house)
    house.knell.verdicts("luna")
    [(memory,)] = ask(house, "SELECT memory FROM instances")
    ask(house, "UPDATE instances SET memory = ?", memory.replace(world.clock().boot, "another"))
    world.pass_by(1000)
    [one] = house.knell.verdicts("luna")
    assert one.verdict.activity == "working"


def test_the_directory_of_a_run_is_gone(house: House) -> None:
    luna = started(house, SLEEPS)
    rundir = heartbeat(house, luna.run).parent
    rundir.rename(rundir.with_name("aside"))
    killing_round(house)
    assert verdict(house, "luna", *PATIENT)["activity"] in {"working", "unknown"}
    complaint(house.run("beat", "luna"), FAILED)
    assert alive(luna.pid)
    rundir.with_name("aside").rename(rundir)


def test_many_odd_ones_do_not_keep_the_others_from_being_judged(house: House) -> None:
    odd = [started(house, SLEEPS, name=f"odd-{n}") for n in range(len(NO_FILES))]
    for one, (make, _) in zip(odd, NO_FILES.values(), strict=True):
        make(heartbeat(house, one.run))
    luna = started(house, SLEEPS)
    heartbeat(house, luna.run).touch()
    world = wound(house)
    watch = WatchLoop(world, WatchWish("kill"))
    for _ in range(10):
        list(watch.run_round())
        world.pass_by(15)
    assert not alive(luna.pid)
    assert all(alive(one.pid) for one in odd)
    assert [event.data["by"] for event in told(house, "life.stopped")] == ["watch"]
