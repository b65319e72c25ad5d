"""`list` and `kill` end without taking the interpreter apart, and leave nothing undone by that."""

import os
import subprocess
import sys

import pytest

from house import House

# Says at the usual way out that it was taken.
SCRIPT = """
import atexit, sys
atexit.register(lambda: print("taken apart", file=sys.stderr))
from knell.faces.cli import script
{before}
script()
"""


def ran(house: House, *words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(before=before), *words],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def left_by_the_store(house: House) -> list[str]:
    """What a connection that was not closed leaves beside its file, for the next one to mend."""
    return [path.name for path in house.state.iterdir() if path.name.startswith("knell.db-")]


def test_list_and_kill_end_at_once_with_all_said_and_the_store_closed(house: House) -> None:
    house.spawn(name="luna")
    house.knell.close()
    listed = ran(house, "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "luna" in listed.stdout
    assert left_by_the_store(house) == []
    killed = ran(house, "kill", "luna")
    assert (killed.returncode, killed.stderr) == (0, "")
    assert "proven gone" in killed.stdout
    assert left_by_the_store(house) == []


@pytest.mark.parametrize(
    ("words", "before", "code"),
    [
        (("kill", "nobody"), "", 1),  # what went wrong may still be held by the error
        (("doctor",), "", 0),  # click, and whatever the verb has loaded
        (("list",), "import threading", 0),  # a thread may be at work
    ],
)
def test_what_may_have_left_something_to_do_takes_the_usual_way_out(
    house: House, words: tuple[str, ...], before: str, code: int
) -> None:
    done = ran(house, *words, before=before)
    assert done.returncode == code, done.stderr
    assert done.stderr.endswith("taken apart\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has /dev/full")
@pytest.mark.parametrize("words", [("list", "--json"), ("--help",), ("doctor",)], ids=" ".join)
def test_P23_an_output_that_cannot_be_written_is_said_without_a_traceback(
    house: House, words: tuple[str, ...]
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "knell", *words], env=house.env, cwd=house.root,
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: the output cannot be written: No space left")
    assert "Traceback" not in done.stderr
