"""Completion for bash, zsh and fish: verbs, options, and the names that are there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import House, eventually
from pane import Pane

SHELLS = ("bash", "zsh", "fish")


def completed(house: House, *words: str, shell: str = "bash") -> list[str]:
    """What the shell's own script would be told for these words, the last of them unfinished."""
    env = house.env | {
        "_KNELL_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(("knell", *words)),
        "COMP_CWORD": str(len(words)) if shell != "fish" else words[-1],
    }
    done = house.run(env=env)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line]
    return [line.partition(",")[2] for line in lines] if shell == "bash" else lines


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed(house: House, shell: str) -> None:
    done = house.run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "knell" in done.stdout
    assert f"_KNELL_COMPLETE={shell}_complete" in done.stdout
    assert not list(house.state.iterdir())


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_that_its_shell_can_read(house: House, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = house.run("completion", shell).stdout
    checked = subprocess.run(
        [shell, "-n"], input=script, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def furnish(house: House, shell: str) -> None:
    """knell on PATH, and its script for that shell in a file; two live agents and an ended one."""
    house.spawn(name="luna", tag="dev")
    house.spawn(name="nova")
    house.spawn(name="lara")
    house.kill("lara")
    folder = house.root / "bin"
    folder.mkdir()
    (folder / "knell").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m knell "$@"\n')
    (folder / "knell").chmod(0o755)
    (house.root / "script").write_text(house.run("completion", shell).stdout)
    house.env["PATH"] = f"{folder}:{house.env['PATH']}"


SHELL_LINES = {
    "bash": ("bash", "--norc", "--noprofile"),
    "zsh": ("zsh", "-f"),
}
PREPARE = {
    "bash": "PS1='$ '; bind 'set bell-style none'; source {script}; echo rea''dy",
    "zsh": "PS1='$ '; autoload -Uz compinit; compinit -u -D; source {script}; echo rea''dy",
}
PRESSED = [
    ("knell kill lu", "knell kill luna"),
    ("knell kill tag:d", "knell kill tag:dev"),
    ("knell resume l", "knell resume lara"),
    ("knell spawn clau", "knell spawn claude"),
    ("knell stat", "knell status"),
]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_pressing_tab_in_the_shell_itself(house: House, shell: str) -> None:
    """Only what the verb can take: live agents for kill, ended ones for resume, kinds for spawn."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    furnish(house, shell)
    pane = Pane(house, 100, program=SHELL_LINES[shell])
    pane.type(PREPARE[shell].format(script=house.root / "script"), "Enter")
    eventually(lambda: "\nready" in pane.text())
    for typed, shown in PRESSED:
        pane.press("C-u")
        pane.type(typed, "Tab")
        eventually(lambda shown=shown: f"{shown} " in pane.text() + " ")


def test_fish_itself_completes(house: House) -> None:
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    furnish(house, "fish")
    for typed, shown in PRESSED:
        line = f"source {house.root}/script; complete -C'{typed}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", line],
            env=house.env, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        words = [line.split("\t")[0] for line in done.stdout.splitlines()]
        assert words == [shown.split()[-1]], (typed, done.stdout, done.stderr)


def test_verbs_are_completed(house: House) -> None:
    assert completed(house, "ki") == ["kill"]
    assert {"spawn", "stop", "status", "show"} <= set(completed(house, "s"))


def test_options_are_completed(house: House) -> None:
    assert completed(house, "kill", "--gr") == ["--grace"]


@pytest.mark.parametrize("verb", ["kill", "stop", "show", "tree", "logs", "attach", "status"])
def test_names_are_completed(house: House, verb: str) -> None:
    house.spawn(name="luna")
    assert completed(house, verb, "lu") == ["luna"]
    assert completed(house, "resume", "lu") == completed(house, "receipt", "lu") == []


@pytest.mark.parametrize("verb", ["receipt", "resume", "show", "logs", "status"])
def test_names_of_the_ended_are_completed(house: House, verb: str) -> None:
    house.spawn(name="luna")
    house.kill("luna")
    assert completed(house, verb, "lu") == ["luna"]
    assert completed(house, "kill", "lu") == completed(house, "attach", "lu") == []


def test_tags_and_teams_are_completed_for_those_who_take_them(house: House) -> None:
    house.knell.team("red").create()
    house.spawn(name="luna", tag="dev", team="red")
    assert set(completed(house, "kill", "t")) == {"tag:dev", "team:red"}
    assert completed(house, "kill", "al") == ["all"]


def test_the_second_name_is_completed_too(house: House) -> None:
    house.spawn(name="luna")
    house.spawn(name="nova")
    assert completed(house, "kill", "luna", "no") == ["nova"]


def test_zsh_and_fish_are_told_what_each_is(house: House) -> None:
    house.spawn(name="luna")
    assert completed(house, "kill", "lu", shell="zsh")[:3] == ["plain", "luna", "command, running"]
    assert completed(house, "kill", "lu", shell="fish") == ["plain,luna\tcommand, running"]


def test_a_broken_store_completes_nothing_and_says_nothing(house: House) -> None:
    (house.state / "knell.db").write_bytes(b"garbage" * 1000)
    assert completed(house, "kill", "lu") == []


def test_behind_a_mistyped_verb_nothing_is_said(house: House) -> None:
    """It would stand in the middle of the line that is being typed."""
    assert "list" in completed(house, "team", "xyz", "")
    assert "kill" in completed(house, "xyz", "")


@pytest.mark.usefixtures("unused")
def test_completing_starts_no_state(house: House) -> None:
    completed(house, "ki")
    assert not (Path(house.state) / "knell.db").exists()


def test_help_offers_verbs_and_their_commands(house: House) -> None:
    assert completed(house, "help", "ta") == ["task"]
    assert completed(house, "help", "team", "di") == ["dissolve"]
    assert completed(house, "man", "ki") == ["kill"]
    assert completed(house, "help", "nonsense", "ki") == []
