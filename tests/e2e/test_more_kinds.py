"""Each further program starts, is recognised on its screen, leaves by its own word, and is gone.

`make e2e KINDS=all` tries all of them, `KINDS="qwen kimi"` some. Those that want an account are
tried as far as the question for it.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.model import Server
from e2e.more_programs import MORE, CannotInstall, MoreProgram, Place, commands_of
from e2e.shared_run import place_for
from house import House, descendants, eventually, pause
from knell import kinds
from knell.core.stall.screens import noticed, shows

NAMED = set(os.environ.get("KNELL_E2E_KINDS", "").replace(",", " ").split())
CHOSEN = [one for one in MORE if NAMED & {one.name, "all"}]
STARTED_WITHIN = 240  # seconds: some of them unpack themselves first
ANSWER = "answer 1: amber|quiet"  # `quiet` is said to a program that offers the model no tools
KEYS_APART = 0.5  # seconds: keys that come together are taken for a paste


@pytest.fixture(params=CHOSEN, ids=lambda one: one.name)
def pane(house: House, model: Server, request: pytest.FixtureRequest) -> "Pane":
    program: MoreProgram = request.param
    try:
        with place_for(program.name) as where:
            commands = commands_of(program, where)
        return Pane(house, model, commands, program)
    except CannotInstall as error:
        pytest.skip(f"{program.name} cannot be installed here: {error}")


class Pane:
    """One program under knell, in a tmux pane of its own."""

    def __init__(self, house: House, model: Server, commands: Path, program: MoreProgram) -> None:
        self.house = house
        self.model = model
        self.program = program
        self.kind = kinds.kind(program.name)
        self.project = house.root.resolve() / "project"
        self.project.mkdir()
        address = f"{model.address}/v1"
        program.settle(Place(house.home, address))
        house.env |= {
            "PATH": f"{commands}:{house.env['PATH']}",
            "TMPDIR": str(house.root),
            **program.env(address),
        }
        self.pane = ""

    def knell(self, *args: str) -> dict[str, Any]:
        done = self.house.run(*args, "--json", cwd=self.project)
        assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def spawn(self) -> None:
        where = ("--in", "tmux", "--tmux-server", "test", "--session", "test", "--name", "luna")
        args = (word.replace("{home}", str(self.house.home)) for word in self.program.args)
        words = ("spawn", *where, "--json", self.program.name, *args)
        done = self.house.run(*words, cwd=self.project)
        assert done.returncode == 0, done.stderr
        self.pane = json.loads(done.stdout)["agents"][0]["place"]["pane"]
        # On a small screen some of them show no answer without being scrolled.
        self.house.tmux("resize-window", "-t", self.pane, "-x", "120", "-y", "40")

    def screen(self) -> str:
        return self.house.tmux("capture-pane", "-p", "-J", "-t", self.pane).rstrip()

    def shows(self, pattern: str) -> None:
        try:
            eventually(lambda: re.search(pattern, self.screen()), STARTED_WITHIN)
        except AssertionError:
            raise AssertionError(f"never shown: {pattern}\n{self.screen()}") from None

    def press(self, *keys: str) -> None:
        for key in keys:
            self.house.tmux("send-keys", "-t", self.pane, key)
            pause(KEYS_APART)

    def say(self, text: str) -> None:
        """Enter is pressed until the model is asked: a program that has just drawn its prompt may
        take the first one for the end of a paste."""
        self.house.tmux("send-keys", "-t", self.pane, "-l", text)
        self.shows(text)
        eventually(lambda: self.press("Enter") or self.model.asked, STARTED_WITHIN)

    def answer_first_questions(self) -> None:
        """They may cover a prompt that is drawn already."""
        for pattern, keys in self.program.first:
            self.shows(pattern)
            self.press(*keys)


def test_it_starts_answers_and_leaves_by_its_own_word(pane: Pane) -> None:
    """A further program answers a prompt, and `stop` lets it leave by its own word."""
    if pane.program.account:
        pytest.skip(f"{pane.program.name} wants an account")
    pane.spawn()
    pane.answer_first_questions()
    pane.shows(pane.kind.prompt_shown or pane.program.ready)
    pane.say("say amber")
    pane.shows(ANSWER)
    eventually(lambda: not shows(pane.screen(), pane.kind.busy), STARTED_WITHIN)
    assert not noticed(pane.screen(), pane.kind.asks)
    [receipt] = pane.knell("stop", "luna")["receipts"]
    assert receipt["result"] == "ended", receipt
    assert [note["code"] for note in receipt.get("warnings", [])] == []
    assert descendants_of_the_pane(pane) == []


def test_a_question_for_an_account_is_a_question(pane: Pane) -> None:
    """A program that wants an account is seen to wait for a person, and nothing of it is left."""
    if not pane.program.account or not pane.kind.asks:
        pytest.skip(f"{pane.program.name} asks for none")
    pane.spawn()
    eventually(lambda: noticed(pane.screen(), pane.kind.asks), STARTED_WITHIN)
    pane.knell("kill", "luna")
    assert descendants_of_the_pane(pane) == []


def test_its_help_lists_what_resumes_it(pane: Pane) -> None:
    """The words that resume a program stand in its own help."""
    if not pane.kind.resume:
        pytest.skip(f"{pane.program.name} cannot be resumed by an id")
    words = [pane.program.name, *pane.program.help]
    done = subprocess.run(
        words, env=pane.house.env, cwd=pane.project, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=STARTED_WITHIN,
    )  # fmt: skip
    text = done.stdout + done.stderr
    options = {re.split(r"[= ]", word)[0] for word in (*pane.kind.resume, *pane.kind.choose_id)}
    for option in options - {"{id}"}:
        assert option in text, f"{option} is not in the help of {pane.program.name}"


def descendants_of_the_pane(pane: Pane) -> list[str]:
    """Whatever of the program still runs, by its command line."""
    lines = [Path(f"/proc/{pid}/cmdline") for pid in descendants()]
    texts = [line.read_bytes().replace(b"\0", b" ").decode() for line in lines if line.exists()]
    return [text for text in texts if pane.program.name in text and "knell" not in text]
