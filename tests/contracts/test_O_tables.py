"""The orchestrator's tables: the seed's own statements on the file of a real knell."""

import contextlib
import sqlite3
from typing import Any

import pytest

from house import House, alive

AGENT = "code-developer-20251026-001"
TASK = "TASK-31-1"
SEED_COLUMNS = [
    "agent_id", "agent_type", "status", "task_id", "pid", "created_at", "started_at",
    "completed_at", "error_message", "last_heartbeat", "retry_count",
]  # fmt: skip
OTHER_COLUMNS = {
    "orchestrator_task": """
        task_id spec_id status priority estimated_hours assigned_agent created_at started_at
        completed_at orchestrator_instance_id retry_count error_message""",
    "orchestrator_state": """
        task_id worktree_path branch_name status created_at git_commit_ref
        orchestrator_instance_id merged_at merge_commit_ref cleaned_at""",
    "specs_task_dependency": """
        dependency_id task_id dependency_id_ref dependency_type dependency_status created_at
        resolved_at""",
    "agent_lifecycle_events": """
        agent_id event_type health_status cpu_percent memory_mb recorded_at""",
}

VALIDATE = """
SELECT agent_id, pid, status, task_id
FROM agent_lifecycle
WHERE agent_id = ?;
"""
SET_KILLED = """
UPDATE agent_lifecycle
SET status = 'killed',
    completed_at = CURRENT_TIMESTAMP,
    error_message = ?
WHERE agent_id = ?;
"""
FAIL_TASK = """
UPDATE orchestrator_task
SET status = 'failed',
    error_message = 'Agent killed: ' || ?
WHERE task_id = (
    SELECT task_id FROM agent_lifecycle
    WHERE agent_id = ?
);
"""
BEAT = "UPDATE agent_lifecycle SET last_heartbeat = ? WHERE agent_id = ?"


class Orchestrator:
    """A program that has the file open and knell's word for nothing."""

    def __init__(self, house: House) -> None:
        self.path = house.state / "knell.db"

    def run(self, statement: str, *values: object) -> tuple[list[tuple[Any, ...]], int]:
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            done = db.execute(statement, values)
            return done.fetchall(), done.rowcount

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self.run(statement, *values)[0]

    def row(self, agent: str = AGENT) -> dict[str, Any]:
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            found = db.execute("SELECT * FROM agent_lifecycle WHERE agent_id = ?", [agent])
            [row] = found.fetchall()
            return dict(row)

    def task(self, task: str = TASK) -> tuple[str, str]:
        [row] = self.ask(
            "SELECT status, error_message FROM orchestrator_task WHERE task_id = ?", task
        )
        return row


@pytest.fixture
def orchestrator(house: House) -> Orchestrator:
    house.knell.list()  # whoever comes first makes the file
    return Orchestrator(house)


def begin(house: House, orchestrator: Orchestrator, status: str = "running") -> int:
    """An agent at work on a task; its pid."""
    orchestrator.run(
        "INSERT INTO orchestrator_task (task_id, spec_id, status, assigned_agent)"
        " VALUES (?, 'SPEC-31', ?, ?)",
        *(TASK, status, AGENT),
    )
    run = house.spawn(name=AGENT, role="code-developer", task=TASK).run
    assert run.process
    return run.process.pid


def types(house: House) -> list[str]:
    return [event["type"] for event in house.json("events")["events"]]


# -- reading -------------------------------------------------------------------------------------


def test_O3_agent_lifecycle_has_the_seeds_columns(orchestrator: Orchestrator) -> None:
    columns = [row[1] for row in orchestrator.ask("PRAGMA table_info(agent_lifecycle)")]
    assert columns[: len(SEED_COLUMNS)] == SEED_COLUMNS
    assert columns[len(SEED_COLUMNS) :] == ["exit_code", "host", "run_id"]
    assert orchestrator.ask("SELECT * FROM agent_lifecycle") == []
    assert orchestrator.ask("SELECT * FROM agent_lifecycle_events") == []


@pytest.mark.parametrize("table", OTHER_COLUMNS)
def test_O3_the_other_tables_have_their_columns(orchestrator: Orchestrator, table: str) -> None:
    found = [row[1] for row in orchestrator.ask(f"PRAGMA table_info({table})")]
    assert found == OTHER_COLUMNS[table].split()


def test_O3_a_task_may_be_written_with_few_columns(orchestrator: Orchestrator) -> None:
    orchestrator.run("INSERT INTO orchestrator_task (task_id) VALUES ('TASK-1-1')")
    orchestrator.run("INSERT INTO orchestrator_state (worktree_path) VALUES ('/srv/tree')")
    orchestrator.run(
        "INSERT INTO specs_task_dependency (task_id, dependency_id_ref) VALUES ('TASK-1-1', 'T')"
    )
    [(status, retries, age)] = orchestrator.ask(
        "SELECT status, retry_count, julianday('now') - julianday(created_at)"
        " FROM orchestrator_task"
    )
    assert (status, retries) == ("spawned", 0)
    assert age is not None


def test_O17_an_agent_is_validated_by_its_id(house: House, orchestrator: Orchestrator) -> None:
    pid = begin(house, orchestrator)
    assert orchestrator.ask(VALIDATE, AGENT) == [(AGENT, pid, "running", TASK)]
    assert orchestrator.ask(VALIDATE, "architect-20251026-001") == []
    assert orchestrator.row()["agent_type"] == "code-developer"


def test_O17_no_pid_and_no_task_are_null(house: House, orchestrator: Orchestrator) -> None:
    house.spawn(name="plain")
    row = orchestrator.row("plain")
    assert (row["task_id"], row["completed_at"], row["error_message"]) == (None, None, None)
    assert row["agent_type"] == "command"


# -- what a kill writes ----------------------------------------------------------------------------


def test_O26_O36_a_kill_is_in_the_table(house: House, orchestrator: Orchestrator) -> None:
    pid = begin(house, orchestrator)
    assert house.run("kill", AGENT, "--reason", "no heartbeat").returncode == 0
    assert not alive(pid)
    row = orchestrator.row()
    assert (row["status"], row["pid"]) == ("killed", pid)
    assert row["completed_at"] >= row["started_at"] >= row["created_at"]
    assert row["error_message"]


def test_O26_the_seeds_update_of_an_ended_agent_keeps_its_words(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    house.kill(AGENT)
    before = orchestrator.row()
    orchestrator.run(SET_KILLED, "no heartbeat for 250 s", AGENT)
    assert orchestrator.row() == before | {"error_message": "no heartbeat for 250 s"}
    assert types(house)[-1] == "sql.updated"
    orchestrator.run(SET_KILLED, None, AGENT)
    assert orchestrator.row() == before  # our own words again, never none


def test_O26_an_agent_is_not_killed_by_writing_so(house: House, orchestrator: Orchestrator) -> None:
    pid = begin(house, orchestrator)
    before = orchestrator.row()
    with pytest.raises(sqlite3.IntegrityError, match="use knell kill"):
        orchestrator.run(SET_KILLED, "no heartbeat", AGENT)
    with pytest.raises(sqlite3.IntegrityError, match="use knell kill"):
        orchestrator.run("UPDATE agent_lifecycle SET completed_at = CURRENT_TIMESTAMP")
    assert alive(pid)
    assert orchestrator.row() == before


@pytest.mark.parametrize("change", ["pid = 1", "task_id = 'T'", "error_message = 'x'", "host = ''"])
def test_O26_nothing_else_of_a_live_agent_can_be_written(
    house: House, orchestrator: Orchestrator, change: str
) -> None:
    begin(house, orchestrator)
    before = orchestrator.row()
    with pytest.raises(sqlite3.IntegrityError, match="only last_heartbeat"):
        orchestrator.run(f"UPDATE agent_lifecycle SET {change}")
    assert orchestrator.row() == before


def test_O3_lives_are_neither_invented_nor_deleted(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    with pytest.raises(sqlite3.IntegrityError, match="use knell spawn"):
        orchestrator.run("INSERT INTO agent_lifecycle (agent_id, status) VALUES ('x', 'spawned')")
    with pytest.raises(sqlite3.IntegrityError, match="use knell kill"):
        orchestrator.run("DELETE FROM agent_lifecycle")
    assert len(orchestrator.ask("SELECT * FROM agent_lifecycle")) == 1


def test_O27_O37_a_kill_fails_the_task_with_the_reason(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    [slain] = house.kill(AGENT)
    [receipt] = slain.receipts
    assert receipt.tasks == ({"id": TASK, "now": "failed", "was": "running"},)
    status, error = orchestrator.task()
    assert status == "failed"
    assert error.startswith("Agent killed: ")
    _, changed = orchestrator.run(FAIL_TASK, "no heartbeat", AGENT)
    assert changed == 1
    assert orchestrator.task() == ("failed", "Agent killed: no heartbeat")


def test_O27_the_seeds_update_touches_no_other_task(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    house.spawn(name="plain")  # without a task: its NULL must not match
    orchestrator.run("INSERT INTO orchestrator_task (task_id, status) VALUES ('TASK-2', 'running')")
    assert orchestrator.run(FAIL_TASK, "x", "plain")[1] == 0
    assert orchestrator.run(FAIL_TASK, "x", "nobody")[1] == 0
    assert orchestrator.task() == ("running", None)
    assert orchestrator.task("TASK-2") == ("running", None)


@pytest.mark.parametrize("finished", ["completed", "merged"])
def test_G33_a_finished_task_is_never_turned_into_a_failed_one(
    house: House, orchestrator: Orchestrator, finished: str
) -> None:
    begin(house, orchestrator, status=finished)
    house.kill(AGENT)
    assert orchestrator.run(FAIL_TASK, "no heartbeat", AGENT)[1] == 0
    for word in ("failed", "running", "spawned"):
        orchestrator.run("UPDATE orchestrator_task SET status = ?", word)
    with pytest.raises(sqlite3.IntegrityError, match="finished"):
        orchestrator.run(
            "INSERT OR REPLACE INTO orchestrator_task (task_id, status) VALUES (?, 'spawned')", TASK
        )
    assert orchestrator.task() == (finished, None)
    orchestrator.run("UPDATE orchestrator_task SET status = 'merged'")
    assert orchestrator.task() == ("merged", None)


def test_O5_O39_every_change_is_told_with_who_and_when(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    house.kill(AGENT)
    orchestrator.run(SET_KILLED, "no heartbeat", AGENT)
    told = house.json("events")["events"]
    by_type = {event["type"]: event for event in told}
    assert all(event["at"] for event in told)
    changed, noted = by_type["task.changed"], by_type["sql.updated"]
    assert (changed["agent"], changed["data"]["was"], changed["data"]["now"]) == (
        AGENT,
        "running",
        "failed",
    )
    assert noted["agent"] == AGENT
    assert noted["data"]["error_message"] == "no heartbeat"
    assert by_type["life.stopped"]["data"]["tasks"] == [
        {"id": TASK, "now": "failed", "was": "running"}
    ]
    seen = orchestrator.ask(
        "SELECT event_type FROM agent_lifecycle_events WHERE agent_id = ?", AGENT
    )
    assert {"life.started", "life.stopped", "task.changed", "sql.updated"} <= {t for (t,) in seen}


# -- heartbeats ----------------------------------------------------------------------------------


def test_G31_the_age_of_a_heartbeat_can_be_computed(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    assert orchestrator.row()["last_heartbeat"] is None
    orchestrator.run(BEAT, "2025-10-26 10:30:50", AGENT)
    assert orchestrator.row()["last_heartbeat"] == "2025-10-26 10:30:50"
    [(years, seconds, days)] = orchestrator.ask(
        "SELECT '2025-10-26 10:35:00' - last_heartbeat,"
        " strftime('%s', '2025-10-26 10:35:00') - strftime('%s', last_heartbeat),"
        " (julianday('2025-10-26 10:35:00') - julianday(last_heartbeat)) * 86400"
        " FROM agent_lifecycle WHERE agent_id = ?",
        AGENT,
    )
    assert years == 0  # what the seed's siblings compute: never a stall
    assert (seconds, round(days)) == (250, 250)
    stalled = (
        "SELECT agent_id FROM agent_lifecycle WHERE status = 'running'"
        " AND strftime('%s', 'now') - strftime('%s', last_heartbeat) > 120"
    )
    assert orchestrator.ask(stalled) == [(AGENT,)]
    orchestrator.run("UPDATE agent_lifecycle SET last_heartbeat = CURRENT_TIMESTAMP")
    assert orchestrator.ask(stalled) == []


def test_G31_every_time_is_of_the_same_form(house: House, orchestrator: Orchestrator) -> None:
    begin(house, orchestrator)
    house.kill(AGENT)
    row = orchestrator.row()
    for column in ("created_at", "started_at", "completed_at"):
        assert orchestrator.ask("SELECT datetime(?)", row[column]) == [(row[column],)]


def test_O46_a_beat_moves_only_forwards_and_never_into_the_future(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    orchestrator.run(BEAT, "2025-10-26T10:30:50Z", AGENT)
    orchestrator.run(BEAT, "2025-10-26 10:30:49", AGENT)
    assert orchestrator.row()["last_heartbeat"] == "2025-10-26 10:30:50"
    orchestrator.run(BEAT, "2999-01-01 00:00:00", AGENT)
    [(ahead,)] = orchestrator.ask("SELECT last_heartbeat > CURRENT_TIMESTAMP FROM agent_lifecycle")
    assert ahead == 0
    assert "sql.updated" not in types(house)  # beats are too many for the trail


@pytest.mark.parametrize("beat", ["soon", "", None, 1761474650])
def test_O46_a_beat_that_is_no_time_is_refused(
    house: House, orchestrator: Orchestrator, beat: object
) -> None:
    begin(house, orchestrator)
    orchestrator.run(BEAT, "2025-10-26 10:30:50", AGENT)
    with pytest.raises(sqlite3.IntegrityError, match="has to be a time"):
        orchestrator.run(BEAT, beat, AGENT)
    assert orchestrator.row()["last_heartbeat"] == "2025-10-26 10:30:50"


def test_O46_the_dead_do_not_beat(house: House, orchestrator: Orchestrator) -> None:
    begin(house, orchestrator)
    house.kill(AGENT)
    before = orchestrator.row()
    orchestrator.run("UPDATE agent_lifecycle SET last_heartbeat = CURRENT_TIMESTAMP")
    assert orchestrator.row() == before


# -- which agent ---------------------------------------------------------------------------------


def test_G34_every_life_has_an_id_of_its_own(house: House, orchestrator: Orchestrator) -> None:
    runs: list[str] = []
    for _ in range(3):
        runs.append(house.spawn(name=AGENT, task=TASK).run.id)
        house.kill(AGENT)
    ids = [
        row[0] for row in orchestrator.ask("SELECT agent_id FROM agent_lifecycle ORDER BY run_id")
    ]
    assert sorted(ids) == sorted([f"{AGENT}#{runs[0]}", f"{AGENT}#{runs[1]}", AGENT])
    assert orchestrator.row()["run_id"] == runs[2]
    orchestrator.run(SET_KILLED, "only the last", AGENT)
    told = orchestrator.ask(
        "SELECT run_id FROM agent_lifecycle WHERE error_message = 'only the last'"
    )
    assert told == [(runs[2],)]


def test_G34_an_update_that_also_hits_a_live_agent_changes_nobody(
    house: House, orchestrator: Orchestrator
) -> None:
    begin(house, orchestrator)
    house.kill(AGENT)
    pid = house.spawn(name=AGENT, task=TASK).run.process
    before = orchestrator.ask("SELECT * FROM agent_lifecycle ORDER BY run_id")
    with pytest.raises(sqlite3.IntegrityError, match="use knell kill"):
        orchestrator.run(
            "UPDATE agent_lifecycle SET status = 'killed', error_message = 'x' WHERE task_id = ?",
            TASK,
        )
    assert orchestrator.ask("SELECT * FROM agent_lifecycle ORDER BY run_id") == before
    assert pid
    assert alive(pid.pid)
