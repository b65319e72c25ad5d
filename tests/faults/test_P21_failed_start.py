"""P21: a program that ends at once has not started, and is told with its code and last lines."""

import json

import pytest

from complaints import FAILED, complaint
from house import House

PLACES = pytest.mark.parametrize(
    "where", [("--in", "headless"), ("-L", "test")], ids=["headless", "tmux"]
)


@PLACES
def test_P21_a_program_that_ends_at_once_has_not_started(
    house: House, where: tuple[str, ...]
) -> None:
    command = ("sh", "-c", "echo one; echo no key given; exit 3")
    what, hint = complaint(house.run("spawn", "--name", "luna", *where, "--", *command), FAILED)
    assert what.startswith("'luna' did not start: it ended at once, exit code 3: ")
    assert "no key given" in what
    assert hint == "knell receipt luna has the record"
    receipt = house.json("receipt", "luna")
    assert (receipt["outcome"], receipt["reason"]) == ("failed", "not_started")
    assert receipt["exit_code"] == 3
    assert house.json("list")["agents"] == []


def test_P21_a_signal_that_ends_it_at_once_is_told(house: House) -> None:
    done = house.run("spawn", "--json", "--in", "headless", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == FAILED
    assert "it ended at once, signal 9" in json.loads(done.stdout)["message"]


def test_P21_a_failed_start_leaves_no_name_behind(house: House) -> None:
    for _ in range(2):
        house.run("spawn", "--in", "headless", "--", "sh", "-c", "exit 3")
        house.run("spawn", "--in", "headless", "--", "/no/such/program")
    done = house.run("spawn", "--json", "--in", "headless", "--", "sleep", "600")
    assert [one["name"] for one in json.loads(done.stdout)["agents"]] == ["command-1"]


def test_P21_what_is_done_at_once_has_started(house: House) -> None:
    done = house.run("spawn", "--name", "luna", "--in", "headless", "--", "true")
    assert (done.returncode, done.stderr) == (0, "")
    assert house.json("receipt", "luna")["outcome"] == "completed"


def test_P21_the_orchestrator_is_told_of_an_agent_that_ends_at_once(house: House) -> None:
    command = ["sh", "-c", "echo no key given; exit 3"]
    params = {"AGENT_TYPE": "coder", "COMMAND": command, "MIN_CPU_FREE_PERCENT": 0}
    answer = house.knell.invoke("spawn-agent-session", params)
    assert (answer["success"], answer["error"]) == (False, "spawn_failed")
    assert answer["message"].endswith("it ended at once, exit code 3: no key given")


def test_P21_how_long_it_must_stay_can_be_set(house: House) -> None:
    config = house.root / "settings.toml"
    config.write_text("[spawn]\nstay = 5\n")
    env = house.env | {"KNELL_CONFIG": str(config)}
    command = ("sh", "-c", "sleep 1; exit 3")
    done = house.run("spawn", "--name", "luna", "--in", "headless", "--", *command, env=env)
    what, _ = complaint(done, FAILED)
    assert "it ended at once, exit code 3" in what
