"""R4, R9: leaving by the exit keys sends no draft and says yes to nothing; all are counted."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually
from knell.core.run import Run

STAND_IN = Path(__file__).parents[2] / "support" / "codex_prompt.py"
NOT_TYPED = "exit_keys_not_typed"


class Desk:
    """An agent that plays codex, in a pane of its own."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.notes_file = house.root / "notes"
        self.programs = house.root / "bin"
        self.programs.mkdir()
        self.install("codex")
        patient = house.root / "patient.toml"
        patient.write_text("[stop]\nexit_wait = 60\n")
        path = f"{self.programs}:{house.env['PATH']}"
        house.env |= {"PATH": path, "KNELL_CONFIG": str(patient), "SHELL": "/bin/sh"}

    def install(self, name: str, *habits: str) -> None:
        words = " ".join((sys.executable, "-S", str(STAND_IN), str(self.notes_file), *habits))
        (self.programs / name).write_text(f"#!/bin/sh\nexec {words}\n")
        (self.programs / name).chmod(0o700)

    def spawn(self, *habits: str) -> Run:
        self.install("codex", *habits)
        run = self.house.knell.spawn("codex", name="luna", place="tmux", server="test").run
        self.pane = run.place.pane
        self.shows("Update now" if "asks" in habits else "Ask Codex")
        return run

    def screen(self) -> str:
        return self.house.tmux("capture-pane", "-p", "-t", self.pane)

    def shows(self, text: str) -> None:
        eventually(lambda: text in self.screen())

    def draft(self, *lines: str) -> None:
        for number, line in enumerate(lines):
            if number:
                self.house.tmux("send-keys", "-t", self.pane, "C-j")
            self.house.tmux("send-keys", "-t", self.pane, "-l", line)
            self.shows(line)

    def notes(self) -> list[str]:
        return self.notes_file.read_text().splitlines() if self.notes_file.exists() else []

    def stop(self) -> dict[str, Any]:
        return self.house.json("stop", "luna", "--grace", "30")["receipts"][0]


@pytest.fixture
def desk(house: House) -> Desk:
    return Desk(house)


def reached(receipt: dict[str, Any]) -> list[str]:
    return [rung["rung"] for rung in receipt["rungs"] if rung["reached"]]


def codes(receipt: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in receipt["warnings"]]


@pytest.mark.parametrize(
    "lines", [(), ("say never",), ("say never", "say again", "say more")], ids=len
)
def test_R4_a_draft_is_not_sent(desk: Desk, lines: tuple[str, ...]) -> None:
    desk.spawn()
    desk.draft(*lines)
    receipt = desk.stop()
    assert desk.notes() == ["left by /quit"], receipt
    assert (reached(receipt), receipt["exit_code"]) == (["exit_keys"], 0)


def test_R4_a_program_that_reads_late_is_looked_at_again(desk: Desk) -> None:
    """It takes Escape and C-c for one key, and clears nothing: then nothing is sent, either."""
    desk.spawn("late")
    desk.draft("say never", "say again")
    receipt = desk.stop()
    assert not [words for words in desk.notes() if words.startswith("sent")], receipt
    assert receipt["result"] == "ended"


@pytest.mark.parametrize("habit", ["hung", "asks"])
def test_R4_what_shows_no_prompt_is_not_typed_to_and_not_approved(desk: Desk, habit: str) -> None:
    """A program that hangs in a turn with a draft, and one that stands at its update question."""
    desk.spawn(habit)
    if habit == "hung":
        desk.house.tmux("send-keys", "-t", desk.pane, "-l", "say never")
        desk.shows("say never")
    receipt = desk.stop()
    assert (desk.notes(), reached(receipt)) == ([], ["term"])
    assert codes(receipt) == [NOT_TYPED]
    assert "exit keys were not typed" in receipt["warnings"][0]["text"]
    assert "/quit" not in receipt["screen"]


def test_R4_a_kind_whose_screen_is_not_known_is_not_typed_to(desk: Desk) -> None:
    """Enter could send whatever stands above; TERM follows, and the receipt says why."""
    desk.install("robin")
    settings = desk.house.root / "robin.toml"
    settings.write_text('[kinds.robin]\nprogram = "robin"\nexit_keys = "/quit"\n')
    desk.house.env["KNELL_CONFIG"] = str(settings)
    where = ("--in", "tmux", "--tmux-server", "test")
    told = desk.house.run("spawn", "--json", *where, "--name", "luna", "robin")
    desk.pane = json.loads(told.stdout)["agents"][0]["place"]["pane"]
    desk.shows("Ask Codex")
    receipt = desk.stop()
    assert (desk.notes(), reached(receipt), codes(receipt)) == ([], ["term"], [NOT_TYPED])
    assert "knell does not know how the screen of robin" in receipt["warnings"][0]["text"]


def test_R9_every_process_that_was_there_is_counted(desk: Desk) -> None:
    """The child goes with the agent, before the keeper looks: it is on the receipt all the same."""
    desk.spawn("breeds")
    [child] = [int(words.split()[1]) for words in desk.notes()]
    receipt = desk.stop()
    assert reached(receipt) == ["exit_keys"]
    assert child in [process["pid"] for process in receipt["processes"]]
    assert len(receipt["processes"]) == 2
    assert not alive(child)


# -- `knell run` -----------------------------------------------------------------------------------


def test_R9_stop_types_the_exit_keys_into_the_pane_that_run_was_started_in(desk: Desk) -> None:
    desk.install("codex")
    knell = Path(sys.executable).with_name("knell")
    desk.house.tmux("new-session", "-d", "-s", "mine", "-x", "90", "-y", "24", "/bin/sh")
    desk.pane = "mine:"
    desk.house.tmux("send-keys", "-t", "mine:", f"{knell} run --name luna codex", "Enter")
    desk.shows("Ask Codex")
    desk.draft("say never", "say again")
    receipt = desk.stop()
    assert (desk.notes(), reached(receipt)) == (["left by /quit"], ["exit_keys"])
    assert desk.house.tmux("list-panes", "-t", "mine:")  # the pane is a person's, and stays


def test_R9_in_a_terminal_that_cannot_be_reached_the_receipt_says_so(desk: Desk) -> None:
    """Here one that `script` makes inside of a pane: keys for the pane are not keys for it."""
    desk.install("codex")
    knell = Path(sys.executable).with_name("knell")
    desk.house.tmux("new-session", "-d", "-s", "mine", "-x", "90", "-y", "24", "/bin/sh")
    desk.pane = "mine:"
    line = f"script -qc '{knell} run --name luna codex' /dev/null"
    desk.house.tmux("send-keys", "-t", "mine:", line, "Enter")
    desk.shows("Ask Codex")
    receipt = desk.stop()
    assert (desk.notes(), reached(receipt), codes(receipt)) == ([], ["term"], [NOT_TYPED])
    assert "another terminal" in json.dumps(receipt["warnings"])
