"""A receipt says in JSON what it says as a record, and both say all of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.codes import Code, Notice
from knell.core.receipt import (
    Conversation,
    Death,
    Ended,
    Left,
    Pane,
    Proof,
    Receipt,
    Result,
    RungRecord,
    Survivor,
    receipt_from_json,
)

st.register_type_strategy(Code, st.sampled_from(Code.every()))

text = st.text(max_size=20)
pid = st.integers(2, 2**22)
maybe_int = st.none() | st.integers(0, 2**31)
survivors = st.lists(st.builds(Survivor, pid, text, text, text), max_size=2).map(tuple)

maybe_float = st.none() | st.floats(0, 1e9)
texts = st.lists(text, max_size=2).map(tuple)
deaths = st.builds(
    Death,
    how=text,
    sentence=text,
    exit_code=maybe_int,
    signal=text,
    sent_by=text,
    evidence=texts,
    suspects=texts,
    left=st.lists(st.builds(Left, pid, text, text), max_size=2).map(tuple),
    seconds=maybe_float,
    max_rss_kb=maybe_int,
    cpu_seconds=maybe_float,
    run_max_rss_kb=maybe_int,
    run_cpu_seconds=maybe_float,
)

receipts = st.builds(
    Receipt,
    agent=text,
    run=text,
    kind=text,
    place=text,
    by=text,
    reason=text,
    outcome=text,
    result=st.sampled_from(Result),
    pid=st.none() | pid,
    started_at=text,
    finished_at=text,
    duration_ms=st.integers(0, 10**9),
    proof=st.none() | st.sampled_from(Proof),
    rungs=st.lists(st.builds(RungRecord, text, st.integers(0), st.booleans()), max_size=3).map(
        tuple
    ),
    processes=st.lists(st.builds(Ended, pid, text, text, text), max_size=3).map(tuple),
    survivors=survivors,
    kept=survivors,
    pane=st.builds(Pane, text, text, st.none() | st.booleans(), text),
    tasks=st.lists(st.dictionaries(text, text, max_size=2), max_size=2).map(tuple),
    worktree=text,
    conversation=st.builds(
        Conversation, text, st.none() | st.booleans(), st.none() | st.booleans(), text
    ),
    screen=text,
    detail=text,
    code=st.none() | st.sampled_from(Code.every()),
    exit_code=maybe_int,
    exit_signal=maybe_int,
    max_rss_kb=maybe_int,
    cpu_seconds=st.none() | st.floats(0, 1e9),
    warnings=st.lists(st.builds(Notice, text=text), max_size=3).map(tuple),
    death=deaths,
)

PLAIN = Receipt(
    *("luna", "run-1", "claude", "tmux", "operator", "killed", "killed", Result.ENDED, 77),
    *("2026-01-01T00:00:00.000+00:00", "2026-01-01T00:01:00.000+00:00", 12, Proof.PROVEN),
)


@given(receipts)
def test_a_receipt_survives_the_way_through_json(receipt: Receipt) -> None:
    document = json.loads(json.dumps(receipt.to_json()))
    assert receipt_from_json(document) == receipt


def test_the_document_has_every_key_of_the_design() -> None:
    document = PLAIN.to_json()
    for key in (
        *("agent", "run", "kind", "place", "by", "reason", "outcome", "result", "pid"),
        *("started_at", "finished_at", "duration_ms", "proof", "rungs", "processes"),
        *("survivors", "pane", "tasks", "worktree", "conversation", "warnings"),
    ):
        assert key in document
    assert set(document["pane"]) == {"place", "id", "closed", "retry"}
    assert {"id", "exists", "resume"} <= set(document["conversation"])


def test_the_parts_are_named_not_numbered() -> None:
    document = PLAIN._replace(
        rungs=(RungRecord("term", 3, reached=True),),
        processes=(Ended(77, "claude", "agent", "term"),),
        survivors=(Survivor(78, "x", "D", "uninterruptible sleep"),),
    ).to_json()
    assert document["rungs"] == [{"rung": "term", "at_ms": 3, "reached": True}]
    assert document["processes"] == [
        {"pid": 77, "command": "claude", "via": "agent", "ended_by": "term"}
    ]
    assert document["survivors"][0]["why"] == "uninterruptible sleep"


def test_results_and_proofs_are_plain_words() -> None:
    document = PLAIN.to_json()
    assert type(document["result"]) is str
    assert type(document["proof"]) is str
    assert (document["result"], document["proof"]) == ("ended", "proven")


def test_a_key_from_a_newer_knell_is_passed_over() -> None:
    assert receipt_from_json({**PLAIN.to_json(), "mood": "calm"}) == PLAIN


def test_a_receipt_from_an_older_knell_gets_the_defaults() -> None:
    document = PLAIN.to_json()
    for key in ("kept", "screen", "max_rss_kb", "warnings", "tasks", "death"):
        del document[key]
    assert receipt_from_json(document) == PLAIN


@pytest.mark.parametrize("missing", ["agent", "result", "pane"])
def test_a_document_without_its_heart_is_an_error(missing: str) -> None:
    document = PLAIN.to_json()
    del document[missing]
    with pytest.raises((KeyError, TypeError)):
        receipt_from_json(document)


def test_an_unknown_result_is_an_error() -> None:
    with pytest.raises(ValueError, match="vanished"):
        receipt_from_json({**PLAIN.to_json(), "result": "vanished"})
