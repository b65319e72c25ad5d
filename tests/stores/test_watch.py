"""What every store promises the watch: memories, heartbeats, plans, restarts."""

import itertools

import pytest
from store_samples import (
    KILLED,
    OTHER,
    Clock,
    Open,
    Race,
    a_receipt,
    a_run,
    an_agent,
    ended,
    known,
    running,
    spawned,
    stopping,
    trail,
)

from knell.core.errors import StillRunning, StoreFailed
from knell.core.ports.store import Store, Watcher
from knell.core.restart import RestartPlan

PLANNED = RestartPlan("run-1", "ada", "planned", "it crashed", 1, "2030-01-01T00:00:02Z")
REFUSED = RestartPlan("run-1", "ada", "refused", "it was started meanwhile")
FAILED = RestartPlan("run-1", "ada", "failed", "its directory is gone", 1)


# -- what the watch knows ----------------------------------------------------------------------


def test_the_watch_remembers_what_it_saw(store: Store, connect: Open) -> None:
    running(store)
    running(store, "run-2", "bo", 4_100)
    assert store.watch.memories() == {}
    store.watch.remember({"run-1": "{}", "run-2": "quiet"}, {})
    store.watch.remember({"run-2": "busy"}, {})
    assert connect().watch.memories() == {"run-1": "{}", "run-2": "busy"}


def test_an_end_ends_the_memory_too(store: Store) -> None:
    run = running(store)
    store.watch.remember({run.id: "quiet"}, {run.id: "2030-01-01T00:00:00Z"})
    store.endings.end(run._replace(ending=KILLED), a_receipt(run), ())
    assert store.watch.memories() == {}
    assert known(store).heartbeat == "2030-01-01T00:00:00Z"


def test_one_that_ended_meanwhile_is_passed_over(store: Store) -> None:
    before = ended(store)
    running(store, "run-2", "bo", 4_100)
    beat = "2030-01-01T00:00:00Z"
    store.watch.remember(
        {"run-1": "x", "run-2": "y", "no-run": "z"}, {"run-1": beat, "run-2": beat}
    )
    assert store.watch.memories() == {"run-2": "y"}
    assert known(store) == before
    assert known(store, "run-2").heartbeat == beat


def test_a_round_is_written_at_once_or_not_at_all(store: Store) -> None:
    spawned(store)
    store.watch.remember({"run-1": "first"}, {})
    with pytest.raises(OverflowError):
        store.watch.remember({"run-1": "second"}, {"run-1": 2**70})  # type: ignore[dict-item]
    assert store.watch.memories() == {"run-1": "first"}


def test_a_round_without_news_writes_nothing(store: Store, clock: Clock) -> None:
    before = clock.last
    store.watch.remember({}, {})
    assert clock.last == before


BEATS = ["2029-12-31T12:00:00.500+00:00", "2029-12-31T12:00:01Z", "2029-12-31T10:00:02-02:00"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_latest_beat_is_kept_in_whatever_order_they_come(
    store: Store, order: tuple[int, ...]
) -> None:
    spawned(store)
    for number in order:
        store.watch.remember({}, {"run-1": BEATS[number]})
    assert known(store).heartbeat == BEATS[2]
    assert store.runs.live()[0].heartbeat == BEATS[2]


def test_a_beat_from_a_clock_ahead_of_time_gives_way(store: Store) -> None:
    spawned(store)
    for beat in ("2039-01-01T00:00:00Z", BEATS[0]):
        store.watch.remember({}, {"run-1": beat})
    assert known(store).heartbeat == BEATS[0]


@pytest.mark.parametrize("beat", ["", "soon", "9999999999", "2030-13-01T00:00:00Z"])
def test_a_beat_that_is_no_time_is_none(store: Store, beat: str) -> None:
    spawned(store)
    store.watch.remember({}, {"run-1": BEATS[0]})
    store.watch.remember({}, {"run-1": beat})
    assert known(store).heartbeat == BEATS[0]


def test_a_host_has_one_watcher_the_last_that_made_a_round(store: Store, clock: Clock) -> None:
    assert store.watch.watcher("host-a") is None
    store.watch.record_round("host-a", OTHER)
    store.watch.record_round("host-b", None)
    first = store.watch.watcher("host-a")
    store.watch.record_round("host-a", OTHER._replace(pid=301))
    assert first
    assert store.watch.watcher("host-a") == Watcher(OTHER._replace(pid=301), clock.last)
    assert first.round_at < clock.last
    other = store.watch.watcher("host-b")
    assert other
    assert other.process is None


# -- what it decided ---------------------------------------------------------------------------


def test_a_plan_is_news_once(store: Store, connect: Open) -> None:
    ended(store)
    assert store.restarts.plans() == []
    assert store.restarts.record(PLANNED)
    assert not connect().restarts.record(
        PLANNED._replace(due_at="2031-01-01T00:00:00Z", why="me too")
    )
    assert store.restarts.plans() == [PLANNED]
    (event,) = trail(store, "restart.planned")
    assert (event.agent, event.run) == ("ada", "run-1")
    assert event.data == {"why": "it crashed", "attempt": 1, "due_at": PLANNED.due_at}


@pytest.mark.parametrize("last", [REFUSED, FAILED])
def test_a_decision_only_moves_on(store: Store, last: RestartPlan) -> None:
    ended(store)
    assert store.restarts.record(PLANNED)
    assert store.restarts.record(last)
    assert not store.restarts.record(PLANNED)
    assert not store.restarts.record(REFUSED._replace(why="another word"))
    assert not store.restarts.record(FAILED._replace(why="another word"))
    (plan,) = store.restarts.plans()
    assert (plan.decision, plan.why) == (last.decision, last.why)
    assert [event.type for event in trail(store)[-2:]] == [
        "restart.planned",
        f"restart.{last.decision}",
    ]


def test_a_later_attempt_begins_anew(store: Store) -> None:
    ended(store)
    again = PLANNED._replace(attempt=2, why="tmux was busy")
    assert [store.restarts.record(plan) for plan in (PLANNED, FAILED, again, again)] == [
        True
    ] * 3 + [False]
    assert store.restarts.plans() == [again]


def test_plans_need_a_run(store: Store) -> None:
    with pytest.raises(StoreFailed):
        store.restarts.record(PLANNED)
    assert store.restarts.plans() == trail(store) == []


def test_of_many_who_plan_at_once_one_is_told_so(store: Store, race: Race) -> None:
    ended(store)
    assert sorted(race(6, "plan")) == ["False"] * 5 + ["True"]
    assert len(store.restarts.plans()) == len(trail(store, "restart.planned")) == 1


# -- restarts ----------------------------------------------------------------------------------


def test_a_restart_is_linked_and_its_plan_is_carried_out(store: Store) -> None:
    ended(store)
    store.restarts.record(PLANNED)
    run = a_run("run-2", restarted_from="run-1", attempt=1, task="TASK-1")
    store.runs.add(an_agent(restart=3), run)
    assert known(store, "run-2") == run
    agent = store.runs.agent("ada")
    assert agent
    assert agent.restart == 3
    assert store.restarts.plans() == [PLANNED._replace(decision="started")]
    (event,) = trail(store, "restart.started")
    assert (event.run, event.data["why"], event.data["attempt"]) == ("run-1", "it crashed", 1)
    assert not store.restarts.record(FAILED._replace(attempt=9))  # it did start


def test_a_restart_that_nobody_planned_is_on_record_too(store: Store) -> None:
    ended(store)
    store.runs.add(an_agent(), a_run("run-2", restarted_from="run-1"))
    assert store.restarts.plans() == [RestartPlan("run-1", "ada", "started", "asked for")]


def test_a_run_is_restarted_once(store: Store) -> None:
    ended(store)
    store.runs.add(an_agent(), a_run("run-2", restarted_from="run-1"))
    run = known(store, "run-2")._replace(ending=KILLED)
    store.endings.end(run, a_receipt(run), ())
    told, agents = trail(store), store.runs.agents()
    with pytest.raises(StillRunning):
        store.runs.add(an_agent(task="other"), a_run("run-3", restarted_from="run-1"))
    assert (trail(store), store.runs.agents(), store.runs.run("run-3")) == (told, agents, None)
    store.runs.add(an_agent(), a_run("run-3", restarted_from="run-2"))


def test_what_still_lives_is_not_restarted(store: Store) -> None:
    stopping(store)
    with pytest.raises(StillRunning):
        store.runs.add(an_agent(), a_run("run-2", restarted_from="run-1"))
    assert store.restarts.plans() == []


def test_what_nobody_knows_is_not_restarted(store: Store) -> None:
    with pytest.raises(StoreFailed, match="no run run-1 is on record"):
        store.runs.add(an_agent(), a_run("run-2", restarted_from="run-1"))
    assert store.runs.agents() == []


def test_of_many_who_restart_at_once_one_does(store: Store, race: Race) -> None:
    ended(store)
    store.restarts.record(PLANNED)
    assert sorted(race(6, "restart")) == ["StillRunning"] * 5 + ["restarted"]
    assert len(store.runs.live()) == len(trail(store, "restart.started")) == 1
    assert len(store.runs.agents()) == 2
