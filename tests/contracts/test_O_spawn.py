"""O48: spawn-agent-session launches agents."""

import os
import re
import sys
from datetime import datetime
from pathlib import Path

import pytest

from contracts.o_scenes import (
    IDLE,
    ISO,
    SPAWN,
    ask,
    commit,
    kill,
    launched,
    life,
    make_task,
    repository,
    run_of,
    sql,
    task_of,
    words,
)
from house import House, alive, eventually

KEYS = [
    "success",
    "agent_id",
    "agent_type",
    "task_id",
    "status",
    "pid",
    "created_at",
    "started_at",
    "expected_completion",
    "timeout_seconds",
]


def environment(pid: int) -> dict[str, str]:
    raw = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    return dict(pair.split("=", 1) for pair in raw.split("\0") if "=" in pair)


def test_O48_an_agent_is_launched_for_a_task(house: House) -> None:
    make_task(house)
    answer = launched(house, TASK_ID="TASK-31-1", ORCHESTRATOR_INSTANCE_ID="orc-1")
    assert list(answer) == KEYS
    day = f"{datetime.fromisoformat(answer['created_at']):%Y%m%d}"
    assert answer["agent_id"] == f"code-developer-{day}-001"
    assert (answer["agent_type"], answer["task_id"]) == ("code-developer", "TASK-31-1")
    assert (answer["status"], answer["timeout_seconds"]) == ("running", 3600)
    assert alive(answer["pid"])
    for key in ("created_at", "started_at", "expected_completion"):
        assert re.fullmatch(ISO, answer[key])
    began, due = (datetime.fromisoformat(answer[key]) for key in (KEYS[7], KEYS[8]))
    assert (due - began).total_seconds() == 3600
    row = life(house, answer["agent_id"])
    assert (row["status"], row["pid"], row["task_id"]) == ("running", answer["pid"], "TASK-31-1")


def test_O48_its_environment_says_for_whom_it_works(house: House) -> None:
    make_task(house)
    answer = launched(
        house, TASK_ID="TASK-31-1", ORCHESTRATOR_INSTANCE_ID="orc-1", TIMEOUT_SECONDS=60
    )
    env = environment(answer["pid"])
    assert (env["TASK_ID"], env["ORCHESTRATOR_ID"]) == ("TASK-31-1", "orc-1")
    assert (env["AGENT_ID"], env["TIMEOUT_SECONDS"]) == (answer["agent_id"], "60")
    session = Path(env["KNELL_SESSION_DIR"])
    assert session.is_dir()
    assert session.stat().st_mode & 0o777 == 0o700
    assert session.is_relative_to(house.state)


def test_O29_the_session_directory_goes_with_the_agent(house: House) -> None:
    answer = launched(house)
    session = Path(environment(answer["pid"])["KNELL_SESSION_DIR"])
    (session / "notes").write_text("x")
    killed = kill(house, answer["agent_id"])
    assert killed["success"] is True
    assert killed["cleanup"]["session_dir"] == "removed"
    assert not session.exists()


def test_O48_the_task_is_taken_by_the_agent(house: House) -> None:
    make_task(house)
    answer = launched(house, TASK_ID="TASK-31-1", ORCHESTRATOR_INSTANCE_ID="orc-1")
    task = task_of(house)
    assert (task["status"], task["assigned_agent"]) == ("running", answer["agent_id"])
    [row] = sql(house, "SELECT orchestrator_instance_id, started_at FROM orchestrator_task")
    assert row[0] == "orc-1"
    assert row[1]


def test_O48_AUTO_RESTART_is_what_the_watch_goes_by(house: House) -> None:
    first = launched(house)
    second = launched(house, "architect", AUTO_RESTART=False)
    agents = {agent.name: agent.restart for agent in house.knell.world.store.runs.agents()}
    assert agents == {first["agent_id"]: 3, second["agent_id"]: 0}


def test_O48_numbers_of_a_day_are_never_used_twice(house: House) -> None:
    names: list[str] = []
    for _ in range(3):
        names.append(launched(house)["agent_id"])
        kill(house, names[-1])
    assert [name[-3:] for name in names] == ["001", "002", "003"]


# -- refusals ------------------------------------------------------------------------------------


def test_O48_one_of_a_type_at_a_time(house: House) -> None:
    first = launched(house)
    answer = launched(house)
    assert (answer["success"], answer["error"]) == (False, "singleton_violation")
    assert answer["existing_agent_id"] == first["agent_id"]
    assert launched(house, "architect")["success"] is True
    assert launched(house, SINGLETON=False)["success"] is True


def test_O48_the_dead_do_not_block_their_successor(house: House) -> None:
    first = launched(house)
    os.kill(first["pid"], 9)
    eventually(lambda: not house.knell.list())  # its keeper has looked after what it left
    assert launched(house)["success"] is True


def test_O48_an_unknown_task(house: House) -> None:
    answer = launched(house, TASK_ID="TASK-99-9")
    assert (answer["error"], answer["task_id"]) == ("task_not_found", "TASK-99-9")
    assert house.knell.world.store.runs.agents() == []


@pytest.mark.parametrize("status", ["running", "completed", "failed", "merged"])
def test_O48_a_task_that_does_not_wait(house: House, status: str) -> None:
    make_task(house, status=status)
    answer = launched(house, TASK_ID="TASK-31-1")
    assert (answer["error"], answer["status"]) == ("task_not_ready", status)
    assert task_of(house)["status"] == status


def test_O48_a_task_waits_for_those_before_it(house: House) -> None:
    make_task(house, "TASK-31-1", "running")
    make_task(house, "TASK-31-2")
    sql(
        house,
        "INSERT INTO specs_task_dependency (dependency_id, task_id, dependency_id_ref)"
        " VALUES ('d', 'TASK-31-2', 'TASK-31-1')",
    )
    answer = launched(house, TASK_ID="TASK-31-2")
    assert (answer["error"], answer["waits_for"]) == ("task_not_ready", ["TASK-31-1"])
    sql(house, "UPDATE orchestrator_task SET status = 'completed' WHERE task_id = 'TASK-31-1'")
    assert launched(house, TASK_ID="TASK-31-2")["success"] is True


@pytest.mark.parametrize("limit", [{"MIN_MEMORY_FREE_MB": 10**9}, {"MIN_CPU_FREE_PERCENT": 100}])
def test_O48_too_little_is_free(house: House, limit: dict[str, int]) -> None:
    make_task(house)
    answer = launched(house, TASK_ID="TASK-31-1", **limit)
    assert (answer["success"], answer["error"]) == (False, "resource_exhaustion")
    assert task_of(house)["status"] == "spawned"
    assert house.knell.world.store.runs.agents() == []


def test_O48_a_program_that_is_not_there_gives_the_task_back(house: House) -> None:
    make_task(house)
    answer = ask(
        house, SPAWN, AGENT_TYPE="x", TASK_ID="TASK-31-1", COMMAND=["/no/such/program"], **IDLE
    )
    assert (answer["success"], answer["error"]) == (False, "spawn_failed")
    task = task_of(house)
    assert (task["status"], task["assigned_agent"], task["retry_count"]) == ("spawned", None, 0)
    assert life(house, answer["agent_id"])["status"] == "failed"
    assert not list(house.state.glob("sessions/*"))


def test_O48_one_that_is_not_seen_in_time_is_cancelled(house: House) -> None:
    make_task(house)
    params = {"COMMAND": words(), "TASK_ID": "TASK-31-1", "STARTUP_TIMEOUT_SECONDS": 0}
    answer = ask(house, SPAWN, AGENT_TYPE="x", **params, **IDLE)
    assert (answer["success"], answer["error"]) == (False, "startup_timeout")
    assert task_of(house)["status"] == "spawned"
    assert not run_of(house, answer["agent_id"]).live


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGENT_TYPE", "../x"),
        ("AGENT_TYPE", "x" * 51),
        ("AGENT_TYPE", "code developer"),
        ("TASK_ID", "a b"),
        ("COMMAND", "no-kind"),
        ("COMMAND", []),
        ("WORKING_DIRECTORY", "/no/such/directory"),
        ("TIMEOUT_SECONDS", 0),
        ("PLACE", "mars"),
        ("MIN_CPU_FREE_PERCENT", 101),
    ],
)
def test_O48_a_wrong_value_is_refused_by_name(house: House, name: str, value: object) -> None:
    params = {"AGENT_TYPE": "x", "COMMAND": words()} | {name: value}
    answer = ask(house, SPAWN, **params)
    assert (answer["error"], answer["parameter"]) == ("invalid_parameter", name)
    assert house.knell.world.store.runs.agents() == []


# -- what is launched, and where -----------------------------------------------------------------


def test_O48_the_environment_may_say_what_is_launched(house: House) -> None:
    missing = ask(house, SPAWN, AGENT_TYPE="x", **IDLE)
    assert (missing["error"], missing["parameter"]) == ("invalid_parameter", "COMMAND")
    house.env["KNELL_AGENT_COMMAND"] = f"{sys.executable} -S -c 'import time; time.sleep(100)'"
    answer = ask(house, SPAWN, AGENT_TYPE="x", **IDLE)
    assert answer["success"] is True
    assert "time.sleep(100)" in Path(f"/proc/{answer['pid']}/cmdline").read_text()


def test_O48_it_works_in_the_worktree_of_its_task(house: House) -> None:
    top = repository(house)
    commit_id = commit(top, "more") if (top / "more").write_text("x") else ""
    make_task(house)
    made = ask(house, "create-worktree", TASK_ID="TASK-31-1", REPOSITORY=str(top))
    assert (made["success"], made["git_commit_ref"]) == (True, commit_id)
    answer = launched(house, TASK_ID="TASK-31-1")
    assert os.readlink(f"/proc/{answer['pid']}/cwd") == made["worktree_path"]
