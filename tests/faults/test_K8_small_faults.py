"""K6 and K8: options that contradict each other are refused, and what is told is true and whole."""

import json
import re
import subprocess

import pytest

from complaints import USAGE, complaint
from house import House, alive


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("stop", "luna", "--disconnect", "--mode", "hard"), "--disconnect means --mode soft"),
        (("stop", "luna", "--disconnect", "--mode", "graceful"), "--disconnect means --mode soft"),
        (("kill", "luna", "--force", "--grace", "5"), "--force kills at once"),
        (("kill", "--grace=0", "-f", "luna"), "--force kills at once"),
        (("kill", "luna", "--force", "--grace", "5", "--cleanup"), "--force kills at once"),
        (("events", "--last", "-5"), "-5 is not in the range"),
        (("events", "--last", "0"), "0 is not in the range"),
        (("spawn", "--env", "NO_SUCH_VARIABLE", "--", "true"), "you have no such variable"),
        (("spawn", "--env", "=x", "--", "true"), "is not NAME=VALUE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_K8_options_that_contradict_each_other_are_refused(
    house: House, words: tuple[str, ...], what: str
) -> None:
    run = house.spawn(name="luna").run
    said, hint = complaint(house.run(*words), USAGE)
    assert what in said
    assert hint
    assert run.process
    assert alive(run.process.pid)
    assert [one["name"] for one in house.json("list", "--all")["agents"]] == ["luna"]


def test_K8_a_variable_that_is_there_is_passed_on(house: House) -> None:
    seen = house.root / "seen"
    env = house.env | {"COLOUR": "green"}
    command = ("sh", "-c", f'echo "$COLOUR" > {seen}; exec sleep 600')
    assert house.run("spawn", "--env", "COLOUR", "--", *command, env=env).returncode == 0
    assert seen.read_text() == "green\n"


def test_K8_events_show_no_raw_dictionary(house: House) -> None:
    house.spawn(name="luna")
    house.run("stop", "--mode", "soft", "luna")
    house.run("kill", "luna")
    house.spawn("daemon", name="nova", keep=("*",))
    house.run("kill", "nova")
    house.run("reap", "--yes")
    told = house.run("events", "--last", "1000").stdout
    assert "orphan.ended" in told
    assert not re.search(r"[{}\[\]]", told)


def test_K8_a_worktree_is_told_with_its_path(house: House) -> None:
    for words in (("init", "--quiet"), ("commit", "--quiet", "--allow-empty", "-m", "begin")):
        names = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *names, *words], cwd=house.root, check=True, timeout=300)
    house.run("spawn", "--worktree", "fix", "--in", "headless", "--", "sleep", "600")
    [line] = [
        line for line in house.run("events").stdout.splitlines() if "worktree.created" in line
    ]
    assert f"path={house.root}/.worktrees/fix" in line
    assert "branch=fix" in line


def test_K8_doctor_exits_1_when_something_is_broken(house: House) -> None:
    assert house.run("doctor").returncode == 0
    config = house.root / "config.toml"
    config.write_text("[kill]\ngrace = 'long'\n")
    done = house.run("doctor", env=house.env | {"KNELL_CONFIG": str(config)})
    assert done.returncode == 1
    assert "BAD config" in done.stdout


def test_K6_stop_all_says_that_an_orphan_is_left(house: House) -> None:
    pid = house.spawn(name="luna").run.process
    assert pid
    house.run("stop", "--mode", "soft", "luna")
    done = house.run("stop", "all")
    assert done.returncode == 0
    assert "left alone what outlived luna: knell reap --yes ends that" in done.stdout
    assert json.loads(house.run("stop", "all", "--json").stdout)["orphaned"] == ["luna"]
    assert alive(pid.pid)
    assert house.run("reap", "--yes").returncode == 0
    assert "No processes with tracked PIDs found" in house.run("stop", "all").stdout
