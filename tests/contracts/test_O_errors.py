"""O19, O41 to O45: agents that are unknown, gone, out of reach; and C10, C25, G10, G34, G35."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.h_scenes import ghost
from contracts.o_scenes import DEVELOPER, KILL, kill, life, make_task, pid_of, sql, task_of, worker
from contracts.test_G_identity import NAMESPACE
from house import House, alive, eventually
from knell.core.run import Outcome
from scenes import DEAF, adopted, frozen, in_pid_namespace, started

# -- unknown -------------------------------------------------------------------------------------


def test_O41_the_error_object_is_that_of_the_contract(house: House) -> None:
    answer = kill(house)
    assert list(answer) == ["success", "error", "message", "agent_id"]
    assert answer == {
        "success": False,
        "error": "agent_not_found",
        "message": "Agent ID not found in database",
        "agent_id": DEVELOPER,
    }


def test_O41_so_is_that_of_a_parameter_that_cannot_be_taken(house: House) -> None:
    answer = kill(house, GRACE_PERIOD_SECONDS=-1)
    assert (answer["success"], answer["error"]) == (False, "invalid_parameter")
    assert answer["agent_id"] == DEVELOPER


@pytest.mark.parametrize(
    "agent", ["x", "luna#1", "luna#", "../luna", "luna ", "%", "'; DROP TABLE runs"]
)
def test_O42_an_agent_that_is_not_in_agent_lifecycle(house: House, agent: str) -> None:
    luna = started(house, "tell()\nsleep()")
    answer = kill(house, agent)
    assert (answer["error"], answer["agent_id"]) == ("agent_not_found", agent)
    assert alive(luna.pid)


# -- already dead --------------------------------------------------------------------------------


def test_O19_one_that_is_dead_already_is_success(house: House) -> None:
    spawned = worker(house)
    os.kill(pid_of(spawned), signal.SIGKILL)
    eventually(lambda: not alive(pid_of(spawned)))
    answer = kill(house)
    assert (answer["success"], answer["already_dead"]) == (True, True)
    assert (answer["pid"], answer["kill_signal"]) == (pid_of(spawned), None)
    assert answer["message"] == "Agent was already dead"
    assert list(answer)[:3] == ["success", "agent_id", "action"]


def test_C9_killing_twice_is_success_and_changes_nothing(house: House) -> None:
    make_task(house)
    worker(house, task="TASK-31-1")
    first = kill(house, REASON="once")
    again = kill(house, REASON="twice")
    assert (again["success"], again["already_dead"]) == (True, True)
    assert again["killed_at"] == first["killed_at"]
    assert life(house)["error_message"] == "once"


def test_C10_O43_with_STRICT_a_plain_gone_process_is_not_found(house: House) -> None:
    spawned = worker(house)
    os.kill(pid_of(spawned), signal.SIGKILL)
    eventually(lambda: not alive(pid_of(spawned)))
    answer = kill(house, STRICT=True)
    assert (answer["success"], answer["error"]) == (False, "process_not_found")
    assert (answer["agent_id"], answer["pid"]) == (DEVELOPER, pid_of(spawned))


def test_an_earlier_life_is_addressed_by_its_own_id_and_the_present_one_is_spared(
    house: House,
) -> None:
    first = worker(house)
    kill(house)
    second = worker(house)
    [(earlier,)] = sql(house, "SELECT agent_id FROM agent_lifecycle WHERE status = 'killed'")
    assert earlier == f"{DEVELOPER}#{first.run.id}"
    answer = kill(house, earlier)
    assert (answer["agent_id"], answer["already_dead"]) == (earlier, True)
    assert answer["pid"] == pid_of(first)
    assert alive(pid_of(second))


# -- no process, or somebody else's --------------------------------------------------------------


def test_O43_no_pid_is_recorded(house: House) -> None:
    ghost(house)
    answer = kill(house, "ghost")
    assert (answer["success"], answer["error"]) == (False, "process_not_found")
    assert (answer["agent_id"], answer["pid"]) == ("ghost", None)
    ending = house.knell.world.store.runs.of("ghost")[0].ending
    assert ending
    assert ending.outcome is Outcome.LOST
    assert kill(house, "ghost")["error"] == "process_not_found"


def test_C10_G34_G35_a_pid_that_is_somebody_elses_now_is_not_signalled(house: House) -> None:
    play = """
import knell as package
luna = sleeper()
knell("adopt", str(luna), "--name", "luna").check_returncode()
time.sleep(0.02)  # so that the start times differ
innocent = replaced(luna)
first = package.invoke_command("kill-stalled-agent", {"AGENT_ID": "luna"})
again = package.invoke_command("kill-stalled-agent", {"AGENT_ID": "luna", "FORCE_KILL": True})
print(json.dumps([luna, innocent, lives(innocent), first, again]))
"""
    luna, innocent, lives, *answers = json.loads(in_pid_namespace(house, NAMESPACE + play))
    assert luna == innocent
    assert lives
    for answer in answers:
        assert (answer["success"], answer["error"]) == (False, "process_not_found")
        assert (answer["agent_id"], answer["pid"]) == ("luna", luna)
    assert life(house, "luna")["status"] == "failed"


# -- what cannot be ended ------------------------------------------------------------------------


@pytest.mark.parametrize("begin", [started, adopted])
def test_O44_G10_a_survivor_is_told_with_pid_and_state(house: House, begin) -> None:
    luna = begin(house, DEAF)
    with frozen(luna.pid):
        answer = kill(house, "luna", GRACE_PERIOD_SECONDS=0.2)
        assert (answer["success"], answer["error"]) == (False, "kill_failed")
        assert (answer["agent_id"], answer["pid"], answer["state"]) == ("luna", luna.pid, "D")
        assert [one["pid"] for one in answer["survivors"]] == [luna.pid]
        assert life(house, "luna")["status"] == "running"
    eventually(lambda: not alive(luna.pid))


@pytest.mark.needs_root
def test_O44_permission_denied_is_kill_failed_and_the_row_stays(house: House) -> None:
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    powerless = ("setpriv", "--bounding-set=-kill", "--inh-caps=-kill", "--")
    luna = os.posix_spawnp("setpriv", [*nobody, "sleep", "90"], house.env)
    eventually(lambda: Path(f"/proc/{luna}").stat().st_uid == 65534)
    assert house.run("adopt", str(luna), "--name", "luna").returncode == 0
    params = json.dumps({"AGENT_ID": "luna", "GRACE_PERIOD_SECONDS": 0.2})
    done = subprocess.run(
        [*powerless, sys.executable, "-m", "knell", "invoke", KILL, params],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["error"]) == (1, "kill_failed")
    assert (answer["pid"], answer["state"]) == (luna, "S")
    assert "permission" in answer["message"].lower()
    assert alive(luna)
    assert life(house, "luna")["status"] == "running"
    assert kill(house, "luna")["success"] is True
    assert not alive(luna)


# -- cleaning up ---------------------------------------------------------------------------------


def test_O45_C25_a_failed_cleanup_is_told_and_the_kill_stands(house: House) -> None:
    """Its directory claims to be a worktree of a repository that is broken."""
    make_task(house)
    spawned = worker(house, task="TASK-31-1")
    (house.root / ".git").write_text("gitdir: /nowhere/at/all\n")
    answer = kill(house)
    assert (answer["success"], answer["error"], answer["killed"]) == (False, "cleanup_failed", True)
    assert (answer["agent_id"], answer["pid"]) == (DEVELOPER, pid_of(spawned))
    assert answer["message"]
    assert answer["action"] == "graceful_kill"
    assert not alive(pid_of(spawned))
    assert life(house)["status"] == "killed"
    assert task_of(house)["status"] == "failed"


def test_O15_without_CLEANUP_nothing_is_looked_at(house: House) -> None:
    worker(house)
    (house.root / ".git").write_text("gitdir: /nowhere/at/all\n")
    assert kill(house, CLEANUP=False)["success"] is True


# -- the store -----------------------------------------------------------------------------------


def test_a_broken_store_is_an_answer(house: House) -> None:
    (house.state / "knell.db").write_text("this is no database" * 100)
    answer = house.knell.invoke(KILL, {"AGENT_ID": DEVELOPER})
    assert (answer["success"], answer["error"]) == (False, "database_error")
    assert answer["agent_id"] == DEVELOPER
    assert "knell.db" in answer["message"]


def test_a_broken_settings_file_is_an_answer_and_nothing_is_ended(house: House) -> None:
    pid = pid_of(worker(house))
    config = house.home / "config.toml"
    config.write_text("[kill\n")
    env = house.env | {"KNELL_CONFIG": str(config)}
    done = house.run("invoke", KILL, f"AGENT_ID={DEVELOPER}", env=env)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["error"]) == (1, "invalid_configuration")
    assert alive(pid)


def test_DRY_RUN_names_the_processes_and_ends_none(house: House) -> None:
    spawned = worker(house, "setsid")
    answer = kill(house, DRY_RUN=True)
    assert (answer["success"], answer["dry_run"]) == (True, True)
    assert pid_of(spawned) in [one["pid"] for one in answer["processes"]]
    assert all(alive(one["pid"]) for one in answer["processes"])
    assert life(house)["status"] == "running"
