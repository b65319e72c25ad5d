"""The table of events has every type that the source writes, and no other."""

import re
from pathlib import Path

from knell.core.event_types import EVENT_TYPES, NAMED_EVENTS
from knell.core.restart import PlanState
from knell.core.shutdown import PHASES

SRC = Path(__file__).resolve().parents[2] / "src" / "knell"
FAMILIES = {name.partition(".")[0] for name in EVENT_TYPES}
# Where events are written; other folders have files and foreign events of the same look.
ROOMS = ("stores", "life")


def literals() -> set[str]:
    texts = [file.read_text("utf-8") for room in ROOMS for file in (SRC / room).rglob("*.py")]
    return {name for text in texts for name in re.findall(r'f?"([a-z]+\.[a-z_{}.]+)"', text)}


def test_every_event_that_is_written_is_in_the_table() -> None:
    named = tuple(NAMED_EVENTS)
    ours = {name for name in literals() if name.partition(".")[0] in FAMILIES}
    known = {name for name in ours if "{" not in name and not name.startswith(named)}
    assert known - set(EVENT_TYPES) == set()
    for state in PlanState:
        assert f"restart.{state}" in EVENT_TYPES
    for phase in {phase for pair in PHASES.items() for phase in (pair[0][0], pair[1])}:
        assert f"shutdown.{phase}" in EVENT_TYPES


def test_every_call_that_writes_an_event_names_a_known_family() -> None:
    calls = re.compile(r'(?:write_event|events\.record)\(\s*f?"([a-z]+)\.')
    texts = [file.read_text("utf-8") for file in SRC.rglob("*.py")]
    families = {family for text in texts for family in calls.findall(text)}
    assert families - FAMILIES - {name.rstrip(".") for name in NAMED_EVENTS} == set()


def test_the_table_has_no_event_that_nothing_writes() -> None:
    made = {f"restart.{state}" for state in PlanState} | {
        f"shutdown.{phase}" for pair in PHASES.items() for phase in (pair[0][0], pair[1])
    }
    assert set(EVENT_TYPES) - literals() - made == set()
