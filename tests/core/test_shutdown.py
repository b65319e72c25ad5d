"""Asking to leave: the table itself."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.errors import IllegalTransition
from knell.core.shutdown import OPEN, PHASES, Move, Phase, next_phase

CLOSED = [phase for phase in Phase if phase not in OPEN]


@pytest.mark.parametrize(("phase", "move"), list(itertools.product(Phase, Move)))
def test_only_what_the_table_lists_happens(phase: Phase, move: Move) -> None:
    if (phase, move) in PHASES:
        assert next_phase(phase, move) is PHASES[phase, move]
    else:
        with pytest.raises(IllegalTransition):
            next_phase(phase, move)


def test_every_phase_is_reached() -> None:
    assert {Phase.REQUESTED, *PHASES.values()} == set(Phase)


@pytest.mark.parametrize("phase", CLOSED)
def test_what_is_closed_stays_closed(phase: Phase) -> None:
    assert not [move for move in Move if (phase, move) in PHASES]


@pytest.mark.parametrize("phase", OPEN)
@pytest.mark.parametrize("move", [Move.GONE, Move.FORCE, Move.LET_GO])
def test_G26_every_open_request_closes_when_the_run_ends(phase: Phase, move: Move) -> None:
    assert next_phase(phase, move) in CLOSED


def test_C27_a_rejection_closes_it_so_that_it_can_be_asked_again() -> None:
    assert next_phase(Phase.REQUESTED, Move.REJECT) in CLOSED
    assert Phase.REJECTED not in OPEN


def test_who_has_agreed_cannot_disagree_nor_be_spared() -> None:
    for move in (Move.APPROVE, Move.REJECT, Move.WITHDRAW):
        with pytest.raises(IllegalTransition):
            next_phase(Phase.APPROVED, move)


@given(st.lists(st.sampled_from(Move), max_size=12))
def test_whatever_is_tried_it_is_answered_at_most_once_and_closed_at_most_once(
    moves: list[Move],
) -> None:
    phase, seen = Phase.REQUESTED, [Phase.REQUESTED]
    for move in moves:
        try:
            following = next_phase(phase, move)
            seen += [following] if following is not phase else []  # a confirmation
            phase = following
        except IllegalTransition:
            pass
    assert len(seen) == len(set(seen)) <= 3
    assert sum(one in CLOSED for one in seen) <= 1
