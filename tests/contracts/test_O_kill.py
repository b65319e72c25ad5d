"""O7 to O11, O18 to O23, O33 to O40: one agent is ended, as the orchestrator is told it."""

import re

import pytest

from contracts.h_scenes import hears, words_of
from contracts.o_scenes import (
    DEVELOPER,
    ISO,
    KILL,
    ask,
    events,
    kill,
    life,
    make_task,
    pid_of,
    sql,
    task_of,
    worker,
)
from house import House, alive, descendants
from scenes import started

GRACEFUL_KEYS = [
    "success",
    "agent_id",
    "action",
    "pid",
    "kill_signal",
    "task_id",
    "killed_at",
    "grace_period_seconds",
    "killed_gracefully",
    "message",
]
FORCE_KEYS = [key for key in GRACEFUL_KEYS if key != "grace_period_seconds"]

# -- graceful ------------------------------------------------------------------------------------


def test_O22_a_graceful_kill_answers_as_in_the_contract(house: House) -> None:
    make_task(house)
    pid = pid_of(worker(house, task="TASK-31-1"))
    answer = kill(house, GRACE_PERIOD_SECONDS=10, FORCE_KILL=False, CLEANUP=True)
    assert list(answer) == GRACEFUL_KEYS
    assert re.fullmatch(ISO, answer.pop("killed_at"))
    assert answer == {
        "success": True,
        "agent_id": DEVELOPER,
        "action": "graceful_kill",
        "pid": pid,
        "kill_signal": "SIGTERM",
        "task_id": "TASK-31-1",
        "grace_period_seconds": 10,
        "killed_gracefully": True,
        "message": "Agent terminated gracefully",
    }
    assert isinstance(answer["grace_period_seconds"], int)
    assert not alive(pid)


def test_O7_TERM_comes_first(house: House) -> None:
    luna = started(house, hears(house))
    answer = kill(house, "luna")
    assert words_of(house, luna.pid)[0] == "SIGTERM"
    assert (answer["kill_signal"], answer["killed_gracefully"]) == ("SIGTERM", True)


def test_O8_it_has_ten_seconds_unless_another_grace_is_given(house: House) -> None:
    """It needs longer than any other verb would give it, and is left to finish."""
    luna = started(house, hears(house, linger=2.5))
    answer = kill(house, "luna")
    assert words_of(house, luna.pid) == ["SIGTERM", "finished"]
    assert answer["grace_period_seconds"] == 10
    assert answer["killed_gracefully"] is True


def test_O18_the_wait_ends_with_the_last_process(house: House) -> None:
    """A grace of a day is not waited for: pytest's own ceiling would end this test."""
    pid = pid_of(worker(house))
    answer = kill(house, GRACE_PERIOD_SECONDS=86_400)
    assert answer["success"] is True
    assert not alive(pid)


def test_O33_a_graceful_kill_lets_the_agent_clean_up(house: House) -> None:
    luna = started(house, hears(house, linger=0.3))
    assert kill(house, "luna")["killed_gracefully"] is True
    assert words_of(house, luna.pid)[-1] == "finished"


# -- escalation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("grace", [0, 0.3])
def test_O9_an_agent_that_ignores_TERM_is_killed(house: House, grace: float) -> None:
    pid = pid_of(worker(house, "ignores_term"))
    answer = kill(house, GRACE_PERIOD_SECONDS=grace)
    assert answer["success"] is True
    assert not alive(pid)


def test_O21_the_end_of_the_grace_leads_to_KILL_and_C34_says_so(house: House) -> None:
    make_task(house)
    pid = pid_of(worker(house, "ignores_term", task="TASK-31-1"))
    answer = kill(house, GRACE_PERIOD_SECONDS=0.3)
    assert list(answer) == GRACEFUL_KEYS
    answer.pop("killed_at")
    assert answer == {
        "success": True,
        "agent_id": DEVELOPER,
        "action": "graceful_kill",
        "pid": pid,
        "kill_signal": "SIGKILL",
        "task_id": "TASK-31-1",
        "grace_period_seconds": 0.3,
        "killed_gracefully": False,
        "message": "Agent force killed",
    }


# -- force ---------------------------------------------------------------------------------------


def test_O23_a_force_kill_answers_as_in_the_contract(house: House) -> None:
    make_task(house, "TASK-32-1")
    architect = "architect-20251026-001"
    pid = pid_of(worker(house, name=architect, task="TASK-32-1"))
    answer = kill(house, architect, FORCE_KILL=True, GRACE_PERIOD_SECONDS=0, CLEANUP=True)
    assert list(answer) == FORCE_KEYS
    assert re.fullmatch(ISO, answer.pop("killed_at"))
    assert answer == {
        "success": True,
        "agent_id": architect,
        "action": "force_kill",
        "pid": pid,
        "kill_signal": "SIGKILL",
        "task_id": "TASK-32-1",
        "killed_gracefully": False,
        "message": "Agent force killed",
    }


def test_O20_a_force_kill_is_verified(house: House) -> None:
    """No `eventually` here: the answer comes after the fact."""
    spawned = worker(house, "ignores_term")
    assert kill(house, FORCE_KILL=True)["success"] is True
    assert not alive(pid_of(spawned))
    assert house.knell.receipt(DEVELOPER).proof == "proven"


def test_O34_force_never_asks(house: House) -> None:
    luna = started(house, hears(house, linger=0))
    answer = kill(house, "luna", FORCE_KILL=True)
    assert words_of(house, luna.pid) == []
    assert (answer["action"], answer["kill_signal"]) == ("force_kill", "SIGKILL")


def test_O14_FORCE_KILL_skips_the_grace_that_was_given(house: House) -> None:
    luna = started(house, hears(house, linger=0))
    answer = kill(house, "luna", FORCE_KILL=True, GRACE_PERIOD_SECONDS=86_400)
    assert words_of(house, luna.pid) == []
    assert "grace_period_seconds" not in answer


# -- what is true afterwards ---------------------------------------------------------------------


def test_O35_the_target_is_terminated_and_nobody_else(house: House) -> None:
    target = pid_of(worker(house))
    other = pid_of(worker(house, name="architect-20251026-001"))
    kill(house)
    assert (alive(target), alive(other)) == (False, True)


@pytest.mark.parametrize("habit", ["setsid", "daemon", "scrubbed_daemon", "ignores_term"])
def test_O40_no_orphaned_processes_remain(house: House, habit: str) -> None:
    """Also not one that left the session, lost its parent and emptied its environment."""
    before = set(descendants())
    worker(house, habit)
    assert set(descendants()) - before
    assert kill(house, GRACE_PERIOD_SECONDS=0.5)["success"] is True
    assert set(descendants()) - before == set()


def test_O40_neither_of_agents_that_it_had_started(house: House) -> None:
    from house import OpenKnell
    from knell.life.base.caller import give_token

    spawned = worker(house)
    env = house.env | {"KNELL_TOKEN": give_token(house.knell.world, spawned.run)[1]}
    with OpenKnell(env=env) as inside:
        house.knell, outside = inside, house.knell
        try:
            child = pid_of(house.spawn("setsid", name="child"))
        finally:
            house.knell = outside
    assert kill(house)["success"] is True
    assert not alive(child)


def test_O36_agent_lifecycle_is_updated_and_O26_says_why(house: House) -> None:
    make_task(house)
    pid = pid_of(worker(house, task="TASK-31-1"))
    kill(house, REASON="no progress since noon")
    row = life(house)
    assert (row["status"], row["pid"], row["task_id"]) == ("killed", pid, "TASK-31-1")
    assert row["error_message"] == "no progress since noon"
    [(fresh,)] = sql(
        house,
        "SELECT abs(strftime('%s', 'now') - strftime('%s', completed_at)) < 60"
        " FROM agent_lifecycle WHERE agent_id = ?",
        DEVELOPER,
    )
    assert fresh


def test_O37_its_task_is_updated_and_O27_says_why(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1")
    kill(house, REASON="no progress since noon")
    task = task_of(house)
    assert task["status"] == "failed"
    assert sql(house, "SELECT completed_at IS NOT NULL FROM orchestrator_task") == [(1,)]
    assert task["error_message"] == "Agent killed: no progress since noon"


def test_O37_without_a_reason_the_message_still_says_something(house: House) -> None:
    """G32: text || NULL would be NULL."""
    make_task(house)
    worker(house, task="TASK-31-1")
    kill(house)
    assert task_of(house)["error_message"].startswith("Agent killed: ")
    assert life(house)["error_message"]


def test_O32_the_task_can_be_made_ready_for_a_retry_instead(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1")
    assert kill(house, TASKS="retry")["success"] is True
    task = task_of(house)
    assert (task["status"], task["assigned_agent"], task["retry_count"]) == ("spawned", None, 1)


def test_C7_a_finished_task_stays_finished(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1")
    sql(house, "UPDATE orchestrator_task SET status = 'completed'")
    kill(house)
    assert task_of(house)["status"] == "completed"


def test_O11_the_kill_is_recorded_for_debugging(house: House) -> None:
    pid = pid_of(worker(house, "ignores_term"))
    kill(house, GRACE_PERIOD_SECONDS=0.2, REASON="hung")
    told = events(house)
    rungs = [data["rung"] for kind, data in told if kind == "life.rung"]
    assert rungs == ["term", "kill"]
    [stopped] = [data for kind, data in told if kind == "life.stopped"]
    assert (stopped["reason"], stopped["detail"], stopped["by"]) == ("killed", "hung", "operator")
    assert house.knell.receipt(DEVELOPER).pid == pid


def test_O5_what_was_asked_and_what_came_of_it_is_traced(house: House) -> None:
    worker(house)
    kill(house, REASON="hung")
    [traced] = [data for kind, data in events(house) if kind == f"command.{KILL}"]
    assert (traced["success"], traced["by"]) == (True, "operator")
    assert traced["parameters"]["REASON"] == "hung"
    ask(house, KILL, AGENT_ID="nobody")
    [(last,)] = sql(house, "SELECT data FROM events ORDER BY id DESC LIMIT 1")
    assert '"agent_not_found"' in last


def test_O39_all_records_of_the_kill_speak_of_the_same(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1")
    answer = kill(house)
    receipt = house.knell.receipt(DEVELOPER)
    assert receipt.pid == answer["pid"] == life(house)["pid"]
    assert [task["id"] for task in receipt.tasks] == ["TASK-31-1"]
    kinds = [kind for kind, _ in events(house)]
    assert kinds.count("life.stopped") == 1
    assert "task.changed" in kinds
