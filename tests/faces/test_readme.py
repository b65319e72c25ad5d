"""What the README shows is run: every `$ quell …` line of its console blocks, in order."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from house import House

README = Path(__file__).resolve().parents[2] / "README.md"
# It begins the conversation that it is told to and stays until it must go, as the real one would.
STAND_IN = """#!/bin/sh
if [ "$1" = --session-id ]; then
    mkdir -p "$HOME/.claude/projects/here"
    echo '{}' > "$HOME/.claude/projects/here/$2.jsonl"
fi
exec sleep 100
"""
PROGRAMS = ("claude", "codex", "gemini", "agy", "opencode")


class Shown(NamedTuple):
    line: str  # as a shell reads it
    code: int


def shown(markdown: str) -> list[Shown]:
    """The commands of all console blocks; one with <a placeholder> is not for running."""
    blocks = re.findall(r"^```console\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)
    lines = [
        line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ quell ")
    ]
    return [command(line) for line in lines if "<" not in line]


def command(line: str) -> Shown:
    said = re.search(r"\s+# exit (\d+)$", line)
    return Shown(line[: said.start()], int(said[1])) if said else Shown(line, 0)


def furnished(house: House) -> dict[str, str]:
    """The environment of a reader: quell and its agents on PATH, inside a tmux session."""
    folder = house.root / "bin"
    folder.mkdir()
    quell = f'#!/bin/sh\nexec "{sys.executable}" -m quell "$@"\n'
    for name, script in {"quell": quell, **dict.fromkeys(PROGRAMS, STAND_IN)}.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    house.env["PATH"] = f"{folder}:{house.env['PATH']}"
    who = ("-c", "user.name=reader", "-c", "user.email=reader@example.org")
    for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "beginning")):
        subprocess.run(["git", *words], cwd=house.root, env=house.env, check=True, timeout=20)
    house.tmux("new-session", "-d", "-s", "reader", "sleep 100")
    where = "#{socket_path},#{pid},0 #{pane_id}"
    tmux, pane = house.tmux("display-message", "-p", "-t", "reader", where).split()
    return house.env | {"TMUX": tmux, "TMUX_PANE": pane}


def test_every_command_of_the_readme_does_what_it_says(house: House) -> None:
    commands = shown(README.read_text("utf-8"))
    assert commands, "the README shows quell at work"
    env = furnished(house)
    for line, code in commands:
        done = subprocess.run(
            ["sh", "-c", line], env=env, cwd=house.root, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == code, (line, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, line


def test_every_verb_of_the_readme_exists(house: House) -> None:
    verbs = {shlex.split(line)[1] for line, _ in shown(README.read_text("utf-8"))}
    assert verbs
    for verb in verbs:
        assert house.run(verb, "--help").returncode == 0


# -- how the lines are found ---------------------------------------------------------------------

SAMPLE = """
```console
$ quell list
NAME  KIND
$ quell kill nobody   # exit 1
$ quell show <name>
$ make demo
quell is not run without a prompt
```

```sh
$ quell doctor
```

```console
$ quell list | head -1
```
"""


def test_the_lines_to_run_are_found() -> None:
    assert shown(SAMPLE) == [
        Shown("quell list", 0),
        Shown("quell kill nobody", 1),
        Shown("quell list | head -1", 0),
    ]


@pytest.mark.parametrize("markdown", ["", "no block", "```console\nquell list\n```\n"])
def test_a_page_without_commands_has_none(markdown: str) -> None:
    assert shown(markdown) == []
