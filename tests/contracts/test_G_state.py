"""G22, G23, G29: one winner, a crash at any moment, and clocks that jump."""

import json
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from house import House, alive, eventually
from knell.core import ladder
from knell.core.ladder import Rung
from knell.core.receipt import Proof
from knell.processes.ending import loop
from preloaded import Forked
from scenes import DEAF, TIDY, Played, adopted, event_types, started


def background(house: House, *words: str) -> "Forked | subprocess.Popen[str]":
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    return house.begin(*words, text=True, stdin=subprocess.DEVNULL, **pipes)


def agents(house: House) -> list[dict[str, Any]]:
    return house.json("list")["agents"]


# -- G22: many killers, one ending -----------------------------------------------------------------


@pytest.mark.parametrize("begin", [started, adopted])
def test_G22_of_twenty_killers_one_wins_and_all_report_its_receipt(house: House, begin) -> None:
    """It ignores TERM, so that the first is still at it when the others come."""
    luna = begin(house, DEAF)
    killers = [background(house, "kill", "luna", "--grace", "4", "--json") for _ in range(20)]
    answers = [killer.communicate(timeout=300) for killer in killers]
    assert [killer.returncode for killer in killers] == [0] * 20
    receipts = [json.loads(out)["receipts"][0] for out, _ in answers]
    results = sorted(receipt["result"] for receipt in receipts)
    assert results == ["already_ended"] * 19 + ["ended"]
    assert len({(receipt["run"], receipt["finished_at"]) for receipt in receipts}) == 1
    assert not alive(luna.pid)
    types = event_types(house)
    assert types.count("life.stopping") == 1
    assert types.count("life.stopped") == 1
    assert types.count("life.rung") == 2  # TERM and KILL, each climbed once


# -- G23: the killer dies --------------------------------------------------------------------------


def interrupted(house: House, luna: Played, *, grace: float) -> None:
    """Starts a kill and ends it with -9 once TERM has gone out, long before the agent ends."""
    killer = background(house, "kill", "luna", "--grace", str(grace), "--reason", "first")
    world = house.knell.world
    if luna.keeper:
        eventually(lambda: world.keepers.journal(world.rundir(luna.run.id)).rungs)
    else:
        eventually(lambda: "life.rung" in event_types(house))
    killer.kill()
    killer.communicate(timeout=300)
    assert alive(luna.pid)


def test_G23_the_keeper_finishes_what_a_killed_killer_began(house: House) -> None:
    luna = started(house, DEAF)
    interrupted(house, luna, grace=10)
    seen = agents(house)[0]
    assert (seen["name"], seen["state"]) == ("luna", "stopping")
    assert "interrupted" in seen["note"]
    eventually(lambda: not alive(luna.pid))
    eventually(lambda: not alive(luna.keeper))
    assert agents(house) == []  # this very command has recorded it
    receipt = house.knell.receipt("luna")
    told = (receipt.outcome, receipt.by, receipt.reason, receipt.detail)
    assert told == ("killed", "operator", "killed", "first")
    assert receipt.proof is Proof.PROVEN
    assert event_types(house).count("life.stopped") == 1


def test_G23_without_a_keeper_the_next_kill_takes_the_claim_over(house: House) -> None:
    luna = adopted(house, DEAF)
    interrupted(house, luna, grace=600)
    seen = agents(house)[0]
    assert (seen["state"], "interrupted" in seen["note"]) == ("stopping", True)
    done = house.run("kill", "luna", "--grace", "0.2")
    assert not alive(luna.pid)
    assert done.returncode == 0
    assert "Ended" in done.stdout
    assert event_types(house).count("life.stopped") == 1
    assert agents(house) == []


CLAIMS_AND_DIES = """
import os, signal
from knell import Knell
from knell.core.run import Outcome
from knell.core.ports.ending_store import ClaimRequest
from knell.core.run import Ending
world = Knell()._world
run = world.store.runs.live()[0]
ending = Ending(Outcome.KILLED, "operator", "killed", "first")
world.store.endings.claim([ClaimRequest(run.id, ending)], world.processes.me())
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("begin", [started, adopted])
@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_G23_a_claim_whose_owner_died_before_the_first_signal_holds_up_nobody(
    house: House, begin, verb: str
) -> None:
    luna = begin(house, TIDY)
    subprocess.run([sys.executable, "-c", CLAIMS_AND_DIES], env=house.env, check=False, timeout=300)
    seen = agents(house)[0]
    assert (seen["state"], "interrupted" in seen["note"]) == ("stopping", True)
    assert alive(luna.pid)
    assert house.run(verb, "luna", "--reason", "second").returncode == 0
    assert not alive(luna.pid)
    types = event_types(house)
    assert types.count("life.stopping") == 2  # both claims are on record
    assert types.count("life.stopped") == 1


# -- G29: clocks that jump -------------------------------------------------------------------------


def test_G29_a_jump_of_the_wall_clock_makes_no_rung_due(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(wall=0.0, steady=100.0)
    wound = SimpleNamespace(time=lambda: clock.wall, monotonic=lambda: clock.steady)
    monkeypatch.setattr(loop, "time", wound)
    plan = loop.Schedule(ladder.KILL)
    assert plan.due() is Rung.TERM
    plan.reached(Rung.TERM)
    clock.wall += 8 * 3600  # the lid was shut over night
    assert plan.due() is None
    clock.steady += 1.9
    assert plan.due() is None
    clock.wall -= 24 * 3600  # or somebody set the clock back
    clock.steady += 0.2
    assert plan.due() is Rung.KILL
    plan.reached(Rung.KILL)
    assert not plan.exhausted
    clock.steady += ladder.VERIFY
    assert plan.exhausted
    assert plan.millis() == 4100


def test_G29_an_agent_that_tidies_up_is_not_killed_because_the_clock_jumps(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    luna = adopted(house, TIDY)
    leaps = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: 3600.0 * next(leaps))
    receipt = house.kill("luna", grace=60)[0].receipts[0]
    assert [rung.rung for rung in receipt.rungs if rung.reached] == ["term"]
    assert not alive(luna.pid)
