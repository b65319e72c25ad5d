"""The table of docs/e2e.md: what came of each scene with each program, kept from run to run.

A run of some of the tests renews its own cells and leaves the others as they were seen last.
"""

import contextlib
import fcntl
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import this_run

RECORD = Path(__file__).with_name("record.json")
LOCK = Path(tempfile.gettempdir(), "knell-e2e.lock")
RIGHT, UNSURE, WRONG, EMPTY = "right", "unsure", "wrong", "not possible"

SPAWN = "`spawn`"
TURN = "a turn"
STOP_IDLE = "`stop` while it is idle"
RESUME = "`resume`"
STOP_TURN = "`stop` in the middle of a turn, `resume`"
STOP_QUESTION = "`stop` at a question, `resume`"
STOP_DRAFT = "`stop` with a draft of three lines, `resume`"
KILL_TURN = "`kill` in the middle of a turn, `resume`"
TWO = "two in one directory, both stopped, both resumed"
PURGE = "`--purge-conversation` beside a neighbour"
THREE = "three one after the other in one directory, all resumed"
CLEAR = "`/clear`, `stop`, `resume`"
NEW = "`/new`, `kill`, `resume`"
CLEAR_EXIT = "`/clear`, its own exit word, `resume`"
SILENT_NEW = "`/new`, not a word, `kill`, `resume`"
SILENT_BACK = "back to an earlier one in its own list, not a word, `kill`, `resume`"
SILENT_NEW_STOP = "`/new`, not a word, `stop`, `resume`"
SILENT_BACK_STOP = "back to an earlier one in its own list, not a word, `stop`, `resume`"
FORK = "`fork` while it runs, both go on, both stopped, both resumed"
FORK_ENDED = "`stop`, `fork`, the first resumed beside it"
ADOPT_FIRST = "two by hand, the first adopted, stopped, resumed"
ADOPT_SECOND = "two by hand, the second adopted, stopped, resumed"
RUN_WORD = "`knell run`, left by its exit word, `resume`"
RUN_PANE = "`knell run`, its pane closed, `resume`"
RUN_KEYS = "`knell run`, Ctrl-C twice, `resume`"
HEADLESS = "headless, then `resume NAME -- PROMPT`"
HOOKS = "hooks in and out, byte for byte"
MCP = "a stubborn MCP server, `stop`"
TOOLS = "background tools, `kill`"

SCENES = (
    *(SPAWN, TURN, STOP_IDLE, RESUME, STOP_TURN, STOP_QUESTION, STOP_DRAFT, KILL_TURN),
    *(TWO, PURGE, THREE, CLEAR, NEW, CLEAR_EXIT),
    *(SILENT_NEW, SILENT_NEW_STOP, SILENT_BACK, SILENT_BACK_STOP),
    *(FORK, FORK_ENDED, ADOPT_FIRST, ADOPT_SECOND),
    *(RUN_WORD, RUN_PANE, RUN_KEYS, HEADLESS, HOOKS, MCP, TOOLS),
)


class Unsure(Exception):
    """knell says itself that it does not know, or that it will not; in its own words."""


def load() -> dict[str, Any]:
    return json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"cells": {}}


@contextlib.contextmanager
def changing() -> Iterator[dict[str, Any]]:
    """The record, written back afterwards; two runs side by side take turns."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = load()
        yield record
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")


class Cells:
    """The column of one program."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.remark = ""  # what a reader must know of a cell that came out right

    @contextlib.contextmanager
    def __call__(self, scene: str, *, skip: bool = True) -> Iterator[None]:
        """Whatever is asserted within is that cell; `skip` ends the test where knell is unsure."""
        self.remark = ""
        try:
            yield
        except Unsure as told:
            self.note(scene, UNSURE, str(told))
            if skip:
                pytest.skip(f"{scene}: {told}")
            return
        except Exception as error:
            self.note(scene, WRONG, first_line(error))
            raise
        self.note(scene, RIGHT, self.remark)

    def empty(self, scene: str, why: str) -> None:
        """No such thing with this program."""
        self.note(scene, EMPTY, why)

    def note(self, scene: str, outcome: str, why: str = "") -> None:
        assert scene in SCENES
        with changing() as record:
            record["cells"].setdefault(scene, {})[self.program] = [outcome, why, this_run()]


def first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))


def table(record: dict[str, Any], programs: list[str]) -> str:
    """Rows of the scenes; what is not simply right has a note below."""
    notes: list[str] = []
    rows: list[str] = []
    for scene in SCENES:
        cells = record["cells"].get(scene, {})
        texts = [cell_text(cells.get(name, ["not run", ""]), notes) for name in programs]
        rows.append(f"| {scene} | {' | '.join(texts)} |")
    head = f"| | {' | '.join(programs)} |\n|---|{'---|' * len(programs)}"
    told = [f"{number}. {note}" for number, note in enumerate(notes, 1)]
    return "\n".join([head, *rows, "", *told])


def cell_text(cell: list[str], notes: list[str]) -> str:
    outcome, why, *_ = cell
    text = f"**{outcome}**" if outcome == WRONG else outcome
    if not why:
        return text
    if why not in notes:
        notes.append(why)
    return f"{text} ({notes.index(why) + 1})"
