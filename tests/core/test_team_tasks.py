"""The states of a team's task, and which tasks may be added."""

import itertools

import pytest

from knell.core.errors import BadRequest, IllegalTransition
from knell.core.teams import (
    LONGEST,
    LONGEST_ID,
    LONGEST_TITLE,
    STATES,
    TaskDeed,
    TaskStatus,
    TeamTask,
    checked_task,
    next_status,
)


@pytest.mark.parametrize(("status", "deed"), list(itertools.product(TaskStatus, TaskDeed)))
def test_only_what_the_table_lists_happens(status: TaskStatus, deed: TaskDeed) -> None:
    if (status, deed) in STATES:
        assert next_status(status, deed) is STATES[status, deed]
    else:
        with pytest.raises(IllegalTransition):
            next_status(status, deed)


def test_a_completed_task_never_changes_and_every_other_can_be_completed() -> None:
    assert not [deed for deed in TaskDeed if (TaskStatus.COMPLETED, deed) in STATES]
    assert (
        next_status(next_status(TaskStatus.PENDING, TaskDeed.CLAIM), TaskDeed.COMPLETE)
        is TaskStatus.COMPLETED
    )


def test_G36_a_task_of_one_who_ended_goes_back() -> None:
    assert next_status(TaskStatus.IN_PROGRESS, TaskDeed.RELEASE) is TaskStatus.PENDING


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
