"""Who comes back, when, and why not: the decision, without any process."""

import itertools

import pytest

from knell.core.restart import (
    LATER,
    LONG_AGO,
    LONGEST,
    STEADY,
    EndedRun,
    PlanState,
    RestartDecision,
    RestartPlan,
    RestartRefusal,
    RestartRules,
    backoff,
    decide,
    error_in,
    supersedes,
)
from knell.core.run import Ending, Outcome

CRASH = Ending(Outcome.FAILED, "agent", "crashed", exit_code=1)


def decided(
    ending: Ending, most: int, attempt: int, lived: float, words: str = ""
) -> RestartDecision:
    return decide(EndedRun(ending, attempt, lived, words), RestartRules(most))


def test_O47_the_wait_doubles_up_to_two_minutes():
    assert [backoff(n) for n in range(1, 9)] == [2, 4, 8, 16, 32, 64, 120, 120]
    assert backoff(10_000) == LONGEST


def test_O47_three_restarts_in_a_row_and_no_more():
    decisions = [decided(CRASH, 3, n, 1.0) for n in range(4)]
    assert [one.again for one in decisions] == [True, True, True, False]
    assert [one.attempt for one in decisions[:3]] == [1, 2, 3]
    assert [one.delay for one in decisions[:3]] == [2, 4, 8]
    assert "3 restarts are enough" in decisions[3].why


def test_a_long_life_starts_the_count_anew():
    again = decided(CRASH, 3, 3, STEADY)
    assert again.again
    assert again.attempt == 1


def test_nobody_comes_back_unasked():
    assert not decided(CRASH, 0, 0, 1.0).again


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
    decision = decided(ending, 3, 0, 1.0)
    assert not decision.again
    assert decision.why


def test_O47_one_that_was_killed_because_it_hung_comes_back():
    stalled = Ending(Outcome.KILLED, "watch", "stalled", "no heartbeat for 250 s")
    assert decided(stalled, 3, 0, 1.0).again


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
    decision = decided(CRASH, 3, 0, 1.0, words)
    assert not decision.again
    assert name in decision.why


def test_a_command_that_cannot_run_is_not_tried_again():
    missing = Ending(Outcome.FAILED, "agent", "crashed", exit_code=127)
    never = Ending(Outcome.FAILED, "keeper", "not_started", "No such file")
    assert not decided(missing, 3, 0, 1.0).again
    assert not decided(never, 3, 0, 1.0).again


def test_what_is_short_of_something_is_tried_twice():
    assert error_in("ENOMEM").name == "resource_exhaustion"
    thrice = decided(CRASH, 3, 2, 1.0, "Out of memory")
    assert not thrice.again
    assert decided(CRASH, 3, 1, 1.0, "Out of memory").again


def a_plan(state: PlanState, attempt: int) -> RestartPlan:
    return RestartPlan("run-1", "ada", state, "why", attempt)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(PlanState, PlanState)))
def test_a_plan_only_moves_on_and_a_later_attempt_begins_anew(before, after):
    known = a_plan(before, 1)
    assert supersedes(a_plan(after, 1), known) == (after in LATER[before])
    assert supersedes(a_plan(after, 2), known) == (before is not PlanState.STARTED)


@pytest.mark.parametrize(
    ("run", "refusal"),
    [
        (EndedRun(CRASH, ended_ago=LONG_AGO + 1), RestartRefusal.LONG_AGO),
        (EndedRun(CRASH, ended_ago=LONG_AGO + 1, cut_short=True), RestartRefusal.LONG_AGO),
        (EndedRun(Ending(Outcome.KILLED, "operator", "killed")), RestartRefusal.ON_PURPOSE),
        (EndedRun(CRASH._replace(exit_code=127)), RestartRefusal.CANNOT_START),
        (EndedRun(CRASH, words="SyntaxError"), RestartRefusal.PERMANENT_ERROR),
        (EndedRun(CRASH, words="SyntaxError", attempt=9), RestartRefusal.PERMANENT_ERROR),
        (EndedRun(CRASH, attempt=3), RestartRefusal.TOO_OFTEN),
        (EndedRun(CRASH), None),
    ],
)
def test_each_refusal_has_its_code(run, refusal):
    decision = decide(run, RestartRules(3))
    assert decision.refusal is refusal
    assert decision.again == (refusal is None)


def test_who_asks_by_name_restarts_what_was_killed_on_purpose():
    killed = EndedRun(Ending(Outcome.KILLED, "operator", "killed"))
    decision = decide(killed, RestartRules(3, first=5.0, even_on_purpose=True))
    assert (decision.refusal, decision.attempt, decision.delay) == (None, 1, 5.0)


def test_a_restart_that_was_cut_short_does_not_count():
    never = Ending(Outcome.LOST, "unknown", "not_started")
    decision = decide(EndedRun(never, attempt=3, cut_short=True), RestartRules(3))
    assert (decision.again, decision.attempt) == (True, 3)
