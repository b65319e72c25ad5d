"""G7 to G11: escalated, verified, and told truly when something could not be ended."""

import os
import signal
import subprocess
import sys
import time

import pytest

from house import House, alive, eventually
from knell.core.receipt import Proof, Result
from scenes import (
    DEAF,
    SLEEPS,
    adopted,
    end,
    event_types,
    frozen,
    list_names,
    number,
    started,
    state_letter,
)

# -- G7: TERM alone is not enough ------------------------------------------------------------------


@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_G7_an_agent_that_ignores_TERM_is_killed(house: House, place: str) -> None:
    server = "test" if place == "tmux" else ""
    luna = house.spawn("ignores_term", name="luna", place=place, server=server)
    told = house.json("kill", "luna", "--grace", "0.3")
    receipt = told["receipts"][0]
    assert told["ok"]
    assert [rung["rung"] for rung in receipt["rungs"] if rung["reached"]] == ["term", "kill"]
    assert [process["ended_by"] for process in receipt["processes"]] == ["kill", "kill"]
    assert not alive(number(luna.run.process))
    assert house.panes() == []


def test_G7_an_adopted_one_too(house: House) -> None:
    luna = adopted(house, DEAF)
    receipt = house.json("kill", "luna", "--grace", "0.3")["receipts"][0]
    assert [rung["rung"] for rung in receipt["rungs"] if rung["reached"]] == ["term", "kill"]
    assert receipt["processes"][0]["ended_by"] == "kill"
    assert not alive(luna.pid)


# -- G8: never success before it was seen ----------------------------------------------------------


@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_G8_when_kill_returns_it_is_over(house: House, place: str) -> None:
    """No `eventually` here: the answer comes after the fact, and says what proves it."""
    server = "test" if place == "tmux" else ""
    luna = house.spawn("ignores_term", name="luna", place=place, server=server)
    done = house.run("kill", "luna", "--grace", "0.3")
    assert not alive(number(luna.run.process))
    assert not alive(number(luna.run.keeper))
    assert done.returncode == 0
    assert "2 processes, proven gone" in done.stdout
    receipt = house.knell.receipt("luna")
    assert (receipt.result, receipt.proof) == (Result.ENDED, Proof.PROVEN)


@pytest.mark.parametrize("begin", [started, adopted])
def test_G8_no_success_is_claimed_while_it_lives(house: House, begin) -> None:
    luna = begin(house, DEAF)
    with frozen(luna.pid):
        done = house.run("kill", "luna", "--grace", "0.2")
        assert alive(luna.pid)
        assert done.returncode == 3
        assert "Ended" not in done.stdout + done.stderr
        assert f"{luna.pid} is still there" in done.stderr
        assert "life.stopped" not in event_types(house)
        assert house.knell.receipt("luna").proof is Proof.SURVIVORS
        assert list_names(house) == ["luna"]
    end(luna.pid)


# -- G9: permission denied -------------------------------------------------------------------------


@pytest.mark.needs_root
def test_G9_permission_denied_keeps_the_row_live(house: House) -> None:
    """The agent is another user's; the asker is root, but without the right to signal everybody."""
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    powerless = ("setpriv", "--bounding-set=-kill", "--inh-caps=-kill", "--")
    luna = os.posix_spawnp("setpriv", [*nobody, "sleep", "90"], house.env)
    eventually(lambda: os.stat(f"/proc/{luna}").st_uid == 65534)
    assert house.run("adopt", str(luna), "--name", "luna").returncode == 0

    def knell(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*powerless, sys.executable, "-m", "knell", *words],
            env=house.env, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    done = knell("kill", "luna", "--grace", "0.2")
    assert alive(luna)
    assert done.returncode == 1
    assert f"Permission denied to kill process group {luna} for 'luna'" in done.stderr
    assert knell("list", "--names").stdout == "luna\n"
    assert "life.stopped" not in event_types(house)
    # Nothing was lost: who has the right can still end it.
    assert house.run("kill", "luna").returncode == 0
    assert not alive(luna)


# -- G10: what cannot be ended is named, with its state and why ------------------------------------


@pytest.mark.parametrize("begin", [started, adopted])
def test_G10_a_survivor_is_told_with_its_state_and_why(house: House, begin) -> None:
    luna = begin(house, DEAF)
    with frozen(luna.pid):
        assert state_letter(luna.pid) == "D"
        told = house.json("kill", "luna", "--force")
        receipt = told["receipts"][0]
        assert not told["ok"]
        assert (receipt["result"], receipt["proof"]) == ("survivors", "survivors")
        assert receipt["outcome"] == ""
        survivor = receipt["survivors"][0]
        assert (survivor["pid"], survivor["state"]) == (luna.pid, "D")
        assert survivor["why"]
        assert "python" in survivor["command"]
        assert house.run("kill", "luna", "--force").returncode == 3
    eventually(lambda: not alive(luna.pid))  # thawed, it takes the KILL that was waiting for it
    assert list_names(house) == []
    last = house.knell.receipt("luna")
    assert (last.outcome, last.by, last.reason) == ("killed", "operator", "killed")


def test_G10_a_stuck_process_does_not_cost_the_run_its_keeper(house: House) -> None:
    """Without it, what the agent forks after the thaw would have no parent that proves its end."""
    luna = started(house, "child(SLEEP, session=True)\ntell()\nsleep()")
    with frozen(luna.pid):
        assert house.run("kill", "luna", "--force").returncode == 3
        assert alive(luna.keeper)
    eventually(lambda: not alive(luna.keeper))
    receipt = house.knell.receipt("luna")
    assert (receipt.result, receipt.proof) == (Result.ENDED, Proof.PROVEN)


# -- G11: a stopped process takes no TERM until it is continued ------------------------------------


@pytest.mark.parametrize("begin", [started, adopted])
def test_G11_a_stopped_agent_is_continued_so_that_TERM_reaches_it(house: House, begin) -> None:
    luna = begin(house, SLEEPS)
    os.kill(luna.pid, signal.SIGSTOP)
    eventually(lambda: state_letter(luna.pid) == "T")
    began = time.monotonic()
    receipt = house.kill("luna", grace=60)[0].receipts[0]
    assert time.monotonic() - began < 30
    assert [rung.rung for rung in receipt.rungs if rung.reached] == ["term"]
    assert not alive(luna.pid)
