"""Mistakes that a new user makes: each is named, and the hint says what was meant."""

import pytest

from complaints import FAILED, USAGE, complaint
from house import House


@pytest.mark.parametrize("verb", ["spawn", "run"])
def test_a_misspelt_kind_is_not_started_as_a_command(house: House, verb: str) -> None:
    what, hint = complaint(house.run(verb, "cluade"), USAGE)
    assert what == "'cluade' is no kind of agent, and no program of that name is on PATH"
    assert hint == "did you mean claude?"
    assert house.json("list", "--all")["agents"] == []


def test_a_program_that_is_not_there_leaves_no_agent_behind(house: House) -> None:
    what, hint = complaint(house.run("spawn", "frobnicate"), USAGE)
    assert what == "'frobnicate' is no kind of agent, and no program of that name is on PATH"
    assert hint.startswith("knell spawn --help names the kinds")
    assert house.json("list", "--all")["agents"] == []


def test_a_program_on_the_path_that_the_agent_gets_is_started(house: House) -> None:
    """As with `env PATH=… frobnicate`."""
    program = house.root / "own" / "frobnicate"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    path = f"PATH={program.parent}:{house.env['PATH']}"
    done = house.run("spawn", "--in", "headless", "--env", path, "--name", "luna", "frobnicate")
    assert done.returncode == 0, done.stderr
    house.kill("luna")


def test_a_mistyped_verb_of_a_group_names_its_verbs(house: House) -> None:
    what, hint = complaint(house.run("task", "complete", "TASK-1"), USAGE)
    assert what == "there is no knell task complete"
    assert hint == "one of: add, claim, delete, done, list, release, show"


def test_a_target_without_its_host_is_told_how_to_name_one(house: House) -> None:
    """The host's name is not what to change."""
    what, hint = complaint(house.run("kill", "luna@"), USAGE)
    assert what == "'luna@' is no target of the fleet"
    assert hint.startswith("write NAME@HOST")


def test_a_group_of_verbs_alone_names_its_verbs(house: House) -> None:
    what, hint = complaint(house.run("fleet"), USAGE)
    assert what.startswith("knell fleet needs one of: init, join, ")
    assert "Usage" not in what
    assert hint == "see knell fleet --help"


def test_a_misspelt_setting(house: House) -> None:
    config = house.root / "config.toml"
    config.write_text("[kill]\ngarce = 2\n")
    env = {**house.env, "KNELL_CONFIG": str(config)}
    what, hint = complaint(house.run("kill", "luna", env=env), USAGE)
    assert what.endswith("unknown setting kill.garce")
    assert hint == "did you mean kill.grace?"


@pytest.mark.parametrize("target", ["4194304", "no-such-session"])
def test_adopting_what_is_not_there_says_what_can_be_adopted(house: House, target: str) -> None:
    what, hint = complaint(house.run("adopt", target, "-L", "test"), FAILED)
    assert what == f"Agent '{target}' not found"
    assert hint.startswith("name the PID, the tmux pane")


def test_an_answer_from_outside_of_an_agent_must_name_it(house: House) -> None:
    _, hint = complaint(house.run("approve"), FAILED)
    assert hint == "name the agent that was asked"
