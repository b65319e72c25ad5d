"""The table of a run's life: complete, without dead ends, and the only way to move."""

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.errors import IllegalTransition
from knell.core.ports.keepers import Journal
from knell.core.run import (
    TRANSITIONS,
    Ending,
    Happening,
    Outcome,
    Place,
    Run,
    State,
    next_state,
    seen_ending,
)

PAIRS = list(product(State, Happening))
UNLISTED = [pair for pair in PAIRS if pair not in TRANSITIONS]


def reached_from(start: State) -> set[State]:
    found = {start}
    todo = [start]
    while todo:
        here = todo.pop()
        after = {then for (state, _), then in TRANSITIONS.items() if state is here}
        todo += after - found
        found |= after
    return found


def test_every_state_is_reached_from_spawning() -> None:
    assert reached_from(State.SPAWNING) == set(State)


@pytest.mark.parametrize("state", State)
def test_every_state_can_end(state: State) -> None:
    assert State.ENDED in reached_from(state)


def test_ended_has_no_exits() -> None:
    assert [pair for pair in TRANSITIONS if pair[0] is State.ENDED] == []


@pytest.mark.parametrize("state", [state for state in State if state is not State.ENDED])
def test_every_live_state_ends_the_moment_its_end_is_seen(state: State) -> None:
    assert next_state(state, Happening.GONE) is State.ENDED


def test_nothing_comes_back_to_spawning() -> None:
    assert State.SPAWNING not in TRANSITIONS.values()


@pytest.mark.parametrize(("state", "happening"), TRANSITIONS)
def test_a_listed_pair_is_obeyed(state: State, happening: Happening) -> None:
    assert next_state(state, happening) is TRANSITIONS[state, happening]


@pytest.mark.parametrize(("state", "happening"), UNLISTED)
def test_an_unlisted_pair_is_refused_by_name(state: State, happening: Happening) -> None:
    with pytest.raises(IllegalTransition, match=rf"{state.value}.*{happening.value}"):
        next_state(state, happening)


def test_some_pairs_are_unlisted() -> None:
    """Else the test above would hold for a table that allows everything."""
    assert (State.SPAWNING, Happening.SPARED) in UNLISTED
    assert (State.RUNNING, Happening.BORN) in UNLISTED
    assert len(UNLISTED) == len(PAIRS) - len(TRANSITIONS)


@given(st.lists(st.sampled_from(Happening), max_size=40))
def test_whatever_happens_a_run_ends_once_and_for_good(happenings: list[Happening]) -> None:
    state = State.SPAWNING
    for happening in happenings:
        if (state, happening) not in TRANSITIONS:
            with pytest.raises(IllegalTransition):
                next_state(state, happening)
            continue
        assert state is not State.ENDED
        state = next_state(state, happening)
    if state is not State.ENDED:
        assert next_state(state, Happening.GONE) is State.ENDED


@given(st.lists(st.sampled_from(Happening), max_size=40))
def test_only_a_seen_end_or_a_letting_go_ends_a_run(happenings: list[Happening]) -> None:
    """Asking is not ending, and not seeing is not dying."""
    state = State.SPAWNING
    for happening in happenings:
        after = TRANSITIONS.get((state, happening), state)
        if after is State.ENDED and state is not State.ENDED:
            assert happening in {Happening.GONE, Happening.LET_GO}
        state = after


def test_the_page_shows_every_transition_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lifecycle.md").read_text()
    rows = page.partition("| next state |\n|---|---|---|\n")[2].partition("\n\n")[0]
    shown = re.findall(r"^\| (\w+) \| (\w+) \| (\w+) \|$", rows, re.MULTILINE)
    assert shown == [(a.value, why.value, b.value) for (a, why), b in TRANSITIONS.items()]


def test_the_outcomes_are_the_seven_of_the_design() -> None:
    assert {outcome.value for outcome in Outcome} == {
        *("completed", "failed", "stopped", "killed", "terminated", "archived", "lost")
    }


@pytest.mark.parametrize(
    ("rung", "outcome"), [("exit_keys", Outcome.STOPPED), ("", Outcome.COMPLETED)]
)
def test_M28_who_leaves_by_its_exit_keys_was_stopped_though_its_ender_was_killed(
    rung: str, outcome: Outcome
) -> None:
    asked = Ending(Outcome.STOPPED, "operator", "manual_stop")
    run = Run("r", "luna", "here", State.STOPPING, Place("tmux"), "", ending=asked, rung=rung)
    assert seen_ending(run, Journal(None, cause="exit", exit_code=0)).outcome is outcome
