"""Who comes back, when, and why not: the decision, without any process."""

import pytest

from quell.core.lifecycle import Outcome
from quell.core.restart import LONGEST, STEADY, backoff, decide, trouble_in
from quell.core.run import Ending

CRASH = Ending(Outcome.FAILED, "agent", "crashed", exit_code=1)


def test_O47_the_wait_doubles_up_to_two_minutes():
    assert [backoff(n) for n in range(1, 9)] == [2, 4, 8, 16, 32, 64, 120, 120]
    assert backoff(10_000) == LONGEST


def test_O47_three_restarts_in_a_row_and_no_more():
    decisions = [decide(CRASH, wanted=3, attempt=n, lived=1.0) for n in range(4)]
    assert [one.again for one in decisions] == [True, True, True, False]
    assert [one.attempt for one in decisions[:3]] == [1, 2, 3]
    assert [one.delay for one in decisions[:3]] == [2, 4, 8]
    assert "3 restarts are enough" in decisions[3].why


def test_a_long_life_starts_the_count_anew():
    again = decide(CRASH, wanted=3, attempt=3, lived=STEADY)
    assert again.again
    assert again.attempt == 1


def test_nobody_comes_back_unasked():
    assert not decide(CRASH, wanted=0, attempt=0, lived=1.0).again


@pytest.mark.parametrize(
    "ending",
    [
        Ending(Outcome.KILLED, "operator", "killed"),
        Ending(Outcome.STOPPED, "operator", "manual_stop"),
        Ending(Outcome.STOPPED, "terminal", "pane_closed"),
        Ending(Outcome.ARCHIVED, "operator", "archived"),
        Ending(Outcome.COMPLETED, "agent", "exited", exit_code=0),
        Ending(Outcome.TERMINATED, "unknown", "keeper_signalled"),
        Ending(Outcome.FAILED, "agent", "crashed", "signal 2", exit_signal=2),
        Ending(Outcome.FAILED, "agent", "crashed", exit_code=130),
    ],
)
def test_G39_an_end_on_purpose_stays_an_end(ending):
    decision = decide(ending, wanted=3, attempt=0, lived=1.0)
    assert not decision.again
    assert decision.why


def test_O47_one_that_was_killed_because_it_hung_comes_back():
    stalled = Ending(Outcome.KILLED, "watch", "stalled", "no heartbeat for 250 s")
    assert decide(stalled, wanted=3, attempt=0, lived=1.0).again


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("CONFLICT (content): Merge conflict in a.py", "git_conflict"),
        ("SyntaxError: invalid syntax", "syntax_error"),
        ("spec_not_found", "spec_not_found"),
        ("error: invalid configuration", "invalid_configuration"),
    ],
)
def test_a_permanent_error_is_not_tried_again(words, name):
    decision = decide(CRASH, wanted=3, attempt=0, lived=1.0, words=words)
    assert not decision.again
    assert name in decision.why


def test_a_command_that_cannot_run_is_not_tried_again():
    missing = Ending(Outcome.FAILED, "agent", "crashed", exit_code=127)
    never = Ending(Outcome.FAILED, "keeper", "not_started", "No such file")
    assert not decide(missing, wanted=3, attempt=0, lived=1.0).again
    assert not decide(never, wanted=3, attempt=0, lived=1.0).again


def test_what_is_short_of_something_is_tried_twice():
    assert trouble_in("ENOMEM").name == "resource_exhaustion"
    thrice = decide(CRASH, wanted=3, attempt=2, lived=1.0, words="Out of memory")
    assert not thrice.again
    assert decide(CRASH, wanted=3, attempt=1, lived=1.0, words="Out of memory").again
