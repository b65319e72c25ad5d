"""R3, R4: a program that comes up at a question, and hangs there: whether to update, to be trusted.

It draws what the real one drew (tests/kinds), takes no key and minds no signal that it can refuse.
"""

import json
import sys
from pathlib import Path

import pytest

from conversation_desk import Desk
from house import House, eventually
from watchers import configure

HERE = Path(__file__).resolve().parents[1] / "kinds"
TRUST = " Do you trust the files in this folder?\n\n \u276f 1. Yes, proceed\n   2. No, exit\n"
# Opencode asks nothing before it has come up; claude's is written as it draws a numbered answer.
QUESTIONS = {
    "codex": (HERE / "exit_screens" / "codex-no-prompt-update.txt").read_text(),
    "gemini": (HERE / "exit_screens" / "gemini-no-prompt-question.txt").read_text(),
    "claude": TRUST,
}
DEAF = """#!{python} -S
import os, signal, sys, tty
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
signal.alarm(300)
tty.setraw(0)
os.write(1, b"\\x1b[H\\x1b[2J" + {text!r}.replace("\\n", "\\r\\n").encode())
open({ready!r}, "w").close()
while key := os.read(0, 1):
    open({keys!r}, "ab").write(key)
    if key == b"\\r":
        open({approved!r}, "w").close()
"""


class Deaf(Desk):
    """An ended agent whose program comes up at that question from now on."""

    def __init__(self, house: House, name: str) -> None:
        super().__init__(house, name)
        self.good(self.id())
        files = {one: str(house.root / one) for one in ("ready", "keys", "approved")}
        text = DEAF.format(python=sys.executable, text=QUESTIONS[name], **files)
        (house.root / "bin" / name).write_text(text)
        configure(house, "[resume]\nwait = 60\n")


@pytest.fixture(params=QUESTIONS)
def deaf(house: House, request: pytest.FixtureRequest) -> Deaf:
    return Deaf(house, request.param)


def test_R3_it_is_not_called_resumed_and_is_not_approved(deaf: Deaf) -> None:
    """`resume` says what it asks, `explain` that it waits; `stop` presses no Enter, and ends it."""
    house = deaf.house
    done = house.run("resume", "ada", "--json", cwd=deaf.project)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"] != "resumed", told
    assert "it asks first" in done.stdout + done.stderr
    eventually((house.root / "ready").exists)
    house.json("explain", "ada")
    [receipt] = house.json("stop", "ada", "--grace", "2")["receipts"]
    assert (receipt["result"], receipt["survivors"]) == ("ended", []), receipt
    assert not (house.root / "approved").exists(), "the question was answered"
    assert deaf.shown() == (True, "")
