"""What a letter may hold, and how an answer in one is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quell.core.errors import BadRequest
from quell.core.message import LONGEST, Answer, Letter, answer_from, checked_letter

APPROVED = Letter.SHUTDOWN_APPROVED.value
REJECTED = Letter.SHUTDOWN_REJECTED.value


def test_a_letter_of_a_known_type_and_size_may_be_sent() -> None:
    assert [checked_letter("x" * LONGEST, type) for type in Letter] == list(Letter)
    assert checked_letter("", "plain") == "plain"


@pytest.mark.parametrize(("body", "type"), [("x" * (LONGEST + 1), "plain"), ("x", "gossip")])
def test_others_may_not(body: str, type: str) -> None:
    with pytest.raises(BadRequest):
        checked_letter(body, type)


@pytest.mark.parametrize(
    ("type", "body", "answer"),
    [
        (APPROVED, "", Answer("", approved=True)),
        (APPROVED, "  all done ", Answer("", approved=True, reason="all done")),
        (APPROVED, "{}", Answer("", approved=True)),
        (APPROVED, '{"approved": true, "requestId": "r1"}', Answer("r1", approved=True)),
        (
            APPROVED,
            '{"approved": false, "reason": "busy"}',
            Answer("", approved=False, reason="busy"),
        ),
        (
            APPROVED,
            '{"id": "r2", "responseReason": "ok"}',
            Answer("r2", approved=True, reason="ok"),
        ),
        (REJECTED, "still at it", Answer("", approved=False, reason="still at it")),
        (
            REJECTED,
            '{"requestId": "r1", "reason": "busy"}',
            Answer("r1", approved=False, reason="busy"),
        ),
    ],
)
def test_T15_an_answer_is_read_from_the_letter(type: str, body: str, answer: Answer) -> None:
    assert answer_from(type, body) == answer


def test_a_rejection_that_says_approved_is_none() -> None:
    """The two words contradict each other, and the safer one is that it goes on."""
    assert not answer_from(REJECTED, '{"approved": true}').approved


@pytest.mark.parametrize(
    "body",
    [
        "{",
        '{"a":' * 12_000,  # deeper than Python likes to read
        '{"approved": tru}',
        '{"approved": "yes"}',
        '{"approved": 1}',
        '{"approved": null}',
        '{"requestId": 7}',
        '{"reason": ["a"]}',
    ],
)
def test_G45_an_answer_that_is_not_plain_is_refused(body: str) -> None:
    with pytest.raises(BadRequest):
        answer_from(APPROVED, body)


@given(st.sampled_from([APPROVED, REJECTED]), st.text())
def test_whatever_is_written_it_is_an_answer_or_refused(type: str, body: str) -> None:
    try:
        answer = answer_from(type, body)
    except BadRequest:
        return
    assert answer.approved <= (type == APPROVED)


@given(st.dictionaries(st.sampled_from(["approved", "id", "reason"]), st.integers() | st.none()))
def test_nobody_is_ended_by_a_value_of_the_wrong_kind(parts: dict[str, int | None]) -> None:
    if parts:
        with pytest.raises(BadRequest):
            answer_from(APPROVED, json.dumps(parts))
