"""O6, O16, O24 and O25: all that have stalled are ended, and nobody else."""

import re
import sys
from pathlib import Path

import pytest

from contracts.o_scenes import (
    DEVELOPER,
    ISO,
    KILL,
    MONITOR,
    ask,
    fall_silent,
    kill_stalled,
    launched,
    life,
    make_task,
    pid_of,
    repository,
    run_of,
    sql,
    task_of,
    wind,
    worker,
)
from house import House, alive, eventually
from knell.core.stall.signs import Clock
from scenes import DEAF, frozen, started

READY = "import os; open(os.environ['KNELL_READY'], 'w').close()\n"
ARCHITECT = "architect-20251026-001"


def test_O6_no_heartbeat_for_more_than_120_seconds_is_stalled(house: House) -> None:
    silent, beating, mute = (worker(house, name=name) for name in ("silent", "beating", "mute"))
    fall_silent(house, silent.run, seconds=65)
    fall_silent(house, beating.run, seconds=60)
    answer = ask(house, KILL, ACTION="kill_stalled")
    assert [one["agent_id"] for one in answer["killed_agents"]] == ["silent"]
    assert [alive(pid_of(one)) for one in (silent, beating, mute)] == [False, True, True]


def test_O16_another_timeout_can_be_given(house: House) -> None:
    spawned = worker(house)
    fall_silent(house, spawned.run, seconds=40)
    assert kill_stalled(house, 50)["agents_killed"] == 0
    assert alive(pid_of(spawned))
    assert kill_stalled(house, 20)["agents_killed"] == 1
    assert not alive(pid_of(spawned))


def test_O24_the_answer_has_the_keys_of_the_contract(house: House) -> None:
    fall_silent(house, worker(house, name=ARCHITECT).run)
    answer = kill_stalled(house)
    assert list(answer) == ["success", "action", "agents_killed", "killed_agents", "timestamp"]
    assert (answer["success"], answer["action"]) == (True, "kill_stalled")
    assert answer["agents_killed"] == 1
    assert isinstance(answer["agents_killed"], int)
    assert re.fullmatch(ISO, answer["timestamp"])


def test_O25_each_agent_is_told_with_its_silence(house: House) -> None:
    make_task(house, "TASK-32-1")
    spawned = worker(house, "ignores_term", name=ARCHITECT, task="TASK-32-1")
    fall_silent(house, spawned.run, seconds=250)
    [told] = kill_stalled(house, GRACE_PERIOD_SECONDS=0.2)["killed_agents"]
    silence = told.pop("seconds_since_heartbeat")
    assert isinstance(silence, int)
    assert 250 <= silence < 280
    assert list(told) == ["agent_id", "pid", "killed_gracefully", "task_id"]
    assert told == {
        "agent_id": ARCHITECT,
        "pid": pid_of(spawned),
        "killed_gracefully": False,
        "task_id": "TASK-32-1",
    }


def test_O24_nobody_stalled_is_success_and_an_empty_list(house: House) -> None:
    pid = pid_of(worker(house))
    answer = kill_stalled(house, 1)
    assert (answer["success"], answer["agents_killed"]) == (True, 0)
    assert answer["killed_agents"] == []
    assert alive(pid)


def test_O26_the_silence_is_the_reason_on_record(house: House) -> None:
    make_task(house)
    fall_silent(house, worker(house, task="TASK-31-1").run, seconds=250)
    kill_stalled(house)
    assert life(house)["status"] == "killed"
    assert re.match(r"no heartbeat for 2\d\d s", life(house)["error_message"])
    assert re.match(r"Agent killed: no heartbeat for 2\d\d s", task_of(house)["error_message"])


def test_O27_a_stalled_agents_task_fails(house: House) -> None:
    make_task(house)
    fall_silent(house, worker(house, task="TASK-31-1").run)
    kill_stalled(house)
    assert task_of(house)["status"] == "failed"


def test_O10_several_are_ended_side_by_side_and_each_is_recorded(house: House) -> None:
    names = [f"worker-{number}" for number in range(4)]
    runs = [worker(house, "ignores_term", name=name) for name in names]
    fall_silent(house, *(one.run for one in runs))
    answer = kill_stalled(house, GRACE_PERIOD_SECONDS=0.3)
    assert {one["agent_id"] for one in answer["killed_agents"]} == set(names)
    assert not any(alive(pid_of(one)) for one in runs)
    assert {life(house, name)["status"] for name in names} == {"killed"}


def test_O10_what_it_used_is_cleaned_up_and_every_table_says_so(house: House) -> None:
    make_task(house)
    where = str(repository(house))
    made = ask(house, "orchestrator.create-worktree", TASK_ID="TASK-31-1", REPOSITORY=where)
    path = made["worktree_path"]
    command = house.script("import signal; signal.pause()")
    wish = {"name": DEVELOPER, "place": "headless", "task": "TASK-31-1", "cwd": path}
    spawned = house.knell.spawn(command=command, **wish)
    began = "UPDATE orchestrator_task SET status = 'running', assigned_agent = ?"
    sql(house, began, DEVELOPER)
    fall_silent(house, spawned.run)
    assert kill_stalled(house)["agents_killed"] == 1
    assert not Path(path).exists()
    assert sql(house, "SELECT status FROM orchestrator_state") == [("cleaned",)]
    assert sql(house, "SELECT count(*) FROM instances") == [(0,)]
    assert (task_of(house)["status"], life(house)["status"]) == ("failed", "killed")


def test_K4_C39_G33_one_that_it_launched_and_that_never_beat_is_stalled_by_its_age(
    house: House,
) -> None:
    """From its start: a beat that never came is one that did not come in time."""
    told = launched(house)
    assert kill_stalled(house)["agents_killed"] == 0
    wind(house, 130)
    [killed] = kill_stalled(house)["killed_agents"]
    assert killed["agent_id"] == told["agent_id"]
    assert 120 < killed["seconds_since_heartbeat"] < 200
    assert "since its start" in life(house, told["agent_id"])["error_message"]
    assert not alive(told["pid"])


def test_G33_one_that_others_started_and_that_never_beat_is_judged_by_other_signs(
    house: House,
) -> None:
    pid = pid_of(worker(house))
    wind(house, 1000)
    assert kill_stalled(house, 1)["agents_killed"] == 0
    assert kill_stalled(house, 1)["agents_killed"] == 0
    assert alive(pid)


def test_K4_O16_whoever_is_seen_at_work_is_spared_and_listed_with_the_evidence(
    house: House,
) -> None:
    """It never beat, but its output grows; with the heartbeat as the only evidence it is ended."""
    talks = "import time\nwhile True:\n    print('on', flush=True); time.sleep(0.02)\n"
    told = launched(house, COMMAND=[sys.executable, "-S", "-c", READY + talks])
    log = house.state / "runs" / run_of(house, told["agent_id"]).id / "output.log"
    eventually(lambda: log.exists() and log.stat().st_size)
    kill_stalled(house)
    seen = log.stat().st_size
    wind(house, 130)
    eventually(lambda: log.stat().st_size > seen)
    answer = kill_stalled(house)
    assert (answer["agents_killed"], answer["killed_agents"]) == (0, [])
    [spared] = answer["spared"]
    assert spared["agent_id"] == told["agent_id"]
    assert spared["rule"].startswith("no heartbeat for 1")
    assert spared["activity"] == "working"
    assert any("output" in sign for sign in spared["evidence"])
    [row] = ask(house, MONITOR)["agents"]
    assert (row["health_status"], row["spared"]["activity"]) == ("healthy", "working")
    [row] = ask(house, MONITOR, EVIDENCE="heartbeat")["agents"]
    assert (row["health_status"], "spared" in row) == ("stalled", False)
    assert alive(told["pid"])
    assert kill_stalled(house, EVIDENCE="heartbeat")["agents_killed"] == 1
    assert not alive(told["pid"])


def test_K4_O16_whoever_moves_before_the_first_signal_is_spared_and_listed(house: House) -> None:
    """At the first look it is stalled; at the look right before the signal its output has grown."""
    go = house.root / "go"
    talks = f"import time\nwhile not os.path.exists({str(go)!r}):\n    time.sleep(0.01)\n"
    talks += "print('on', flush=True); time.sleep(600)\n"
    told = launched(house, COMMAND=[sys.executable, "-S", "-c", READY + talks])
    log = house.state / "runs" / run_of(house, told["agent_id"]).id / "output.log"
    kill_stalled(house)
    wind(house, 130)
    now, looks = house.knell.world.clock, []

    def speak_at_the_second_look() -> Clock:
        looks.append("look")
        if len(looks) == 2:
            go.touch()
            eventually(lambda: log.exists() and log.stat().st_size)
        return now()

    house.knell.world.clock = speak_at_the_second_look
    answer = kill_stalled(house)
    assert answer["agents_killed"] == 0
    assert alive(told["pid"])
    assert [one["agent_id"] for one in answer["spared"]] == [told["agent_id"]]


def test_K4_O6_the_rule_holds_for_agents_of_any_kind_that_have_beaten(house: House) -> None:
    """Hooks of claude beat at each step, which is no promise; the contract asks for none."""
    programs = house.root / "programs"
    programs.mkdir()
    (programs / "claude").write_text(f"#!{sys.executable} -S\n{READY}import time\ntime.sleep(600)")
    (programs / "claude").chmod(0o755)
    house.env["PATH"] = f"{programs}:{house.env['PATH']}"
    told = launched(house, COMMAND="claude")
    run = run_of(house, told["agent_id"])
    fall_silent(house, run)
    assert house.knell.verdicts()[0].verdict.activity != "stalled"
    assert [one["agent_id"] for one in kill_stalled(house)["killed_agents"]] == [told["agent_id"]]


def test_K4_O16_a_word_that_is_no_evidence_is_refused(house: House) -> None:
    answer = kill_stalled(house, EVIDENCE="hearsay")
    assert (answer["success"], answer["error"]) == (False, "invalid_parameter")


def test_a_named_agent_is_ended_only_if_it_has_stalled(house: House) -> None:
    one, other = worker(house), worker(house, name=ARCHITECT)
    fall_silent(house, one.run, other.run)
    answer = kill_stalled(house, AGENT_ID=DEVELOPER)
    assert [told["agent_id"] for told in answer["killed_agents"]] == [DEVELOPER]
    assert alive(pid_of(other))
    assert kill_stalled(house, 1000, AGENT_ID=ARCHITECT)["agents_killed"] == 0


def test_a_named_agent_that_is_unknown_is_not_found(house: House) -> None:
    assert kill_stalled(house, AGENT_ID="nobody")["error"] == "agent_not_found"


def test_FORCE_KILL_gives_no_grace_to_the_stalled(house: House) -> None:
    spawned = worker(house)  # obedient: TERM alone would end it
    fall_silent(house, spawned.run)
    [told] = kill_stalled(house, FORCE_KILL=True)["killed_agents"]
    assert told["killed_gracefully"] is False


def test_O13_the_grace_that_is_given_holds_for_the_stalled_too(house: House) -> None:
    """0 gives no time for TERM, which alone would end it."""
    spawned = worker(house)
    fall_silent(house, spawned.run)
    [told] = kill_stalled(house, GRACE_PERIOD_SECONDS=0)["killed_agents"]
    assert told["killed_gracefully"] is False


def test_O45_a_failed_cleanup_of_the_stalled_is_told_and_the_kill_stands(house: House) -> None:
    spawned = worker(house)
    (house.root / ".git").write_text("gitdir: /nowhere/at/all\n")
    fall_silent(house, spawned.run)
    answer = kill_stalled(house)
    assert (answer["success"], answer["error"]) == (False, "cleanup_failed")
    assert (answer["agents_killed"], DEVELOPER in answer["message"]) == (1, True)
    assert not alive(pid_of(spawned))


def test_O24_O44_who_could_not_be_ended_hides_nobody_who_was(house: House) -> None:
    luna, spawned = started(house, DEAF), worker(house)
    fall_silent(house, run_of(house, "luna"), spawned.run)
    with frozen(luna.pid):
        answer = kill_stalled(house, GRACE_PERIOD_SECONDS=0.2)
    assert (answer["success"], answer["error"]) == (False, "kill_failed")
    assert [one["agent_id"] for one in answer["killed_agents"]] == [DEVELOPER]
    assert answer["agents_killed"] == 1
    [failed] = answer["failed_agents"]
    assert (failed["agent_id"], failed["pid"]) == ("luna", luna.pid)
    eventually(lambda: not alive(luna.pid))


def test_K4_O6_whoever_has_beaten_in_time_is_spared_by_the_heartbeat_alone(house: House) -> None:
    spawned = worker(house)
    fall_silent(house, spawned.run, seconds=100)
    answer = kill_stalled(house, 120, EVIDENCE="heartbeat")
    assert (answer["agents_killed"], "spared" in answer) == (0, False)
    assert alive(pid_of(spawned))


def test_DRY_RUN_names_them_and_spares_them(house: House) -> None:
    spawned = worker(house)
    fall_silent(house, spawned.run)
    answer = kill_stalled(house, DRY_RUN=True)
    assert (answer["dry_run"], answer["agents_killed"]) == (True, 0)
    assert [one["agent_id"] for one in answer["killed_agents"]] == [DEVELOPER]
    assert alive(pid_of(spawned))


@pytest.mark.parametrize("word", ["REASON"])
def test_the_reason_is_each_agents_own(house: House, word: str) -> None:
    answer = kill_stalled(house, **{word: "because"})
    assert (answer["error"], answer["parameter"]) == ("invalid_parameter", word)
