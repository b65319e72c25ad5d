"""H28 to H33: what is said of each way in which a kill can come out."""

import re
import subprocess
import sys

import pytest

from contracts.h_scenes import as_nobody, desk, ghost, nobodys_home
from house import House, alive, eventually
from knell.core.receipt import Pane, Receipt, Result, TargetResult
from knell.core.run import Place, Run, State
from knell.faces.text.endings import summary
from knell.life.base.receipts import run_receipt
from scenes import SLEEPS, end, started, stranger


def test_H28_a_successful_kill_names_group_agent_pane_and_the_way_back(house: House) -> None:
    desk(house)
    luna = started(house, SLEEPS, place="tmux", server="test")
    done = house.run("kill", "luna")
    assert (done.returncode, done.stderr) == (0, "")
    pane = luna.run.place.pane
    first, second = done.stdout.splitlines()
    assert re.fullmatch(
        rf"Ended process group {luna.pid} for 'luna' \(closed tmux pane {pane}\):"
        r" 1 process, proven gone, \d+ ms",
        first,
    )
    assert second == "  To resume: knell r luna"


def test_H28_it_is_said_after_the_fact_not_before(house: House) -> None:
    """Where hcom printed `Sent SIGTERM`, the sentence here is about a death that was seen."""
    luna = started(house, SLEEPS)
    argv = [sys.executable, "-m", "knell", "kill", "luna"]
    with subprocess.Popen(argv, env=house.env, stdout=subprocess.PIPE, text=True) as killing:
        assert killing.stdout
        assert killing.stdout.readline().startswith("Ended process group")
        assert not alive(luna.pid)


def test_H29_already_dead_is_told_and_is_success(house: House) -> None:
    luna = started(house, SLEEPS)
    house.run("kill", "luna")
    done = house.run("kill", "luna")
    told = f"Process group {luna.pid} not found for 'luna' (already terminated)\n"
    assert (done.returncode, done.stdout) == (0, told)
    assert done.stderr.startswith("'luna' ended ")  # when, by whom and where, for people


def test_H29_one_that_ended_by_itself_is_already_dead_too(house: House) -> None:
    luna = started(house, "tell()")
    eventually(lambda: not alive(luna.keeper))  # until then a kill proves the end itself
    done = house.run("kill", "luna")
    assert done.returncode == 0
    assert f"Process group {luna.pid} not found for 'luna' (already terminated)" in done.stdout


def test_H29_an_adopted_one_that_is_gone_too(house: House) -> None:
    pid, _ = stranger(house, SLEEPS)
    house.run("adopt", str(pid), "--name", "luna")
    end(pid)
    done = house.run("kill", "luna")
    assert done.returncode == 0
    assert f"Process group {pid} not found for 'luna' (already terminated)" in done.stdout


@pytest.mark.needs_root
def test_H30_permission_denied_is_told_on_stderr(house: House) -> None:
    pid, _ = stranger(house, SLEEPS)
    home = nobodys_home(house)
    assert as_nobody(house, "adopt", str(pid), "--name", "luna", home=home).returncode == 0
    done = as_nobody(house, "kill", "luna", home=home)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Permission denied to kill process group {pid} for 'luna'" in done.stderr
    assert alive(pid)
    end(pid)


@pytest.mark.needs_root
def test_H30_also_for_an_agent_whose_keeper_is_somebody_elses(house: House) -> None:
    luna = started(house, SLEEPS)
    done = as_nobody(house, "kill", "luna")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Permission denied to kill process group {luna.pid} for 'luna'" in done.stderr
    assert alive(luna.pid)
    assert [agent["state"] for agent in house.json("list")["agents"]] == ["running"]


def test_H31_no_tracked_pid_points_to_stop(house: House) -> None:
    ghost(house)
    done = house.run("kill", "ghost")
    assert (done.returncode, done.stdout) == (1, "")
    told = "No tracked PID for 'ghost' — use 'knell stop ghost' instead\n"
    assert done.stderr == told


@pytest.mark.parametrize("agents", [1, 3])
def test_H33_a_tag_gets_a_summary(house: House, agents: int) -> None:
    for number in range(agents):
        started(house, SLEEPS, name=f"luna-{number}", tag="dev")
    done = house.run("kill", "tag:dev")
    assert done.stdout.splitlines()[-1] == f"Killed {agents} (tag:dev)"


def test_H33_all_gets_a_summary(house: House) -> None:
    for name in ("luna", "nova"):
        started(house, SLEEPS, name=name)
    assert house.run("kill", "all").stdout.splitlines()[-1] == "Killed 2"


@pytest.mark.needs_root
def test_H33_the_summary_counts_failures(house: House) -> None:
    pid, _ = stranger(house, SLEEPS)
    home = nobodys_home(house)
    as_nobody(house, "adopt", str(pid), "--name", "locked", home=home)
    as_nobody(
        house, "spawn", "--in", "headless", "--name", "luna", "--", "sleep", "1000", home=home
    )
    done = as_nobody(house, "kill", "all", home=home)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "Killed 1, 1 failed")
    end(pid)


def test_H33_failures_and_panes_that_stay_are_in_one_line() -> None:
    """One line for the group, with everything that went wrong in it."""
    ended, denied = (a_receipt(result) for result in (Result.ENDED, Result.PERMISSION_DENIED))
    open_pane = ended._replace(pane=Pane("tmux", "%1", closed=False))
    group = TargetResult("tag:dev", "tag:dev", (ended, open_pane, denied))
    told = "Killed 2, 1 failed, 1 with incomplete pane cleanup (tag:dev)"
    assert summary(group, "Killed") == told


def a_receipt(result: Result) -> Receipt:
    run = Run("run-1", "luna", "here", State.ENDED, Place("tmux", "%1"), "")
    return run_receipt(run, None, None, result, "")


def test_H33_all_without_anybody(house: House) -> None:
    done = house.run("kill", "all")
    assert (done.returncode, done.stdout) == (0, "No processes with tracked PIDs found\n")


def test_H33_an_orphan_is_told_with_the_agent_it_came_from(house: House) -> None:
    """A child that was meant to outlive its agent, ended by its PID."""
    luna = started(
        house, "child(SLEEP, session=True)\ntell()\nsleep()", keep=("*-S -c import os*",)
    )
    found = house.json("show", "luna")["processes"]
    child = next(one["pid"] for one in found if one["parent"] == luna.pid)
    assert house.run("kill", "luna").returncode == 0
    assert (alive(luna.pid), alive(child)) == (False, True)
    done = house.run("kill", str(child))
    assert (done.returncode, alive(child)) == (0, False)
    assert f"Ended orphan process group {child} (luna)" in done.stdout


def test_H33_a_stopped_instance_is_told_as_such(house: House) -> None:
    luna = started(house, SLEEPS)
    house.run("stop", "--disconnect", "luna")
    told = f"Ended process group {luna.pid} for stopped instance 'luna'"
    assert told in house.run("kill", "luna").stdout


@pytest.mark.parametrize(
    ("target", "told"),
    [("tag:nope", "No agents with tag 'nope'"), ("nobody", "Agent 'nobody' not found")],
)
def test_H33_what_does_not_exist_is_told(house: House, target: str, told: str) -> None:
    done = house.run("kill", target)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr


def test_H33_a_mistyped_name_is_suggested(house: House) -> None:
    started(house, SLEEPS)
    assert "did you mean luna?" in house.run("kill", "lunna").stderr
