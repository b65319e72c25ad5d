"""O46: monitor-agent-lifecycle detects stalled agents; C21, G31, G33."""

import os
import re
import time
from typing import Any

import pytest

from contracts.h_scenes import ghost
from contracts.o_scenes import (
    DEVELOPER,
    ISO,
    MONITOR,
    ask,
    events,
    fall_silent,
    kill,
    launched,
    make_task,
    pid_of,
    run_of,
    sql,
    wind,
    worker,
)
from house import House, alive, eventually
from scenes import started

BUSY = "tell()\nwhile True: sum(range(10000))"


def check_all(house: House, /, **params: Any) -> dict[str, dict[str, Any]]:
    answer = ask(house, MONITOR, ACTION="check_all", **params)
    assert answer["success"] is True
    return {one["agent_id"]: one for one in answer["agents"]}


def test_O46_the_stalled_are_told_from_the_healthy(house: House) -> None:
    make_task(house)
    silent = worker(house, task="TASK-31-1")
    worker(house, name="healthy")
    fall_silent(house, silent.run)
    answer = ask(house, MONITOR, HEARTBEAT_TIMEOUT=120)
    assert list(answer)[:6] == [
        "success",
        "action",
        "agents_checked",
        "agents_healthy",
        "agents_stalled",
        "agents_dead",
    ]
    counts = [answer[f"agents_{word}"] for word in ("checked", "healthy", "stalled", "dead")]
    assert counts == [2, 1, 1, 0]
    told = {one["agent_id"]: one for one in answer["agents"]}
    one = told[DEVELOPER]
    assert (one["health_status"], one["process_alive"]) == ("stalled", True)
    assert 250 <= one["seconds_since_heartbeat"] < 280
    assert isinstance(one["seconds_since_heartbeat"], int)
    assert (one["pid"], one["task_id"]) == (pid_of(silent), "TASK-31-1")
    assert one["agent_type"] == "code-developer"
    assert told["healthy"]["health_status"] == "healthy"
    assert alive(pid_of(silent)), "looking ends nobody"


def test_O46_a_process_that_is_gone_is_dead_or_says_how_it_ended(house: House) -> None:
    spawned = worker(house)
    done = started(house, "tell()", name="done")
    os.kill(pid_of(spawned), 9)
    eventually(lambda: not alive(pid_of(spawned)) and not alive(done.pid))
    keeper = spawned.run.keeper
    assert keeper
    eventually(lambda: not alive(done.keeper) and not alive(keeper.pid))
    told = check_all(house)
    assert told[DEVELOPER]["process_alive"] is False
    assert told[DEVELOPER]["health_status"] == "failed"
    assert told["done"]["health_status"] == "completed"
    assert check_all(house) == {}, "who is over is told once"
    assert set(check_all(house, INCLUDE_ENDED=True)) == {DEVELOPER, "done"}


def test_O46_who_failed_is_counted_among_the_dead(house: House) -> None:
    """`agents_dead` counts a crash as well as a process that vanished; a good end is neither."""
    crashed = started(house, "tell()\nraise SystemExit(3)", name="crashed")
    done = started(house, "tell()", name="done")
    eventually(lambda: not alive(crashed.keeper) and not alive(done.keeper))
    answer = ask(house, MONITOR, ACTION="check_all", INCLUDE_ENDED=True)
    told = {one["agent_id"]: one["health_status"] for one in answer["agents"]}
    assert told == {"crashed": "failed", "done": "completed"}
    counts = [answer[f"agents_{word}"] for word in ("checked", "healthy", "stalled", "dead")]
    assert counts == [2, 0, 0, 1]


def test_O46_use_of_processor_and_memory_of_all_its_processes(house: House) -> None:
    started(house, BUSY, name="busy")
    worker(house, "plain", name="calm")
    told = check_all(house)
    assert told["busy"]["cpu_percent"] > told["calm"]["cpu_percent"]
    assert told["calm"]["memory_mb"] > 1
    assert told["busy"]["low_usage"] is False
    assert check_all(house, CPU_THRESHOLD=100_000, MEMORY_THRESHOLD=10**9)["busy"]["low_usage"]


def test_O46_one_agent_with_its_uptime(house: House) -> None:
    spawned = worker(house)
    answer = ask(house, MONITOR, ACTION="check_agent", AGENT_ID=DEVELOPER)
    assert (answer["success"], answer["agent_id"]) == (True, DEVELOPER)
    assert (answer["pid"], answer["health_status"]) == (pid_of(spawned), "healthy")
    assert isinstance(answer["uptime_seconds"], int)
    kill(house)
    ended = ask(house, MONITOR, ACTION="check_agent", AGENT_ID=DEVELOPER)
    assert (ended["process_alive"], ended["health_status"]) == (False, "dead")
    earlier = ask(house, MONITOR, ACTION="check_agent", AGENT_ID=f"{DEVELOPER}#{spawned.run.id}")
    assert earlier["health_status"] == "dead"


def test_O46_a_heartbeat_is_taken_in(house: House) -> None:
    spawned = worker(house)
    fall_silent(house, spawned.run)
    assert check_all(house)[DEVELOPER]["health_status"] == "stalled"
    answer = ask(house, MONITOR, ACTION="heartbeat", AGENT_ID=DEVELOPER)
    keys = ["success", "action", "agent_id", "last_heartbeat", "next_heartbeat_due"]
    assert list(answer) == keys
    assert all(re.fullmatch(ISO, answer[key]) for key in keys[3:])
    [(seconds,)] = sql(
        house,
        "SELECT strftime('%s', ?) - strftime('%s', ?)",
        answer["next_heartbeat_due"],
        answer["last_heartbeat"],
    )
    assert seconds == 60
    assert check_all(house)[DEVELOPER]["health_status"] == "healthy"
    [(kept,)] = sql(house, "SELECT last_heartbeat FROM agent_lifecycle")
    assert kept.replace(" ", "T") + "Z" == answer["last_heartbeat"]


def test_O46_heartbeats_do_not_fill_the_trail(house: House) -> None:
    worker(house)
    before = len(events(house))
    for _ in range(5):
        assert ask(house, MONITOR, ACTION="heartbeat", AGENT_ID=DEVELOPER)["success"] is True
    assert len(events(house)) == before


def test_O46_the_dead_do_not_beat(house: House) -> None:
    worker(house)
    kill(house)
    answer = ask(house, MONITOR, ACTION="heartbeat", AGENT_ID=DEVELOPER)
    assert (answer["success"], answer["error"]) == (False, "monitoring_error")


@pytest.mark.parametrize("action", ["check_agent", "heartbeat"])
def test_O46_an_unknown_agent(house: House, action: str) -> None:
    answer = ask(house, MONITOR, ACTION=action, AGENT_ID="nobody")
    assert (answer["error"], answer["agent_id"]) == ("agent_not_found", "nobody")
    missing = ask(house, MONITOR, ACTION=action)
    assert (missing["error"], missing["parameter"]) == ("invalid_parameter", "AGENT_ID")


def test_O46_one_that_is_only_written_down_is_not_called_dead(house: House) -> None:
    """Not seeing is not dying."""
    ghost(house)
    assert check_all(house)["ghost"]["process_alive"] is None
    assert run_of(house, "ghost").live


def test_K5_C21_two_missed_heartbeats_are_unresponsive_and_not_yet_stalled(house: House) -> None:
    run = worker(house).run
    seen = []
    fall_silent(house, run, seconds=50)
    for seconds in (0, 20, 60):  # 50, 70 and 130 s without a heartbeat
        wind(house, seconds)
        row = check_all(house)[DEVELOPER]
        [team] = [one.team_status for one in house.knell.list()]
        seen.append((row["activity"], row["health_status"], team))
    assert seen == [
        ("working", "healthy", "active"),
        ("unresponsive", "healthy", "inactive"),
        ("stalled", "stalled", "inactive"),
    ]


def test_C21_the_band_can_be_set(house: House) -> None:
    folder = house.home / ".config" / "knell"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[stall]\nunresponsive_after = 10\n")
    fall_silent(house, worker(house).run, seconds=20)
    assert check_all(house)[DEVELOPER]["activity"] == "unresponsive"


def test_C21_the_threshold_is_per_call(house: House) -> None:
    spawned = worker(house)
    fall_silent(house, spawned.run, seconds=90)
    assert check_all(house)[DEVELOPER]["health_status"] == "healthy"
    assert check_all(house, HEARTBEAT_TIMEOUT=60)[DEVELOPER]["health_status"] == "stalled"


def test_G31_a_stall_is_seen_in_agent_lifecycle_events_with_its_figures(house: House) -> None:
    spawned = worker(house)
    fall_silent(house, spawned.run)
    check_all(house)
    [row] = sql(
        house,
        "SELECT health_status, cpu_percent, memory_mb FROM agent_lifecycle_events"
        " WHERE agent_id = ? AND event_type = 'health.stalled'",
        DEVELOPER,
    )
    assert row[0] == "stalled"
    assert row[2] > 0


def test_O46_an_agent_past_its_time_is_overdue(house: House) -> None:
    late = launched(house, TIMEOUT_SECONDS=1)["agent_id"]
    punctual = launched(house, "architect")["agent_id"]
    eventually(lambda: check_all(house)[late]["overdue"])
    assert check_all(house)[punctual]["overdue"] is False


def test_O46_200_agents_are_checked_within_five_seconds(house: House) -> None:
    """The contract's own limit; the records are of agents that share this very process."""
    from knell.core.agent import Agent
    from knell.core.run import Place, Run, State

    world = house.knell.world
    for number in range(200):
        run = Run(
            world.new_id(),
            f"agent-{number}",
            world.host,
            State.RUNNING,
            Place("headless"),
            world.now(),
            process=world.processes.me(),
        )
        world.store.runs.add(Agent(run.agent, "command", "/", ("sleep",)), run)
    began = time.process_time()  # the processor's clock: how busy the machine is, is no matter
    answer = ask(house, MONITOR)
    took = time.process_time() - began
    for agent in world.store.runs.live():  # so that the end of the test ends nobody
        world.store.endings.end(*_ended(house, agent), ())
    assert answer["agents_checked"] == 200
    assert took < 5


def _ended(house: House, run: Any) -> tuple[Any, Any]:
    from knell.core.receipt import Result
    from knell.core.run import Ending, Outcome
    from knell.life.base.receipts import blank

    ending = Ending(Outcome.COMPLETED, "test", "over")
    receipt = blank(run.agent, Result.ENDED, house.knell.world.now())
    return run._replace(ending=ending), receipt
