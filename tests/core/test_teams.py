"""Who may do what in a team, and in which colour."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.teams import COLOURS, Role, may, next_colour


def test_the_pool_has_ten_colours() -> None:
    assert len(set(COLOURS)) == 10
    assert all(len(colour) == 7 and int(colour[1:], 16) >= 0 for colour in COLOURS)


def test_a_free_colour_comes_first() -> None:
    assert next_colour([]) == COLOURS[0]
    assert next_colour(COLOURS[:3]) == COLOURS[3]
    assert next_colour([*COLOURS[1:], "#000000"]) == COLOURS[0]


def test_the_longest_held_is_shared_when_none_is_free() -> None:
    held = list(reversed(COLOURS))
    assert next_colour(held) == COLOURS[-1]
    assert next_colour([*held, COLOURS[-1]]) == COLOURS[-2]


@given(st.integers(0, 60))
def test_however_many_join_the_colours_are_shared_evenly(members: int) -> None:
    held: list[str] = []
    for _ in range(members):
        held.append(next_colour(held))
    counts = [held.count(colour) for colour in COLOURS]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("deed", ["kill-agent", "spawn-agent", "dissolve-team"])
def test_T3_only_the_leader_ends_starts_and_dissolves(role: Role, deed: str) -> None:
    assert may(role, deed) == (role is Role.LEADER)


def test_the_leader_hands_work_out_and_claims_none() -> None:
    assert [role for role in Role if not may(role, "claim-task")] == [Role.LEADER]


def test_G43_a_role_that_nobody_knows_is_a_worker() -> None:
    for role in ("", "boss", "LEADER", "leader "):
        assert not may(role, "kill-agent")
        assert may(role, "claim-task")


def test_what_nobody_forbade_is_allowed() -> None:
    assert all(may(role, "list-agents") for role in Role)
