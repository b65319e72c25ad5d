"""The states of a team's task, and that no tasks wait for each other."""

import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quell.core.errors import BadRequest, IllegalTransition
from quell.core.teamtask import (
    LONGEST,
    LONGEST_ID,
    LONGEST_TITLE,
    STATES,
    Deed,
    Status,
    TeamTask,
    checked_task,
    cycle,
    next_status,
    reassigned,
    unmet,
)

TASKS = "abcdef"
GRAPHS = st.fixed_dictionaries(
    {task: st.lists(st.sampled_from(TASKS), max_size=3, unique=True) for task in TASKS}
)


@pytest.mark.parametrize(("status", "deed"), list(itertools.product(Status, Deed)))
def test_only_what_the_table_lists_happens(status: Status, deed: Deed) -> None:
    if (status, deed) in STATES:
        assert next_status(status, deed) is STATES[status, deed]
    else:
        with pytest.raises(IllegalTransition):
            next_status(status, deed)


def test_a_completed_task_never_changes_and_every_other_can_be_completed() -> None:
    assert not [deed for deed in Deed if (Status.COMPLETED, deed) in STATES]
    assert next_status(next_status(Status.PENDING, Deed.CLAIM), Deed.COMPLETE) is Status.COMPLETED


def test_G36_a_task_of_one_who_ended_goes_back() -> None:
    assert next_status(Status.IN_PROGRESS, Deed.RELEASE) is Status.PENDING


def test_T38_the_warning_names_the_former_owner() -> None:
    assert reassigned("ada") == "Reassigned: previous owner ada terminated"


def test_what_was_not_waited_for_is_named() -> None:
    assert unmet(()) == ""
    assert unmet(("t1", "t2")) == "Unfinished: t1, t2"


@pytest.mark.parametrize(
    "parts",
    [
        {"id": " "},
        {"id": "x" * (LONGEST_ID + 1)},
        {"title": "\n"},
        {"title": "x" * (LONGEST_TITLE + 1)},
        {"description": "x" * (LONGEST + 1)},
        {"priority": "urgent"},
        {"priority": ""},
    ],
)
def test_a_task_that_makes_no_sense_is_refused(parts: dict[str, str]) -> None:
    task = TeamTask("t1", "core", "Write it")
    assert checked_task(task) is task
    with pytest.raises(BadRequest):
        checked_task(task._replace(**parts))


# -- cycles ------------------------------------------------------------------------------------


def reaches(start: Sequence[str], goal: str, known: Mapping[str, Sequence[str]]) -> bool:
    """Another way to the same answer: all that can be reached, grown until nothing is added."""
    reached = set(start)
    while more := {need for task in reached for need in known.get(task, ())} - reached:
        reached |= more
    return goal in reached


@given(GRAPHS, st.sampled_from(TASKS), st.lists(st.sampled_from(TASKS), max_size=4))
def test_a_cycle_is_found_where_there_is_one(
    known: dict[str, list[str]], task: str, needs: list[str]
) -> None:
    others = {name: ways for name, ways in known.items() if name != task}
    way = cycle(task, needs, others)
    assert bool(way) == reaches(needs, task, others)
    if way:
        assert way[0] == way[-1] == task
        assert way[1] in needs or way == (task, task)
        steps = {**others, task: needs}
        assert all(there in steps[here] for here, there in itertools.pairwise(way))
        assert len(set(way)) == len(way) - 1


@given(st.lists(st.tuples(st.sampled_from(TASKS), st.sampled_from(TASKS)), max_size=30))
def test_what_is_added_without_a_cycle_can_be_done_in_some_order(
    wishes: list[tuple[str, str]],
) -> None:
    known: dict[str, list[str]] = {task: [] for task in TASKS}
    for task, need in wishes:
        if not cycle(task, [*known[task], need], known):
            known[task].append(need)
    done: set[str] = set()
    while ready := [task for task in TASKS if task not in done and set(known[task]) <= done]:
        done |= set(ready)
    assert done == set(TASKS)


def test_the_way_round_is_told() -> None:
    assert cycle("a", ["a"], {}) == ("a", "a")
    assert cycle("a", ["x", "b"], {"b": ["c"], "c": ["a"]}) == ("a", "b", "c", "a")
    assert cycle("a", ["b"], {"b": ["c"]}) == ()


def test_a_cycle_of_others_holds_nobody_up() -> None:
    assert cycle("a", ["b"], {"b": ["c"], "c": ["b"]}) == ()
