"""What becomes of a task whose agent ends."""

import pytest

from knell.core.orchestrator_task import OPEN, Fate, OrchestratorTask, fate_of, returned
from knell.core.run import Outcome


@pytest.mark.parametrize("status", ["completed", "merged", "failed", "anything"])
@pytest.mark.parametrize("fate", list(Fate))
def test_G33_a_closed_task_never_changes(status, fate):
    assert returned(OrchestratorTask("TASK-1-1", status), fate) is None


@pytest.mark.parametrize("status", OPEN)
def test_O27_O32_an_open_task_fails_or_is_ready_again(status):
    def now(fate):
        told = returned(OrchestratorTask("TASK-1-1", status), fate)
        return told and told.now

    assert now(Fate.FAIL) == "failed"
    assert now(Fate.RETRY) == now(Fate.REQUEUE) == "spawned"
    assert now(Fate.LEAVE) is None


def test_who_is_killed_fails_its_task_unless_it_comes_back():
    assert fate_of("", Outcome.KILLED, comes_back=False) is Fate.FAIL
    assert fate_of("", Outcome.KILLED, comes_back=True) is Fate.RETRY
    assert fate_of("", Outcome.LOST, comes_back=False) is Fate.FAIL


def test_who_is_stopped_keeps_its_task_and_who_leaves_gives_it_back():
    assert fate_of("", Outcome.STOPPED, comes_back=False) is Fate.LEAVE
    assert fate_of("", Outcome.COMPLETED, comes_back=False) is Fate.REQUEUE


def test_a_wish_wins_and_an_unknown_one_is_an_error():
    assert fate_of("leave", Outcome.KILLED, comes_back=True) is Fate.LEAVE
    with pytest.raises(ValueError, match="keep"):
        fate_of("keep", Outcome.KILLED, comes_back=False)
