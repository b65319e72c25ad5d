"""Completion for bash, zsh and fish: verbs, options, and the names that are there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import House

SHELLS = ("bash", "zsh", "fish")


def completed(house: House, *words: str, shell: str = "bash") -> list[str]:
    """What the shell's own script would be told for these words, the last of them unfinished."""
    env = house.env | {
        "_QUELL_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(("quell", *words)),
        "COMP_CWORD": str(len(words)) if shell != "fish" else words[-1],
    }
    done = house.run(env=env)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line]
    return [line.partition(",")[2] for line in lines] if shell == "bash" else lines


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed(house: House, shell: str) -> None:
    done = house.run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "quell" in done.stdout
    assert f"_QUELL_COMPLETE={shell}_complete" in done.stdout
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


def test_bash_itself_completes_a_name(house: House) -> None:
    house.spawn(name="luna")
    house.spawn(name="nova")
    folder = house.root / "bin"
    folder.mkdir()
    (folder / "quell").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m quell "$@"\n')
    (folder / "quell").chmod(0o755)
    script = house.root / "quell.bash"
    script.write_text(house.run("completion", "bash").stdout)
    line = (
        f"source {script}; COMP_WORDS=(quell kill lu); COMP_CWORD=2;"
        ' _quell_completion quell; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = house.env | {"PATH": f"{folder}:{house.env['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", line], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("luna\n", "")


def test_verbs_are_completed(house: House) -> None:
    assert completed(house, "ki") == ["kill"]
    assert {"spawn", "stop", "status", "show"} <= set(completed(house, "s"))


def test_options_are_completed(house: House) -> None:
    assert completed(house, "kill", "--gr") == ["--grace"]


@pytest.mark.parametrize("verb", ["kill", "stop", "show", "tree", "receipt", "resume", "status"])
def test_names_are_completed(house: House, verb: str) -> None:
    house.spawn(name="luna")
    assert completed(house, verb, "lu") == ["luna"]


def test_tags_and_teams_are_completed_for_those_who_take_them(house: House) -> None:
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
    (house.state / "quell.db").write_bytes(b"garbage" * 1000)
    assert completed(house, "kill", "lu") == []


def test_completing_starts_no_state(house: House) -> None:
    completed(house, "ki")
    assert not (Path(house.state) / "quell.db").exists()
