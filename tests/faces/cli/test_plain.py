"""Plain text: no escape codes from us, and none from outside that reach the terminal."""

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
from typing import Any

import pytest

from house import House, eventually

COLOURFUL = {"COLORTERM": "truecolor", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\rover\x08"


def on_a_terminal(
    house: House, *args: str, alone: bool = False, **variables: str
) -> tuple[int, str]:
    """Exit code, and everything that `knell ARGS` writes to a real terminal.

    `alone`: started as a shell does it, and not forked from what has imported it all."""
    ours, theirs = pty.openpty()
    streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    env, argv = house.env | variables, [sys.executable, "-m", "knell", *args]
    child: Any = (
        subprocess.Popen(argv, env=env, cwd=house.root, **streams)
        if alone
        else house.begin(*args, env=env, **streams)
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # EIO: the last writer has closed it
        while select.select([ours], [], [], 300)[0] and (piece := os.read(ours, 65_536)):
            seen += piece
    os.close(ours)
    return child.wait(timeout=300), seen.decode(errors="replace").replace("\r\n", "\n")


def controls(text: str) -> set[str]:
    return {char for char in text if not char.isprintable() and char != "\n"}


EVERYTHING = (
    *(("--help",), ("list",), ("status",), ("show", "luna"), ("tree", "luna")),
    *(("kill", "nobody"), ("kil",), ("kill", "luna"), ("receipt", "luna"), ("events",)),
    *(("list", "--all"), ("list", "--all", "--json")),
)
STARTED = (("--help",), ("list",), ("kill", "luna"))  # alone: what a start itself may write
OURS = re.compile(r"\x1b\[[0-9;]*[mAKJ]|\r")  # colours, and what draws the progress


def test_no_escape_codes_on_a_terminal_that_has_none(house: House) -> None:
    house.spawn(name="luna")
    for args in EVERYTHING:
        alone = args in STARTED
        _, seen = on_a_terminal(house, *args, alone=alone, TERM="dumb", COLORTERM="truecolor")
        assert seen.strip()
        assert controls(seen) == set(), (args, seen)


def test_no_colour_where_the_person_wants_none(house: House) -> None:
    """NO_COLOR beats whatever else asks for colour; on such a terminal the cursor may move."""
    house.spawn(name="luna")
    for args in EVERYTHING:
        alone = args in STARTED
        _, seen = on_a_terminal(house, *args, alone=alone, **COLOURFUL, NO_COLOR="1")
        assert not re.search(r"\x1b\[[0-9;]*m", seen), (args, seen)


@pytest.mark.parametrize("terminal", ["dumb", "xterm-256color"])
def test_what_comes_from_outside_cannot_move_the_cursor(house: House, terminal: str) -> None:
    """A directory, a command, a reason: each is written by somebody else."""
    folder = house.root / HOSTILE
    folder.mkdir()
    command = ("sh", "-c", "sleep 100; exit", HOSTILE)
    on_a_terminal(house, "spawn", "--name", "luna", "--cwd", str(folder), "--", *command)
    assert [agent["name"] for agent in house.json("list")["agents"]] == ["luna"]
    for args in (
        *(("list",), ("status",), ("show", "luna"), ("tree", "luna"), ("kill", HOSTILE)),
        *(("show", HOSTILE), ("kill", "--dry-run", "luna"), ("kill", "--reason", HOSTILE, "luna")),
        *(("receipt", "luna"), ("receipt", "--screen", "luna"), ("events",), ("list", "--all")),
        *(("show", "luna"), ("resume", "luna"), ("stop", "luna"), ("status",), ("logs", "luna")),
    ):
        _, seen = on_a_terminal(house, *args, TERM=terminal)
        assert controls(OURS.sub("", seen) if terminal != "dumb" else seen) == set(), (args, seen)
        assert "\x1b[31m" not in seen


def test_a_screen_full_of_escape_codes_is_kept_as_text(house: House) -> None:
    printing = f"printf %s '{HOSTILE}'; touch ready; exec sleep 100"
    house.run("spawn", "--name", "luna", "--", "sh", "-c", printing)
    eventually((house.root / "ready").exists)
    house.run("kill", "luna")
    _, seen = on_a_terminal(house, "receipt", "--screen", "luna", alone=True)
    bold, plain = "\x1b[1m", "\x1b[0m"  # the head of the table of processes, and nothing else
    assert (seen.count(bold), seen.count(plain)) == (1, 1)
    assert controls(seen.replace(bold, "").replace(plain, "")) == set()


def test_standard_output_is_data_and_standard_error_is_talk(house: House) -> None:
    house.spawn(name="luna")
    listed = house.run("list")
    assert "luna" in listed.stdout
    assert listed.stderr == ""
    missing = house.run("kill", "nobody", "luna")
    assert "nobody" not in missing.stdout
    assert "luna" in missing.stdout
    empty = house.run("list")
    assert empty.stdout == ""
    assert "knell spawn" in empty.stderr


def test_a_terminal_without_utf_8_breaks_nothing(house: House) -> None:
    house.spawn(name="luna")
    narrow = house.env | {"PYTHONIOENCODING": "ascii:strict"}
    for args in (
        ("list",),
        ("tree", "luna"),
        ("kill", "🦊"),
        ("kill", "luna"),
        ("receipt", "luna"),
    ):
        done = house.run(*args, env=narrow)
        assert "Traceback" not in done.stderr
        assert done.returncode == (1 if "🦊" in args else 0)
