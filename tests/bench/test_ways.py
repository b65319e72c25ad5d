"""The ways of ending that the benchmarks compare: each really starts and ends an agent.

Only those that need no installation; the peers are installed by `make bench`.
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from more_habits import ALL_HABITS, TOLD_MORE
from survivors import end_rest, ended, judged, nothing_yet
from ways import Way
from ways.knells import Adopted, KeeperOnly, WithCgroup, no_cgroup
from ways.scripts import KillGroup, KillPid
from ways.tmux import KillSession
from witness import Witness, reap
from workshop import Bench

from house import House, alive, descendants, eventually, pause
from knell.api.habits import HABITS, MEANINGS, OBEDIENT

KNELLS = (WithCgroup, KeeperOnly, Adopted)
MakesWay = Callable[[Bench], Way]


@pytest.fixture
def bench(house: House) -> Bench:
    """The knell of this tree instead of an installed one: what is tested here are the ways."""
    place = house.root / "bench"
    place.mkdir()
    return Bench(place, Path(sys.executable).parent)


def opened(way: Way) -> Way:
    why = way.unavailable()
    if why:
        pytest.skip(why)
    way.open()
    return way


def tried(bench: Bench, way: Way, habit: str) -> dict[str, int]:
    """What the benchmark counts for one trial."""
    counted = {"x": nothing_yet()}
    figures = {way.name: {"habits": {habit: counted["x"]}}}
    trial = ended(bench, way, habit, f"agent-{habit}".replace("_", "-"))
    eventually(lambda: judged(trial, figures))
    return counted["x"]


@pytest.mark.parametrize("make", [KillPid, KillGroup, KillSession, *KNELLS])
def test_every_way_starts_and_ends_an_obedient_agent(bench: Bench, make: MakesWay) -> None:
    """An agent without bad habits is ended in every way, and every way says so."""
    before = set(descendants())
    way = opened(make(bench))
    try:
        ready = bench.root / "ready"
        argv = [bench.python, "-S", "-c", OBEDIENT]
        started = way.start("luna", argv, {"KNELL_READY": str(ready)})
        eventually(ready.exists)
        assert alive(started.pid)
        assert OBEDIENT.encode() in Path(f"/proc/{started.pid}/cmdline").read_bytes()
        assert way.end(started).success
        eventually(lambda: not alive(started.pid))
    finally:
        way.close()
    eventually(lambda: set(descendants()) <= before)


@pytest.mark.parametrize("make", [WithCgroup, KeeperOnly])
def test_knell_leaves_nothing_where_others_do(bench: Bench, make: MakesWay) -> None:
    """A double-forked daemon with an empty environment does not survive knell."""
    way = opened(make(bench))
    found = tried(bench, way, "scrubbed_daemon")
    assert (found["trials"], found["survivors"], found["false_success"]) == (1, 0, 0)
    assert "proven gone" in str(found["said"])


@pytest.mark.needs_root
@pytest.mark.needs_cgroup
def test_the_one_has_a_cgroup_and_the_other_has_none(bench: Bench) -> None:
    """Each way of knell is measured with the means that its name says."""
    for make, inside in ((WithCgroup, True), (KeeperOnly, False)):
        way = opened(make(bench))
        started = way.start(f"luna-{inside}".lower(), ["sleep", "60"], {})
        own = Path(f"/proc/{started.pid}/cgroup").read_text()
        assert ("/knell-" in own) is inside
        assert way.end(started).success


def test_a_survivor_is_counted_and_then_ended(bench: Bench) -> None:
    """What a way leaves behind is counted, held against what it said, and not left by us."""
    way = opened(KillPid(bench))
    found = tried(bench, way, "scrubbed_daemon")
    assert (found["survivors"], found["trials_with_survivors"], found["false_success"]) == (1, 1, 1)
    assert (found["said"], found["trials"]) == ("killed", 1)


def test_a_process_that_hops_from_pid_to_pid_is_not_missed(bench: Bench) -> None:
    """The lock tells that somebody is left even while no scan meets it."""
    witness = Witness(bench.root / "lock")
    way = opened(KillPid(bench))
    ready = bench.root / "ready"
    source = witness.mark(ALL_HABITS["hopper_tight"])
    started = way.start("luna", [bench.python, "-S", "-c", source], {"KNELL_READY": str(ready)})
    eventually(ready.exists)
    way.end(started)
    for _ in range(20):
        assert not witness.none_left()
        reap()  # each look at thousands of its dead would let it hop to its own end meanwhile
        pause(0.005)
    assert witness.left() >= 1
    witness.end()
    assert witness.left() == 0


def test_nobody_but_the_holders_of_the_lock_is_ended(bench: Bench, house: House) -> None:
    """The bench ends what an agent left, and no neighbour in the same session."""
    before = set(descendants())
    witness = Witness(bench.root / "lock")
    neighbour = house.process("sleep", "60")
    source = witness.mark(OBEDIENT)
    agent = house.process(sys.executable, "-S", "-c", source)
    eventually(lambda: witness.holders() == [agent.pid])
    witness.end()
    assert not alive(agent.pid)
    agent.wait()
    assert alive(neighbour.pid)
    end_rest(before | {neighbour.pid})
    assert alive(neighbour.pid)
    neighbour.kill()
    neighbour.wait()


def test_every_habit_is_told_and_can_be_watched() -> None:
    """No habit is measured that the page cannot name."""
    assert set(ALL_HABITS) == set(MEANINGS | TOLD_MORE) >= set(HABITS)
    for habit, source in ALL_HABITS.items():
        compile(Witness(Path(os.devnull)).mark(source), habit, "exec")
    assert ALL_HABITS["hopper"] != HABITS["hopper"]  # it must outlast the slowest way


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_the_tmux_way_hits_a_session_whose_name_only_begins_alike(bench: Bench) -> None:
    """tmux takes a name for the beginning of a longer one; knell does not."""
    from innocents import prefixed

    assert prefixed(bench, KillSession(bench), 1)["hit"] == 1
    knell = WithCgroup(bench) if not no_cgroup() else KeeperOnly(bench)
    found = prefixed(bench, knell, 1)
    assert (found["trials"], found["hit"]) == (1, 0), found
