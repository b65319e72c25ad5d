"""A program that is not there: the message says how to get it, and no failed run is left."""

import json
from pathlib import Path

import pytest

from complaints import FAILED, complaint
from house import House
from known_kinds import ALL
from robin import configure

BARE = "/usr/bin:/bin"  # no agent program is installed there


def stand_in(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("verb", [("spawn", "--in", "headless"), ("run",)], ids=lambda v: v[0])
def test_a_missing_program_says_how_to_get_it(house: House, verb: tuple[str, ...]) -> None:
    env = {**house.env, "PATH": BARE}
    what, hint = complaint(house.run(*verb, "codex", env=env), FAILED)
    assert (what, hint) == ("codex is not on PATH", "npm install -g @openai/codex")
    assert house.json("list", "--all")["agents"] == []


def test_a_program_at_a_whole_path_that_is_gone(house: House) -> None:
    configure(house, '[kinds.robin]\nprogram = "/opt/robin/bin/robin"\n')
    done = house.run("spawn", "--in", "headless", "robin")
    assert (done.returncode, done.stderr) == (FAILED, "error: /opt/robin/bin/robin is not there\n")


def test_the_path_that_counts_is_the_agents_own(house: House) -> None:
    stand_in(house.root / "bin", "codex")
    path = f"PATH={house.root / 'bin'}:{BARE}"
    args = ("spawn", "--in", "headless", "--name", "luna", "--env", path, "codex")
    done = house.run(*args, env={**house.env, "PATH": BARE})
    assert done.returncode == 0, done.stderr


def test_a_relative_path_is_left_to_the_start_itself(house: House) -> None:
    """It means a directory of the agent's, not of knell's."""
    project = house.root / "project"
    stand_in(project, "codex")
    args = ("spawn", "--in", "headless", "--name", "luna", "--cwd", str(project), "codex")
    done = house.run(*args, env={**house.env, "PATH": f".:{BARE}"})
    assert done.returncode == 0, done.stderr


def test_every_kind_but_one_says_how_to_get_it() -> None:
    """Where to get Antigravity from was not seen."""
    assert [kind.name for kind in ALL if not kind.install] == ["agy", "command"]


def test_doctor_names_the_missing_programs_in_one_line(house: House) -> None:
    stand_in(house.root / "bin", "codex")
    env = {**house.env, "PATH": f"{house.root / 'bin'}:{BARE}"}
    text = house.run("doctor", "--json", env=env).stdout
    found = {one["what"]: one for one in json.loads(text)["findings"]}
    assert "codex" in found
    assert "vibe" not in found
    assert found["agents"]["text"].startswith("not on PATH: agy, aider, ")
    assert "codex" not in found["agents"]["text"]
