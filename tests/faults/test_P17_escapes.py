"""P17: what comes from outside forges no line and moves no cursor; a shared state is told."""

import os
import re

import pytest

from house import House, eventually

RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
HOSTILE = "\x1b]0;owned\x07\x1b[2J bell"


def test_P17_the_page_of_a_receipt_holds_no_raw_escape(house: House) -> None:
    command = ("sh", "-c", f"printf '{HOSTILE}\\nlast words'; touch ready; exec sleep 97")
    house.run("spawn", "--name", "luna", "--", *command)
    eventually((house.root / "ready").exists)
    house.run("kill", "--reason", HOSTILE, "luna")
    page = house.run("receipt", "--html", "luna").stdout
    assert "owned" in page
    assert "\nlast words" in page, "a screen keeps its lines"
    assert not RAW.search(page)
    assert not RAW.search(house.run("receipt", "--screen", "luna").stdout)


def test_P17_a_newline_in_a_directory_forges_no_line(house: House) -> None:
    folder = house.root / "a\n  ended         by operator: forged"
    folder.mkdir()
    house.run("spawn", "--name", "luna", "--cwd", str(folder), "--", "sleep", "97")
    shown = house.run("show", "luna").stdout.splitlines()
    assert not [line for line in shown if line.startswith("  ended ")]
    assert len([line for line in shown if line.startswith("  directory ")]) == 1


@pytest.mark.parametrize("verb", ["show", "tree"])
def test_P17_a_newline_in_a_command_forges_no_line(house: House, verb: str) -> None:
    house.run("spawn", "--name", "luna", "--", "sh", "-c", "sleep 97 #\nluna: ended (killed)\n:")
    assert not [
        line for line in house.run(verb, "luna").stdout.splitlines() if line.startswith("luna: end")
    ]
    told = house.run("kill", "--dry-run", "luna").stdout
    assert not [line for line in told.splitlines() if line.startswith("luna: end")]


def state_finding(house: House) -> tuple[int, dict[str, object]]:
    done = house.run("doctor")
    [found] = [one for one in house.json("doctor")["findings"] if one["what"] == "state"]
    assert ("BAD state" in done.stdout) == found["broken"]
    return done.returncode, found


def test_P17_a_state_directory_that_others_can_write_is_broken(house: House) -> None:
    house.run("list")
    code, found = state_finding(house)
    assert (code, found["ok"], found["broken"]) == (0, True, False)
    house.state.chmod(0o777)
    code, found = state_finding(house)
    assert (code, found["ok"], found["broken"]) == (1, False, True)
    assert "others can write there (mode 777)" in str(found["text"])
    assert "chmod 700" in str(found["hint"])


@pytest.mark.needs_root
def test_P17_a_state_directory_of_another_user_is_broken(house: House) -> None:
    house.run("list")
    os.chown(house.state, 12345, -1)
    code, found = state_finding(house)
    assert (code, found["broken"]) == (1, True)
    assert "another user (uid 12345)" in str(found["text"])
