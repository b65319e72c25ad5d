"""R6: each program in each situation, as it was recorded, is judged right or "unknown".

Recorded from the real programs against a stand-in for their model (docs/stalls.md): at each moment
the screen, the end of the conversation, and what its connections had carried. `verdicts.toml` says
what must come out, and is printed into docs/stalls.md.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from knell.core.run import Place
from knell.core.stall.memory import remembered
from knell.core.stall.signs import (
    Clock,
    Connection,
    Look,
    Sign,
    SignRecord,
    StartTime,
    Traffic,
    Turn,
)
from knell.core.stall.turns import turn_of
from knell.core.stall.verdict import StallLimits, Verdict, judge
from knell.kinds import kind
from knell.life.watch.signs.collect import turn_shown
from knell.life.watch.signs.screen import read_screen

FOLDER = Path(__file__).with_name("recorded")
TABLE: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "verdicts.toml").read_text("utf-8"))
PROGRAMS = ("claude", "codex", "gemini", "opencode")
# Moments were recorded some seconds apart, so that seconds stand for minutes here.
LIMITS = StallLimits(beat=2.5, tool=9.0)
GOES_ON = ("slow", "think", "work")  # what is not recorded of these would be invented
GIVES_UP = ("drop", "limit")  # some minutes later, which is sooner than an open turn is a stall
TMUX = Place("tmux", pane="%1")


def recording(program: str, situation: str) -> Path:
    return FOLDER / f"{program}.{situation}.txt"


CELLS = [
    (program, situation, width)
    for situation, row in TABLE.items()
    for program in PROGRAMS
    for width in ("200", "80")
    if not row[program].startswith("none")
]


class Moment(NamedTuple):
    at: float
    screen: str
    records: bytes
    traffic: Traffic


def moments(program: str, situation: str, width: str) -> list[Moment]:
    text = recording(program, situation).read_text("utf-8")
    found, records, traffic = list[Moment](), b"", dict[str, object]()
    for part in text.split("=== ")[1:]:
        title, _, body = part.partition("\n")
        shot, what = title.split(" ")
        if what == "turns":
            records = body.encode()
        elif what == "traffic":
            traffic = json.loads(body)
        elif shot.startswith(width):
            lines = traffic["connections"]
            connections = tuple(Connection(*line) for line in lines)  # type: ignore[union-attr]
            at = float(str(traffic["at"]))
            found.append(Moment(at, body, records, Traffic(connections)))
    return found


def course(program: str, situation: str, width: str) -> list[Moment]:
    """The recorded moments; where nothing but spinners moves at the end, that end twice more."""
    seen = moments(program, situation, width)
    if situation in (*GOES_ON, *GIVES_UP):
        return seen
    last, before = seen[-1], seen[-2]
    again = [before.screen, last.screen] * 3
    longer = [
        last._replace(at=last.at + 3.0 * n, screen=screen) for n, screen in enumerate(again, 1)
    ]
    return [*seen, *longer]


def verdicts(program: str, situation: str, width: str) -> Iterator[Verdict]:
    facts, memory = kind(program), None
    limits = LIMITS._replace(tool=900.0) if situation in GIVES_UP else LIMITS
    assert facts.turn
    for moment in course(program, situation, width):
        show = read_screen(moment.screen, facts, Sign("drawn", moment.at))
        mark = str(hash(moment.records))
        talk = SignRecord(Sign(mark), turn=turn_of(facts.turn, moment.records))
        turn = turn_shown(talk.turn, facts, TMUX, show)
        waits = talk.turn in (Turn.OPEN, Turn.TOOL)
        look = Look(
            Clock(moment.at, moment.at, moment.at, "boot"),
            conversation=talk.sign if moment.records else None,
            output=show.sign,
            cpu=0.0,  # the program's own is not counted
            traffic=moment.traffic if waits else Traffic(),
            turn=turn,
            asks=show.asks,
            limited=show.limited,
            retries=show.retries,
        )
        memory = remembered(memory, look, StartTime(0.0, 0.0))
        yield judge(look, memory, promised=False, limits=limits)


@pytest.mark.parametrize(("program", "situation", "width"), CELLS)
def test_R6_every_situation_is_judged_right(program: str, situation: str, width: str) -> None:
    found = list(verdicts(program, situation, width))
    words = [str(verdict.activity) for verdict in found[1:]]  # one look alone shows no movement
    said = [word for n, word in enumerate(words) if n == 0 or words[n - 1] != word]
    expected = TABLE[situation][program].split(", ")
    # The first verdict may be that of the first look, which is not among them.
    ends = [expected[n:] for n in range(len(expected))]
    assert said in ends, [(verdict.activity, verdict.why) for verdict in found]
    if situation != "quota":
        assert not any("quota" in verdict.why for verdict in found)


@pytest.mark.parametrize(("program", "situation", "width"), CELLS)
def test_R6_no_single_look_is_wrong(program: str, situation: str, width: str) -> None:
    """The first look finds what the later ones find, or it says that it does not know."""
    first = next(verdicts(program, situation, width))
    allowed = {*TABLE[situation][program].split(", ")[:2], "unknown"} - {"stalled"}
    assert first.activity in allowed


def test_every_recording_has_its_row_and_every_cell_its_recording() -> None:
    recorded = set(FOLDER.glob("*.txt"))
    assert recorded == {recording(program, situation) for program, situation, _ in CELLS}
    for situation, row in TABLE.items():
        assert set(row) == {"what", *PROGRAMS}, situation
