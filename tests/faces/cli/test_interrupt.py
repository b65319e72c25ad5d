"""Whoever gives up waiting has not given up killing: the keeper finishes what was asked."""

import signal
import subprocess
import sys

import pytest

from house import House, alive, eventually
from scenes import DEAF, adopted, event_types, started

GRACE = "1.5"


def killing(house: House, verb: str = "kill") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "knell", verb, "--grace", GRACE, "luna"],
        env=house.env, cwd=house.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def keeper_was_told(house: House) -> bool:
    """From here on nothing depends on who asked."""
    return any("\nrung\tterm" in path.read_text() for path in house.state.glob("runs/*/journal"))


def test_monitor_says_that_it_goes_on(house: House) -> None:
    """Where all is well it has nothing else to say, and would look as if it hung."""
    with house.begin("monitor", stderr=subprocess.PIPE, text=True) as monitor:
        assert monitor.stderr
        assert monitor.stderr.readline().endswith("Ctrl-C ends the monitor and nothing else\n")
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(60) == 130


@pytest.mark.parametrize("place", ["headless", "tmux"])
def test_P21_ctrl_c_during_a_kill_exits_130_and_the_ending_is_finished(
    house: House, place: str
) -> None:
    server = "test" if place == "tmux" else ""
    pid = started(house, DEAF, place=place, server=server).pid
    kill = killing(house)
    eventually(lambda: keeper_was_told(house))
    kill.send_signal(signal.SIGINT)
    _, err = kill.communicate(timeout=300)
    assert kill.returncode == 130
    said = "the keeper of 'luna' goes on ending it: knell receipt luna"
    assert err.splitlines() == ["interrupted", said]
    eventually(lambda: not alive(pid))
    eventually(lambda: house.json("list")["agents"] == [])
    receipt = house.json("receipt", "luna")
    assert (receipt["outcome"], receipt["by"], receipt["reason"]) == (
        "killed",
        "operator",
        "killed",
    )
    assert receipt["proof"] == "proven"
    assert event_types(house).count("life.stopped") == 1


def test_P21_ctrl_c_during_the_end_of_an_adopted_agent_says_that_it_may_live_on(
    house: House,
) -> None:
    """It has no keeper, so nothing goes on without the process that asked."""
    pid = adopted(house, DEAF).pid
    kill = killing(house)
    eventually(lambda: "life.rung" in event_types(house))
    kill.send_signal(signal.SIGINT)
    _, err = kill.communicate(timeout=300)
    assert kill.returncode == 130
    assert err.splitlines() == [
        "interrupted",
        "'luna' may live on: knell kill luna finishes its ending",
    ]
    assert house.run("kill", "--grace", "0", "luna").returncode == 0
    assert not alive(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_so_does_the_death_of_the_killer(house: House, number: signal.Signals) -> None:
    pid = started(house, DEAF).pid
    kill = killing(house)
    eventually(lambda: keeper_was_told(house))
    kill.send_signal(number)
    kill.communicate(timeout=300)
    assert kill.returncode == -number
    eventually(lambda: not alive(pid))
    eventually(lambda: house.json("list")["agents"] == [])
    assert house.json("receipt", "luna")["outcome"] == "killed"


def test_an_interrupted_ending_is_shown_and_can_be_taken_over(house: House) -> None:
    pid = started(house, DEAF).pid
    kill = subprocess.Popen(
        [sys.executable, "-m", "knell", "kill", "--grace", "60", "luna"],
        env=house.env, cwd=house.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    eventually(lambda: keeper_was_told(house))
    kill.send_signal(signal.SIGKILL)
    kill.wait(timeout=300)
    assert alive(pid)
    [luna] = house.json("list")["agents"]
    assert luna["state"] == "stopping"
    assert "interrupted" in luna["note"]
    done = house.run("kill", "--grace", "0", "luna")
    assert done.returncode == 0, done.stderr
    assert not alive(pid)
