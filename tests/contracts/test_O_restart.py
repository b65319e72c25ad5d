"""O47: auto-restart-agent restarts killed agents; C32, G39."""

import os
import signal
from typing import Any

import pytest

from contracts.o_scenes import (
    DEVELOPER,
    RESTART,
    ask,
    events,
    fall_silent,
    kill,
    kill_stalled,
    life,
    make_task,
    pid_of,
    run_of,
    task_of,
    worker,
)
from house import House, alive, eventually
from scenes import started

AT_ONCE = {"INITIAL_BACKOFF": 0}


def restart(house: House, agent: str = DEVELOPER, /, **params: Any) -> dict[str, Any]:
    return ask(house, RESTART, ACTION="restart", AGENT_ID=agent, **AT_ONCE | params)


def crash(house: House, body: str = "", *, name: str = DEVELOPER, **wish: Any) -> None:
    """An agent that has failed by itself."""
    one = started(house, f"tell()\n{body}\nsys.exit(1)", name=name, **wish)
    eventually(lambda: not alive(one.keeper))


def test_O47_a_stalled_agent_that_was_killed_is_restarted(house: House) -> None:
    first = worker(house)
    fall_silent(house, first.run)
    kill_stalled(house)
    answer = restart(house)
    assert (answer["success"], answer["action"]) == (True, "restart")
    assert answer["new_agent_id"] == DEVELOPER
    assert (answer["retry_count"], answer["backoff_seconds"]) == (1, 0)
    assert alive(answer["pid"])
    assert answer["pid"] != pid_of(first)


def test_C32_the_old_life_is_kept_and_the_new_one_linked_to_it(house: House) -> None:
    first = worker(house)
    kill(house)
    answer = restart(house)
    assert answer["agent_id"] == f"{DEVELOPER}#{first.run.id}"
    old, new = life(house, answer["agent_id"]), life(house)
    assert (old["status"], old["pid"]) == ("pending_restart", pid_of(first))
    assert (old["retry_count"], new["retry_count"]) == (1, 1)
    assert (new["status"], new["pid"]) == ("running", answer["pid"])
    assert run_of(house).restarted_from == first.run.id


def test_O47_one_that_was_killed_on_purpose_is_restarted_when_it_is_asked_for_by_name(
    house: House,
) -> None:
    worker(house)
    kill(house)
    assert restart(house)["success"] is True


def test_G39_but_nobody_undoes_a_deliberate_kill_in_passing(house: House) -> None:
    worker(house)
    kill(house)
    crash(house, name="crashed")
    answer = ask(house, RESTART, ACTION="restart_all_failed", **AT_ONCE)
    assert [one["new_agent_id"] for one in answer["restarted_agents"]] == ["crashed"]
    assert answer["agents_restarted"] == 1
    [spared] = answer["skipped_agents"]
    assert (spared["agent_id"], spared["error"]) == (DEVELOPER, "non_retryable_error")
    assert "on purpose" in spared["message"]
    assert not run_of(house).live


def test_G39_nor_does_its_task_wait_for_it(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1", restart=3)
    kill(house)
    assert task_of(house)["status"] == "failed"


def test_O47_its_task_is_taken_up_again(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1")
    kill(house)
    assert task_of(house)["status"] == "failed"
    assert restart(house)["task_id"] == "TASK-31-1"
    task = task_of(house)
    assert (task["status"], task["assigned_agent"]) == ("running", DEVELOPER)


def test_O47_a_task_that_was_handed_on_is_not_taken_away(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1")
    kill(house, TASKS="requeue")
    assert house.knell.world.store.orchestrator.take_task("TASK-31-1", "somebody", "")
    assert restart(house)["success"] is True
    assert task_of(house)["assigned_agent"] == "somebody"


def test_O47_three_restarts_in_a_row_are_enough(house: House) -> None:
    crash(house)
    for number in (1, 2, 3):
        answer = restart(house)
        assert answer["retry_count"] == number
        keeper = run_of(house).keeper
        assert keeper
        eventually(lambda keeper=keeper: not alive(keeper.pid))
    answer = restart(house)
    assert (answer["success"], answer["error"]) == (False, "max_retries_exceeded")
    assert answer["retry_count"] == 3
    assert restart(house, MAX_RETRIES=4)["success"] is True


def test_O47_MAX_RETRIES_0_means_never(house: House) -> None:
    crash(house)
    assert restart(house, MAX_RETRIES=0)["error"] == "max_retries_exceeded"


@pytest.mark.parametrize(
    "words",
    ["git_conflict", "SyntaxError: invalid syntax", "spec_not_found", "invalid_configuration"],
)
def test_O47_permanent_errors_are_not_retried(house: House, words: str) -> None:
    crash(house, f"print({words!r}, flush=True)")
    answer = ask(house, RESTART, ACTION="check_status", AGENT_ID=DEVELOPER)
    assert answer["can_retry"] is False
    done = restart(house)
    assert (done["success"], done["error"]) == (False, "non_retryable_error")


@pytest.mark.parametrize("words", ["database is locked", "network_timeout"])
def test_O47_passing_errors_are_retried(house: House, words: str) -> None:
    crash(house, f"print({words!r}, flush=True)")
    assert ask(house, RESTART, ACTION="check_status", AGENT_ID=DEVELOPER)["can_retry"] is True
    assert restart(house)["success"] is True


def test_O47_check_status_says_whether_and_changes_nothing(house: House) -> None:
    crash(house)
    answer = ask(house, RESTART, ACTION="check_status", AGENT_ID=DEVELOPER)
    assert (answer["success"], answer["can_retry"]) == (True, True)
    assert (answer["status"], answer["retry_count"], answer["max_retries"]) == ("failed", 0, 3)
    assert answer["backoff_seconds"] == 2
    assert not run_of(house).live


@pytest.mark.parametrize(
    ("attempt", "first", "most", "delay"),
    [(1, 2, 120, 2), (2, 2, 120, 4), (3, 2, 120, 8), (7, 2, 120, 120), (1, 0, 120, 0)],
)
def test_O47_the_backoff_doubles_up_to_its_limit(
    attempt: int, first: float, most: float, delay: float
) -> None:
    from knell.core.restart import backoff

    assert backoff(attempt, first, most) == delay


def test_O47_the_backoff_is_waited_for_from_the_end_on(house: House) -> None:
    """It waits for the rest only, and the answer comes when the agent runs."""
    crash(house, 'if os.path.exists("again"): sleep()\nopen("again", "w").close()')
    answer = restart(house, INITIAL_BACKOFF=0.3)
    assert (answer["success"], answer["backoff_seconds"]) == (True, 0.3)
    assert alive(answer["pid"])


def test_O47_one_that_runs_is_left_alone(house: House) -> None:
    pid = pid_of(worker(house))
    answer = restart(house)
    assert (answer["success"], answer["error"]) == (False, "non_retryable_error")
    assert alive(pid)


def test_O47_one_that_has_finished_stays_finished(house: House) -> None:
    one = started(house, "tell()", name=DEVELOPER)
    eventually(lambda: not alive(one.keeper))
    answer = restart(house)
    assert (answer["success"], answer["error"]) == (False, "non_retryable_error")
    assert "finished" in answer["message"]


def test_O47_a_life_is_restarted_once(house: House) -> None:
    worker(house)
    kill(house)
    old = restart(house)["agent_id"]
    kill(house)
    answer = restart(house, old)
    assert (answer["success"], answer["error"]) == (False, "non_retryable_error")


def test_O47_an_unknown_agent(house: House) -> None:
    assert restart(house, "nobody")["error"] == "agent_not_found"
    missing = ask(house, RESTART)
    assert (missing["error"], missing["parameter"]) == ("invalid_parameter", "AGENT_ID")
    crowd = ask(house, RESTART, ACTION="restart_all_failed", AGENT_ID="x")
    assert (crowd["error"], crowd["parameter"]) == ("invalid_parameter", "AGENT_ID")


def test_O47_one_whose_program_is_gone_is_spawn_failed(house: House) -> None:
    program = house.root / "program"
    program.write_text("#!/bin/sh\nsleep 100\n")
    program.chmod(0o755)

    spawned = house.knell.spawn(
        command=(str(program),), name=DEVELOPER, cwd=str(house.root), place="headless"
    )
    os.kill(pid_of(spawned), signal.SIGKILL)
    assert spawned.run.keeper
    keeper = spawned.run.keeper.pid
    eventually(lambda: not alive(keeper))
    program.unlink()
    answer = restart(house)
    assert (answer["success"], answer["error"]) == (False, "spawn_failed")


def test_O39_the_restart_is_traced(house: House) -> None:
    worker(house)
    kill(house)
    restart(house)
    kinds = [kind for kind, _ in events(house)]
    assert f"command.{RESTART}" in kinds
    assert "restart.started" in kinds
