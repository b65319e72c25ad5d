"""H44 to H53: `kill` against `stop`, row by row. C2, C31, C35: how both stay what they are."""

import os
import signal
import sys

import pytest

from contracts.h_scenes import claude, claude_notes, desk, farewell, heard, hears, words_of
from contracts.t_scenes import Puppet
from house import House, alive, eventually
from scenes import DEAF, SLEEPS, started, state_letter


def reached(house: House, agent: str = "luna") -> list[str]:
    return [rung["rung"] for rung in house.json("receipt", agent)["rungs"] if rung["reached"]]


# -- the table ------------------------------------------------------------------------------------


def test_H44_kill_signals_term_then_kill(house: House) -> None:
    luna = started(house, hears(house, linger=-1))
    house.run("kill", "luna", "--grace", "0.3")
    assert words_of(house, luna.pid) == ["SIGTERM"]
    assert reached(house) == ["term", "kill"]


def test_H44_stop_notifies_an_interactive_agent(house: House) -> None:
    claude(house)
    assert house.run("stop", "luna").returncode == 0
    assert claude_notes(house)[1:] == ["saved"]
    assert reached(house) == ["exit_keys"]


def test_H44_stop_terminates_a_headless_agent(house: House) -> None:
    luna = started(house, hears(house))
    assert house.run("stop", "luna").returncode == 0
    assert words_of(house, luna.pid) == ["SIGTERM", "finished"]
    assert reached(house) == ["term"]


def test_H45_kill_forces_and_stop_is_graceful(house: House) -> None:
    """An agent that saves its work when it is asked to leave, and loses it when it is forced."""
    claude(house, "luna", saving=1)
    house.run("stop", "luna")
    assert claude_notes(house)[1:] == ["saved"]
    claude(house, "nova", saving=1)
    house.run("kill", "nova")
    assert claude_notes(house)[3:] == ["SIGTERM"]


def test_H46_kill_closes_the_pane_and_a_disconnect_does_not(house: House) -> None:
    own = desk(house)
    luna = started(house, SLEEPS, name="luna", place="tmux", server="test")
    nova = started(house, SLEEPS, name="nova", place="tmux", server="test")
    house.run("stop", "--disconnect", "luna")
    house.run("kill", "nova")
    assert house.panes() == [own, luna.run.place.pane]
    assert (alive(luna.pid), alive(nova.pid)) == (True, False)


def test_H47_stop_is_for_the_active_and_kill_for_orphans_too(house: House) -> None:
    luna = started(house, SLEEPS, name="luna")
    nova = started(house, SLEEPS, name="nova")
    house.run("stop", "--disconnect", "luna")
    done = house.run("stop", "all")
    last = done.stdout.splitlines()[-1]
    left = "left alone what outlived luna: knell reap --yes ends that"
    assert (done.returncode, last) == (0, f"Stopped 1, {left}")
    assert (alive(luna.pid), alive(nova.pid)) == (True, False)
    assert house.run("kill", "all").returncode == 0
    assert not alive(luna.pid)


def test_H47_stop_of_an_orphan_says_that_it_runs_on(house: House) -> None:
    luna = started(house, SLEEPS)
    house.run("stop", "--disconnect", "luna")
    done = house.run("stop", "luna")
    assert (done.returncode, alive(luna.pid)) == (0, True)
    assert f"process group {luna.pid} runs on as an orphan" in done.stdout


def test_H48_kill_is_immediate_and_stop_waits_for_the_tool(house: House) -> None:
    """The tool needs longer than kill would give it, and less than stop does."""
    config = house.root / "config.toml"
    config.write_text("[stop]\nexit_wait = 60\n")
    luna = claude(house, "luna", saving=2.5)
    assert luna.run.process
    patient = house.env | {"KNELL_CONFIG": str(config)}
    receipt = house.json("stop", "luna", env=patient)["receipts"][0]
    assert receipt["duration_ms"] >= 2400
    assert claude_notes(house)[1:] == ["saved"]
    nova = started(house, SLEEPS, name="nova")
    receipt = house.json("kill", "nova", "--grace", "100")["receipts"][0]
    assert receipt["duration_ms"] < 50_000
    assert not alive(nova.pid)


@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_H49_both_can_be_resumed(house: House, verb: str) -> None:
    luna = started(house, SLEEPS)
    assert house.run(verb, "luna").returncode == 0
    assert house.run("r", "luna").returncode == 0
    agent = house.json("list")["agents"][0]
    assert (agent["name"], agent["state"]) == ("luna", "running")
    assert agent["run"] != luna.run.id


def test_H50_kill_ends_an_unresponsive_agent(house: House) -> None:
    luna = started(house, DEAF)
    os.kill(luna.pid, signal.SIGSTOP)
    eventually(lambda: state_letter(luna.pid) == "T")
    assert house.run("kill", "luna", "--grace", "0.3").returncode == 0
    assert not alive(luna.pid)


def test_H50_the_pane_is_free_when_kill_returns(house: House) -> None:
    own = desk(house)
    started(house, DEAF, place="tmux", server="test")
    assert house.run("kill", "luna", "--grace", "0.3").returncode == 0
    assert house.panes() == [own]


def test_H50_kill_cleans_up_orphans(house: House) -> None:
    luna = started(house, SLEEPS)
    house.run("stop", "--disconnect", "luna")
    assert house.run("kill", "all").returncode == 0
    assert not alive(luna.pid)
    assert house.json("status")["orphans"] == []


def test_H51_stop_lets_a_responsive_agent_shut_down_by_itself(house: House) -> None:
    claude(house, saving=0.5)
    receipt = house.json("stop", "luna")["receipts"][0]
    assert claude_notes(house)[1:] == ["saved"]
    assert (receipt["outcome"], receipt["exit_code"]) == ("stopped", 0)


def test_H52_without_a_target_an_agent_stops_itself(house: House) -> None:
    nova = started(house, SLEEPS, name="nova")
    stop_myself = f"import subprocess\nsubprocess.run([{sys.executable!r}, '-m', 'knell', 'stop'])"
    luna = started(house, f"tell()\n{stop_myself}\nsleep()", name="luna")
    eventually(lambda: not alive(luna.pid))
    eventually(lambda: [one["name"] for one in house.json("list")["agents"]] == ["nova"])
    told = farewell(house)
    assert (told["by"], told["reason"], told["outcome"]) == ("agent:luna", "self", "stopped")
    assert alive(nova.pid)


def test_H52_outside_of_an_agent_it_stops_nobody(house: House) -> None:
    luna = started(house, SLEEPS)
    done = house.run("stop")
    assert (done.returncode, alive(luna.pid)) == (1, True)
    assert "no targets specified" in done.stderr


def test_H53_the_related_commands_are_there(house: House) -> None:
    luna = started(house, SLEEPS)
    assert "luna" in house.run("list").stdout
    assert "orphans: none" in house.run("status").stdout
    assert house.run("stop", "luna").returncode == 0
    assert not alive(luna.pid)
    assert house.run("r", "luna").returncode == 0
    told = house.run("--help").stdout
    for verb in ("kill", "stop", "resume", "list", "status"):
        assert f"\n  {verb} " in told
        assert house.run(verb, "--help").returncode == 0
    assert house.run("r", "--help").returncode == 0


# -- the decisions --------------------------------------------------------------------------------


def test_C2_the_verb_is_the_intent(house: House) -> None:
    """`kill` never asks first, `stop` does where it can; neither needs an option for that."""
    for name, verb in (("luna", "kill"), ("nova", "stop")):
        claude(house, name)
        assert house.run(verb, name).returncode == 0
    assert reached(house, "luna") == ["term"]
    assert reached(house, "nova") == ["exit_keys"]
    assert (farewell(house, "luna")["outcome"], farewell(house, "nova")["outcome"]) == (
        "killed",
        "stopped",
    )


def test_C3_stop_waits_five_seconds_after_term(house: House) -> None:
    """Never less, by knell's own clock; how much more says how busy the machine is."""
    started(house, DEAF, name="luna")
    receipt = house.json("stop", "luna")["receipts"][0]
    waited = {rung["rung"]: rung["at_ms"] for rung in receipt["rungs"]}
    assert waited["kill"] - waited["term"] > 4900


def asks(*words: str) -> str:
    """The body of an agent that runs knell, and tells its exit code."""
    argv = [sys.executable, "-m", "knell", *words]
    told = "stdin=subprocess.DEVNULL, capture_output=True"
    return f"import subprocess\ntell(subprocess.run({argv!r}, {told}).returncode)\nsleep()"


def test_C31_an_agent_may_not_end_many_without_yes(house: House) -> None:
    pids = [started(house, SLEEPS, name=name, tag="dev").pid for name in ("nova", "kira")]
    luna = Puppet(house, "luna")
    for verb in ("kill", "stop"):
        for targets in (("all",), ("tag:dev",), ("nova", "kira"), ("n*",)):
            said = luna.says(verb, *targets)
            assert said.code == 1, (verb, targets, said)
            assert all(map(alive, pids)), (verb, targets)


def test_C31_one_member_makes_a_tag_no_single_target(house: House) -> None:
    nova = started(house, SLEEPS, name="nova", tag="dev")
    assert started(house, asks("kill", "tag:dev"), name="luna").told == ["1"]
    assert alive(nova.pid)


@pytest.mark.parametrize("yes", ["--yes", "--go"])
def test_C31_with_yes_it_may(house: House, yes: str) -> None:
    pids = [started(house, SLEEPS, name=name, tag="dev").pid for name in ("nova", "kira")]
    luna = started(house, asks("kill", "tag:dev", yes), name="luna")
    assert luna.told == ["0"]
    assert not any(map(alive, pids))
    assert alive(luna.pid)


def test_C31_one_target_needs_no_yes_and_a_person_never_does(house: House) -> None:
    nova = started(house, SLEEPS, name="nova")
    assert started(house, asks("kill", "nova"), name="luna").told == ["0"]
    assert not alive(nova.pid)
    started(house, SLEEPS, name="nova")
    done = house.run("kill", "all")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Killed 2")


@pytest.mark.parametrize("how", [("--disconnect",), ("--mode", "soft")])
def test_C35_a_disconnect_signals_nobody_and_tracks_the_process(
    house: House, how: tuple[str, ...]
) -> None:
    luna = started(house, hears(house))
    done = house.run("stop", "luna", *how)
    assert done.returncode == 0
    assert f"Let go of 'luna'; process group {luna.pid} runs on as an orphan" in done.stdout
    assert heard(house) == []
    assert alive(luna.pid)
    assert house.json("list")["agents"] == []
    assert [one["pid"] for one in house.json("status")["orphans"]] == [luna.pid]
    tracked = [(one.process.pid, one.why) for one in house.knell.world.store.runs.orphans()]
    assert tracked == [(luna.pid, "archived")], "on record, not only found by its stamp"
    assert farewell(house)["outcome"] == "archived"


def test_C35_plain_stop_ends_the_process(house: House) -> None:
    own = desk(house)
    luna = started(house, SLEEPS, place="tmux", server="test")
    assert house.run("stop", "luna").returncode == 0
    assert not alive(luna.pid)
    assert house.panes() == [own]
    assert farewell(house)["outcome"] == "stopped"
