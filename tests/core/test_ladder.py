"""The ladders of the four contracts, and how a call may change the waits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.errors import BadRequest
from knell.core.ladder import (
    FORCE,
    KILL,
    KILL_STALLED,
    LONGEST_WAIT,
    STOP,
    Ladder,
    Rung,
    checked_wait,
    grace_of,
    with_grace,
)

LADDERS = {"kill": KILL, "force": FORCE, "kill-stalled": KILL_STALLED, "stop": STOP}
each_ladder = pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)


def rungs(ladder: Ladder) -> list[tuple[str, float]]:
    return [(step.rung.value, step.wait) for step in ladder[:-1]] + [(ladder[-1].rung.value, 0)]


def test_H11_H12_H13_kill_is_term_two_seconds_kill() -> None:
    assert rungs(KILL) == [("term", 2.0), ("kill", 0)]


def test_O14_force_is_kill_at_once() -> None:
    assert rungs(FORCE) == [("kill", 0)]


def test_O8_O9_a_stalled_agent_has_ten_seconds() -> None:
    assert rungs(KILL_STALLED) == [("term", 10.0), ("kill", 0)]


def test_M24_stop_types_the_exit_first() -> None:
    assert rungs(STOP) == [("exit_keys", 3.0), ("term", 5.0), ("kill", 0)]


@each_ladder
def test_every_ladder_ends_with_kill_and_climbs_each_rung_once(ladder: Ladder) -> None:
    climbed = [step.rung for step in ladder]
    assert climbed[-1] is Rung.KILL
    assert climbed == [rung for rung in Rung if rung in climbed]  # upwards, none twice


@each_ladder
def test_no_grace_given_changes_nothing(ladder: Ladder) -> None:
    assert with_grace(ladder, None) == ladder


@each_ladder
@given(seconds=st.floats(0, LONGEST_WAIT))
def test_a_grace_changes_the_wait_after_term_and_nothing_else(
    ladder: Ladder, seconds: float
) -> None:
    changed = with_grace(ladder, seconds)
    assert [step.rung for step in changed] == [step.rung for step in ladder]
    for before, after in zip(ladder, changed, strict=True):
        assert after.wait == (seconds if after.rung is Rung.TERM else before.wait)
    assert grace_of(changed) == (seconds if any(s.rung is Rung.TERM for s in ladder) else 0.0)


def test_O13_a_grace_of_zero_is_legal() -> None:
    assert grace_of(with_grace(KILL, 0)) == 0.0


@pytest.mark.parametrize("seconds", [-1, -0.001, LONGEST_WAIT + 1, math.inf, -math.inf, math.nan])
def test_a_wait_that_nobody_can_mean_is_refused_with_a_hint(seconds: float) -> None:
    with pytest.raises(BadRequest) as refused:
        checked_wait(seconds)
    assert "--grace" in refused.value.hint
    with pytest.raises(BadRequest):
        with_grace(KILL, seconds)


@given(st.floats())
def test_a_checked_wait_is_always_finite(seconds: float) -> None:
    try:
        assert 0 <= checked_wait(seconds) <= LONGEST_WAIT
    except BadRequest:
        assert math.isnan(seconds) or not 0 <= seconds <= LONGEST_WAIT
