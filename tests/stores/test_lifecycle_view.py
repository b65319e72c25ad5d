"""The words of `agent_lifecycle` for every state, outcome and plan of ours."""

import pytest
from store_samples import (
    KILLED,
    Open,
    a_receipt,
    a_run,
    an_agent,
    ended,
    known,
    running,
    spawned,
    sql,
    stopping,
)

from knell.core.ports.store import Store
from knell.core.restart import RestartPlan
from knell.core.run import Ending, Outcome
from knell.stores.sqlite import SqliteStore


@pytest.fixture
def store(connect: Open) -> Store:
    store = connect()
    assert isinstance(store, SqliteStore)  # the tables are this plug's
    return store


def seen(where: str, columns: str, agent: str = "ada") -> tuple[object, ...]:
    [row] = sql(where, f"SELECT {columns} FROM agent_lifecycle WHERE agent_id = ?", agent)
    return row


def test_G35_a_life_has_a_pid_once_there_is_a_process(store: Store, where: str) -> None:
    spawned(store)
    assert seen(where, "status, pid, created_at, started_at") == (
        "spawned",
        None,
        "2029-12-31 00:00:00",
        None,
    )
    running(store, "run-2", "bo")
    assert seen(where, "status, pid, started_at", "bo") == ("running", 4_000, "2029-12-31 00:00:00")


def test_what_is_being_ended_still_runs(store: Store, where: str) -> None:
    stopping(store)
    assert seen(where, "status, completed_at, error_message") == ("running", None, None)


@pytest.mark.parametrize(
    ("ending", "status", "error"),
    [
        (Ending(Outcome.COMPLETED, "itself", "exit", exit_code=0), "completed", None),
        (Ending(Outcome.STOPPED, "leader", "user_request", "later"), "completed", None),
        (Ending(Outcome.FAILED, "keeper", "exit", "exit 1"), "failed", "exit 1"),
        (Ending(Outcome.FAILED, "watch", "timeout"), "timeout", "timeout"),
        (Ending(Outcome.KILLED, "watch", "timeout", "3600 s"), "timeout", "3600 s"),
        (Ending(Outcome.LOST, "", ""), "failed", "lost"),
        (Ending(Outcome.KILLED, "operator", "killed", "it hung"), "killed", "it hung"),
        (Ending(Outcome.TERMINATED, "x", "SIGTERM"), "killed", "SIGTERM"),
    ],
)
def test_C5_O26_every_outcome_has_a_word(
    store: Store, where: str, ending: Ending, status: str, error: str | None
) -> None:
    ended(store, ending=ending)
    assert seen(where, "status, error_message") == (status, error)


def test_what_was_let_go_of_is_completed(store: Store, where: str) -> None:
    run = running(store)._replace(ending=Ending(Outcome.ARCHIVED, "operator", "archived"))
    store.endings.end(run, a_receipt(run), ())
    assert seen(where, "status, error_message") == ("completed", None)


@pytest.mark.parametrize(
    ("code", "signal", "told"), [(3, None, 3), (None, 9, -9), (None, None, None)]
)
def test_an_exit_by_signal_is_a_negative_code(
    store: Store, where: str, code: int | None, signal: int | None, told: int | None
) -> None:
    ended(store, ending=KILLED._replace(exit_code=code, exit_signal=signal))
    assert seen(where, "exit_code, host, run_id") == (told, "host-a", "run-1")


def test_O47_a_planned_restart_is_seen_and_counted(store: Store, where: str) -> None:
    ended(store)
    plan = RestartPlan("run-1", "ada", "planned", "it crashed", 1)
    store.restarts.record(plan)
    assert seen(where, "status, retry_count") == ("pending_restart", 0)
    store.runs.add(an_agent(), a_run("run-2", restarted_from="run-1", attempt=1))
    assert seen(where, "status, retry_count", "ada#run-1") == ("pending_restart", 1)
    assert seen(where, "status, retry_count") == ("spawned", 1)


@pytest.mark.parametrize("decision", ["refused", "failed"])
def test_O47_what_is_not_restarted_keeps_its_word(store: Store, where: str, decision: str) -> None:
    ended(store)
    store.restarts.record(RestartPlan("run-1", "ada", decision, "because"))
    assert seen(where, "status, retry_count") == ("killed", 0)


def test_an_agent_without_a_role_is_of_its_kind(store: Store, where: str) -> None:
    store.runs.add(an_agent(role="architect"), a_run())
    spawned(store, "run-2", "bo")
    assert seen(where, "agent_type") == ("architect",)
    assert seen(where, "agent_type", "bo") == ("claude",)


def test_what_others_said_does_not_change_the_run(store: Store, where: str) -> None:
    before = ended(store)
    sql(where, "UPDATE agent_lifecycle SET error_message = 'it hung' WHERE agent_id = 'ada'")
    assert seen(where, "error_message, status") == ("it hung", "killed")
    assert known(store) == before
    assert store.events.read(0, "ada", 1)[0].type == "sql.updated"


def test_the_events_tell_how_it_was(store: Store, where: str) -> None:
    ended(store)
    running(store, "run-2")
    store.events.record("watch.verdict", "ada", "run-2",
               {"health_status": "stalled", "cpu_percent": 0.1, "memory_mb": 50})  # fmt: skip
    rows = sql(
        where,
        "SELECT agent_id, event_type, health_status, cpu_percent, memory_mb"
        " FROM agent_lifecycle_events WHERE event_type NOT IN ('life.spawning', 'life.stopping')",
    )
    assert rows == [
        ("ada#run-1", "life.started", "healthy", None, None),
        ("ada#run-1", "life.stopped", "dead", None, None),
        ("ada", "life.started", "healthy", None, None),
        ("ada", "watch.verdict", "stalled", 0.1, 50),
    ]
