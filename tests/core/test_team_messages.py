"""What a message may hold, and how an answer in one is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.errors import BadRequest
from knell.core.shutdown import ShutdownAnswer, answer_from
from knell.core.teams import LONGEST, MessageType, checked_message

APPROVED = MessageType.SHUTDOWN_APPROVED.value
REJECTED = MessageType.SHUTDOWN_REJECTED.value


def test_a_message_of_a_known_type_and_size_may_be_sent() -> None:
    assert [checked_message("x" * LONGEST, type) for type in MessageType] == list(MessageType)
    assert checked_message("", "plain") == "plain"


@pytest.mark.parametrize(("body", "type"), [("x" * (LONGEST + 1), "plain"), ("x", "gossip")])
def test_others_may_not(body: str, type: str) -> None:
    with pytest.raises(BadRequest):
        checked_message(body, type)


@pytest.mark.parametrize(
    ("type", "body", "answer"),
    [
        (APPROVED, "", ShutdownAnswer("", approved=True)),
        (APPROVED, "  all done ", ShutdownAnswer("", approved=True, reason="all done")),
        (APPROVED, "{}", ShutdownAnswer("", approved=True)),
        (APPROVED, '{"approved": true, "requestId": "r1"}', ShutdownAnswer("r1", approved=True)),
        (
            APPROVED,
            '{"approved": false, "reason": "busy"}',
            ShutdownAnswer("", approved=False, reason="busy"),
        ),
        (
            APPROVED,
            '{"id": "r2", "responseReason": "ok"}',
            ShutdownAnswer("r2", approved=True, reason="ok"),
        ),
        (REJECTED, "still at it", ShutdownAnswer("", approved=False, reason="still at it")),
        (
            REJECTED,
            '{"requestId": "r1", "reason": "busy"}',
            ShutdownAnswer("r1", approved=False, reason="busy"),
        ),
    ],
)
def test_T15_an_answer_is_read_from_the_message(
    type: str, body: str, answer: ShutdownAnswer
) -> None:
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
