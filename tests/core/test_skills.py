"""The note in a skill's folder comes from outside: what knell could not have written is none."""

import json
from typing import Any

import pytest

from knell.core.skills import NOTE, FolderSeen, SkillNote, note_in

WHOLE = {"files": {"SKILL.md": "a"}, "made": 1, "aside": False}


def noted(found: Any) -> SkillNote | None:
    return note_in(FolderSeen("folder", {NOTE: json.dumps(found).encode()}))


def test_a_whole_note_is_read() -> None:
    assert noted(WHOLE) == SkillNote({"SKILL.md": "a"}, 1, aside=False)


@pytest.mark.parametrize("missing", WHOLE)
def test_a_note_that_lacks_something_is_none(missing: str) -> None:
    assert noted({name: value for name, value in WHOLE.items() if name != missing}) is None


@pytest.mark.parametrize("found", [[], "x", 1, None, WHOLE | {"files": 1}, WHOLE | {"made": "x"}])
def test_what_is_no_note_is_none(found: Any) -> None:
    assert noted(found) is None
