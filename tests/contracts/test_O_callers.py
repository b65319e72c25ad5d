"""Who asks, and with what store: agents that ask for too much, and records that cannot be kept."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contracts.o_scenes import (
    IDLE,
    KILL,
    SPAWN,
    ask,
    events,
    fall_silent,
    kill,
    kill_stalled,
    life,
    make_task,
    pid_of,
    task_of,
    words,
    worker,
)
from house import House, OpenKnell, alive
from knell.core.run import Run
from knell.life.base.caller import give_token
from unprivileged import handed_over, unprivileged


@contextmanager
def inside(house: House, run: Run) -> Iterator[None]:
    """What is asked meanwhile is asked by that agent."""
    outside, env = house.knell, house.env
    house.env = env | {"KNELL_TOKEN": give_token(outside.world, run)[1]}
    house.knell = OpenKnell(env=house.env)
    try:
        yield
    finally:
        house.knell.close()
        house.knell, house.env = outside, env


def test_an_agent_ends_another_and_the_trail_says_who_it_was(house: House) -> None:
    boss, other = worker(house, name="boss"), worker(house, name="other")
    with inside(house, boss.run):
        assert kill(house, "other")["success"] is True
    assert not alive(pid_of(other))
    [traced] = [data for kind, data in events(house, "other") if kind == f"command.{KILL}"]
    assert traced["by"] == "agent:boss"


def test_no_agent_ends_the_one_that_runs_it(house: House) -> None:
    boss = worker(house, name="boss")
    with inside(house, boss.run):
        child = worker(house, name="child")
    with inside(house, child.run):
        answer = kill(house, "boss")
    assert (answer["success"], answer["error"]) == (False, "kill_failed")
    assert (answer["agent_id"], "ancestors" in answer["message"]) == ("boss", True)
    assert alive(pid_of(boss))


def test_an_agent_ends_several_only_if_it_says_so_twice(house: House) -> None:
    boss = worker(house, name="boss")
    others = [worker(house, name=name) for name in ("one", "two")]
    with inside(house, boss.run):
        fall_silent(house, *(other.run for other in others))
        answer = kill_stalled(house)
        assert (answer["success"], answer["error"]) == (False, "kill_failed")
        assert all(alive(pid_of(other)) for other in others)
        assert kill_stalled(house, YES=True)["agents_killed"] == 2
    assert alive(pid_of(boss))


def test_of_several_who_launch_at_once_one_succeeds(house: House) -> None:
    """Each is a process of its own. The others are told who was first, and leave nothing."""
    params = json.dumps({"AGENT_TYPE": "x", "COMMAND": words(), **IDLE})
    argv = ("invoke", SPAWN, params)
    asked = [house.begin(*argv, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    answers = [json.loads(one.communicate(timeout=300)[0]) for one in asked]
    [born] = [answer for answer in answers if answer["success"]]
    refused = [answer for answer in answers if not answer["success"]]
    assert {answer["error"] for answer in refused} == {"singleton_violation"}
    assert {answer["existing_agent_id"] for answer in refused} == {born["agent_id"]}
    assert [run.agent for run in house.knell.world.store.runs.live()] == [born["agent_id"]]
    assert alive(born["pid"])


def test_of_several_who_take_one_task_one_gets_it(house: House) -> None:
    make_task(house)
    params = {"TASK_ID": "TASK-31-1", "COMMAND": words(), **IDLE}
    asked = [
        house.begin(
            *("invoke", SPAWN),
            json.dumps({"AGENT_TYPE": f"type-{number}", **params}),
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    answers = [json.loads(one.communicate(timeout=300)[0]) for one in asked]
    [born] = [answer for answer in answers if answer["success"]]
    assert {answer.get("error") for answer in answers} == {None, "task_not_ready"}
    assert task_of(house)["assigned_agent"] == born["agent_id"]


def test_a_store_that_cannot_be_written_saves_no_agent_and_is_told(house: House) -> None:
    humble = handed_over(house)
    params = {"AGENT_TYPE": "x", "COMMAND": words(), "MIN_CPU_FREE_PERCENT": 0}
    done = unprivileged(humble, "invoke", "spawn-agent-session", json.dumps(params))
    born = json.loads(done.stdout)
    assert born["success"] is True, born
    paths = (humble.state, humble.state / "knell.db")
    modes = {path: path.stat().st_mode & 0o777 for path in paths}
    for path in paths:
        path.chmod(modes[path] & ~0o222)
    try:
        done = unprivileged(humble, "invoke", KILL, f"AGENT_ID={born['agent_id']}")
    finally:
        for path in paths:
            path.chmod(modes[path])
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["error"], answer["killed"]) == (1, "database_error", True)
    assert answer["pid"] == born["pid"]
    assert not alive(born["pid"])
    unprivileged(humble, "list")  # takes in what was left
    assert life(humble, born["agent_id"])["status"] == "killed"


@pytest.mark.parametrize("agent", ["self", "none", "0", "1"])
def test_words_that_mean_something_elsewhere_mean_nobody_here(house: House, agent: str) -> None:
    assert ask(house, KILL, AGENT_ID=agent)["error"] == "agent_not_found"
