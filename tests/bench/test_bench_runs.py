"""The scripts of `make bench` on this interpreter's knell: small, but real."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import growth
import many
import pytest
import run
import times
from deathwatch import Deathwatch
from ways.scripts import KillGroup, KillPid
from workshop import Bench, against, spread, workshop

from house import House, alive, eventually
from knell.api.habits import HABITS, OBEDIENT

ROOT = Path(__file__).resolve().parent.parent.parent
SPARED = [ROOT / "bench" / "results.json", ROOT / "docs" / "benchmarks.md"]


@pytest.fixture
def bench(house: House) -> Iterator[Bench]:
    """Without a wheel; `house` sees to it that nothing is left running."""
    with workshop(install=False) as found:
        yield found


def bench_run(*options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(ROOT / "bench" / "run.py"), "--dry", "--quick", "--here", *options]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100)


# -- the script ------------------------------------------------------------------------------------


def test_a_quick_dry_run_measures_a_part_and_writes_nothing(house: House) -> None:
    """`make bench` measures, tells what it is at, and with --dry leaves every file as it was."""
    before = [file.stat().st_mtime_ns for file in SPARED if file.exists()]
    done = bench_run("--only", "growth")
    assert done.returncode == 0, done.stderr
    assert "[1 of 1] growth" in done.stderr
    found = json.loads(done.stdout)
    assert found["growth"]["runs"] == 1000
    assert set(found["growth"]["verbs"]) == {"floor: python -c pass", *growth.VERBS}
    assert all(set(sizes) == {"0", "1000"} for sizes in found["growth"]["verbs"].values())
    assert found["growth"]["bytes_a_run"] > 500
    assert set(found["taken"]) == {"growth"}
    assert [file.stat().st_mtime_ns for file in SPARED if file.exists()] == before


def test_a_part_that_does_not_exist_is_refused() -> None:
    """A mistyped part is named, with those that there are."""
    done = bench_run("--only", "keepers")
    assert done.returncode == 1
    assert "no such part: keepers; there are starts, times" in done.stderr


def test_a_run_that_is_cut_short_leaves_nothing(house: House) -> None:
    """Told to end in the middle, it ends its agents and takes its temporary place away."""
    argv = [sys.executable, str(ROOT / "bench" / "run.py"), "--dry", "--here", "--only", "keeper"]
    env = os.environ | {"TMPDIR": str(house.root)}
    measuring = subprocess.Popen(
        argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    eventually(lambda: list(house.root.glob("knell-bench-*/state/runs/*/ready")))
    measuring.terminate()
    assert measuring.wait(60) == 128 + signal.SIGTERM
    assert not list(house.root.glob("knell-bench-*"))


def test_a_part_that_fails_does_not_take_the_others_with_it(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was measured before and after a part that failed is kept."""

    def fails(*_: object) -> dict[str, object]:
        raise RuntimeError("no such agent")

    parts = {"a": run.Part("", 1, lambda *_: {"x": 1}), "b": run.Part("", 1, fails)}
    monkeypatch.setattr(run, "PARTS", parts | {"c": run.Part("", 1, lambda *_: {"y": 2})})
    found = run.measured(Bench(tmp_path), ["a", "b", "c"], run.QUICK)
    assert (found["a"], found["c"]) == ({"x": 1}, {"y": 2})
    assert "b" not in found
    assert set(found["taken"]) == {"a", "c"}


def test_parts_that_were_not_measured_keep_their_figures_and_their_day() -> None:
    """`--only` changes nothing else in the results."""
    known = {"times": 1, "many": 2, "taken": {"times": "monday", "many": "monday"}}
    new = run.together(known, {"many": 3, "taken": {"many": "tuesday"}})
    assert new == {"times": 1, "many": 3, "taken": {"times": "monday", "many": "tuesday"}}
    assert run.together({}, {"many": 3, "taken": {}}) == {"many": 3, "taken": {}}


def test_ways_that_were_not_measured_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--ways` changes nothing of the others: neither floor nor version, nor how often they ran."""
    old = {"ways": {"a": 1}, "floor": {"median": 5}, "versions": {"a": "1"}}
    known = {
        "times": old | {"unavailable": {"b": "why"}},
        "trials": 5,
        "taken": {"times": "monday"},
    }
    part = {"ways": {"b": 2}, "floor": {"median": 9}, "versions": {"b": "2"}, "unavailable": {}}
    monkeypatch.setattr(run.ways, "WANTED", ["b"])
    new = run.together(known, {"times": part, "trials": 1, "taken": {"times": "tuesday"}})
    assert new["times"] == {
        "ways": {"a": 1, "b": 2}, "floor": {"median": 5}, "versions": {"a": "1", "b": "2"},
        "unavailable": {},
    }  # fmt: skip
    assert (new["trials"], new["taken"]) == (5, {"times": "monday", "times: b": "tuesday"})


def given(*words: str) -> argparse.Namespace:
    return run.options().parse_args(words)


def test_what_is_asked_for_overrules_what_a_quick_look_would_take() -> None:
    """Options hold in a quick look too, and a part that is asked for by name is measured."""
    names, scale = run.chosen(given("--quick", "--only", "watch,times", "--sizes", "3,4"))
    assert names == ["times", "watch"]
    assert scale == run.QUICK._replace(sizes=(3, 4))
    assert run.chosen(given("--trials", "2")) == (list(run.PARTS), run.Scale(trials=2))
    assert run.chosen(given("--most", "0"))[1].most == 0


def test_a_quick_look_leaves_out_what_is_slow() -> None:
    """Nothing that takes minutes is in it."""
    names, scale = run.chosen(given("--quick"))
    assert not set(names) & set(run.SLOW)
    assert set(names) | set(run.SLOW) == set(run.PARTS)
    assert scale.trials == 1


# -- figures ---------------------------------------------------------------------------------------


def test_a_spread_tells_the_middle_and_both_ends() -> None:
    """Of an even number of values the median lies between the two in the middle."""
    assert spread([4.0, 1.0, 10.0, 2.0]) == {"min": 1.0, "median": 3.0, "max": 10.0, "n": 4}


def test_ratios_are_of_medians_to_the_floor_of_the_same_trials() -> None:
    """One slow start changes no ratio, and what was never seen has none."""
    found = against({"floor: x": [10.0, 10.0, 99.0], "list": [25.0, 30.0, 999.0], "death": []})
    assert found["floor: x"]["floors"] == 1.0
    assert found["list"]["floors"] == 3.0
    assert "death" not in found


def test_half_of_the_runs_are_of_agents_that_came_back() -> None:
    """The history is of both sorts: lived once, and a hundred times."""
    names = [growth.agent_number(life) for life in range(2_000)]
    counts = sorted(names.count(name) for name in set(names))
    assert counts == [1] * 1_000 + [growth.LIVES] * 10


def test_a_claim_is_early_while_somebody_lives_and_false_if_somebody_stays() -> None:
    """Nobody's word is taken for a death."""
    ended = [
        times.Ended(100, 90, claimed=True, said=""),
        times.Ended(100, 700, claimed=True, said=""),
        times.Ended(100, 500, claimed=True, said=""),
        times.Ended(100, None, claimed=True, said=""),
        times.Ended(100, None, claimed=False, said="Sent"),
    ]
    found = times.figures(ended, [10.0])
    told = {name: found[name] for name in ("n", "never", "claims", "early_claims", "false_claims")}
    assert told == {"n": 5, "never": 2, "claims": 4, "early_claims": 3, "false_claims": 1}
    assert found["death_ms"]["median"] == 500
    assert found["return_ms"]["floors"] == 10
    assert times.figures(ended[3:], [10.0])["death_ms"] is None


def test_only_knell_is_asked_for_the_most() -> None:
    """Every way ends the same numbers; the largest crowd is knell's alone."""
    rounds = many.rounds([many.KNELL, "peer"], 5, [1, 50], 1000)
    assert [trial.size for trial in rounds] == sorted(trial.size for trial in rounds)
    assert {trial.way for trial in rounds if trial.size == 1000} == {many.KNELL}
    assert rounds.count(many.Trial(many.KNELL, "deaf", 50)) == 4
    assert rounds.count(many.Trial("peer", "deaf", 50)) == 1
    assert not [trial for trial in many.rounds(["peer"], 1, [1], 0) if trial.size != 1]


# -- deaths ----------------------------------------------------------------------------------------


def test_a_deathwatch_waits_for_the_last_of_the_family(house: House) -> None:
    """An agent that is gone while its child lives on is not dead; who survives is ended."""
    ready = house.root / "ready"
    source = HABITS["ignores_term"]
    env = house.env | {"KNELL_READY": str(ready)}
    agent = subprocess.Popen([sys.executable, "-S", "-c", source], env=env)
    eventually(ready.exists)
    children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children")
    child = int(eventually(children.read_text))
    with Deathwatch([agent.pid]) as watch:
        agent.kill()
        agent.wait()
        assert watch.last_death(time.perf_counter() + 0.2) is None
        assert alive(child)
    eventually(lambda: not alive(child))


def test_a_deathwatch_tells_when_the_last_one_died(house: House) -> None:
    """Not when it was asked."""
    agent = house.process("sleep", "600")
    begun = time.perf_counter()
    with Deathwatch([agent.pid]) as watch:
        agent.kill()
        agent.wait()
        died = watch.last_death(time.perf_counter() + 20)
        assert died is not None
        assert begun < died < time.perf_counter()
        assert watch.last_death(time.perf_counter() + 20) == died


def test_one_ending_is_timed_by_what_was_seen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that says "killed" while a child lives is caught; one that ends all is not."""
    monkeypatch.setattr(times, "CEILING", 0.5)
    deaf = times.Case(HABITS["ignores_term"], 0.1)
    blind = times.ending(bench, KillPid(bench), deaf, "blind")
    assert blind.claimed
    assert blind.died_ms is None
    sure = times.ending(bench, KillGroup(bench), times.Case(OBEDIENT, 1), "sure")
    assert sure.died_ms is not None
    assert not sure.early


def test_a_crowd_is_ended_by_knell_and_listed_before(bench: Bench) -> None:
    """The figures of `kill all` are of agents that were alive, and are of none that lives on."""
    found = many.by_knell(bench, many.Trial(many.KNELL, "obedient", 2))
    assert found.died_ms is not None
    assert len(found.listed_ms) == 5
    assert json.loads(bench.must(bench.knell, "list", "--json"))["agents"] == []
