"""Whose turn it is, from what the real programs wrote at each moment."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.recorded import recorded
from knell.core.stall.signs import Turn
from knell.core.stall.turns import turn_of
from known_kinds import TURNS

EXPECTED = {
    ("claude", "idle"): Turn.DONE,
    ("claude", "permission"): Turn.TOOL,  # the screen tells that it asks
    ("claude", "tool"): Turn.TOOL,
    ("claude", "subagent"): Turn.TOOL,
    ("claude", "done"): Turn.DONE,
    ("claude", "escaped"): Turn.DONE,
    ("claude", "limit_plain"): Turn.OPEN,  # it tries again by itself
    ("claude", "limit_unified"): Turn.DONE,
    ("codex", "idle"): Turn.DONE,
    ("codex", "permission"): Turn.TOOL,
    ("codex", "tool"): Turn.TOOL,
    ("codex", "escaped"): Turn.DONE,
    ("codex", "held"): Turn.OPEN,
    ("codex", "limit"): Turn.DONE,
    ("gemini", "fresh"): Turn.UNKNOWN,
    ("gemini", "idle"): Turn.UNKNOWN,  # the same as `textcall`, whose tool has not run yet
    ("gemini", "textcall"): Turn.UNKNOWN,
    ("gemini", "permission"): Turn.TOOL,
    ("gemini", "tool"): Turn.TOOL,
    ("gemini", "done"): Turn.UNKNOWN,
    ("gemini", "escaped"): Turn.DONE,
    ("gemini", "escaped2"): Turn.DONE,
    ("gemini", "held"): Turn.OPEN,
    ("opencode", "open"): Turn.OPEN,  # with a prompt in line behind it
    ("opencode", "permission"): Turn.TOOL,
    ("opencode", "held"): Turn.OPEN,
    ("opencode", "idle"): Turn.DONE,
    ("opencode", "limit"): Turn.OPEN,
}
KINDS = ("claude", "codex", "gemini", "opencode")


def test_every_recorded_moment_is_expected() -> None:
    assert set(EXPECTED) == {(k, scene) for k in KINDS for scene in recorded(k, "turns")}


@pytest.mark.parametrize(("kind", "scene"), EXPECTED)
def test_whose_turn_it_is(kind: str, scene: str) -> None:
    tail = recorded(kind, "turns")[scene].encode()
    assert turn_of(TURNS[kind], tail) is EXPECTED[kind, scene]


@pytest.mark.parametrize(("kind", "scene"), EXPECTED)
def test_a_torn_first_and_a_half_written_last_line_change_nothing(kind: str, scene: str) -> None:
    tail = recorded(kind, "turns")[scene].encode()
    assert turn_of(TURNS[kind], b'ut":{"a":1}}\n' + tail + b'{"type":"us') is EXPECTED[kind, scene]


@pytest.mark.parametrize(("kind", "scene"), EXPECTED)
def test_what_was_open_before_the_run_began_is_not_open(kind: str, scene: str) -> None:
    tail, turn = recorded(kind, "turns")[scene].encode(), EXPECTED[kind, scene]
    was_open = turn in (Turn.OPEN, Turn.TOOL)
    assert turn_of(TURNS[kind], tail, "2026-11-16T00:00:00") is (Turn.UNKNOWN if was_open else turn)
    assert turn_of(TURNS[kind], tail, "2026-11-15T00:00:00") is turn


def lines(*records: Mapping[str, object]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def said(text: str, **more: object) -> dict[str, object]:
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


def call(tool: str, message: str = "m") -> dict[str, object]:
    part = {"type": "tool_use", "id": tool}
    return {"type": "assistant", "message": {"id": message, "content": [part]}}


def result(tool: str) -> dict[str, object]:
    part = {"type": "tool_result", "tool_use_id": tool}
    return {"type": "user", "message": {"content": [part]}}


OVER: dict[str, object] = {
    "type": "assistant",
    "message": {"id": "z", "content": [{"type": "text"}], "stop_reason": "end_turn"},
}


@pytest.mark.parametrize(
    ("records", "turn"),
    [
        ([OVER], Turn.DONE),
        ([OVER, said("go on")], Turn.OPEN),
        ([said("go on"), call("1"), result("1")], Turn.OPEN),
        ([said("go on"), call("1"), call("2"), result("2")], Turn.TOOL),
        ([said("go on"), call("1"), call("2"), result("1"), result("2")], Turn.OPEN),
        ([said("go on"), call("1"), result("1"), OVER], Turn.DONE),
        ([OVER, said("<command-name>/model</command-name>")], Turn.DONE),
        ([OVER, said("<local-command-stdout>Set model</local-command-stdout>")], Turn.DONE),
        ([OVER, said("anything", isMeta=True)], Turn.DONE),
        ([OVER, said("of a subagent", isSidechain=True)], Turn.DONE),
        ([OVER, {"type": "file-history-snapshot"}, {"type": "summary"}], Turn.DONE),
        ([said("what was said", isCompactSummary=True)], Turn.UNKNOWN),
        ([said("[Request interrupted by user]")], Turn.DONE),
        ([{"type": "assistant", "message": {"stop_reason": "max_tokens"}}], Turn.UNKNOWN),
        ([], Turn.UNKNOWN),
    ],
)
def test_the_finer_points_of_claude(records: list[dict[str, object]], turn: Turn) -> None:
    assert turn_of(TURNS["claude"], lines(*records)) is turn


def test_a_prompt_that_waits_behind_a_cut_answer_opens_no_turn_of_opencode() -> None:
    cut = {"message": {"role": "assistant", "time": {"completed": 5}, "finish": "tool-calls"}}
    queued = {"message": {"role": "user", "time": {"created": 6}}}
    assert turn_of(TURNS["opencode"], lines(cut, queued)) is Turn.UNKNOWN


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "content", "payload", "id", "role", "$set", "time"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(KINDS), st.lists(json_values, max_size=5), st.binary(max_size=20))
def test_no_text_whatever_breaks_it(kind: str, values: list[object], junk: bytes) -> None:
    tail = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    assert turn_of(TURNS[kind], tail + junk) in Turn
