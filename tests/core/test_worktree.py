"""The table that decides what becomes of a worktree, without any worktree."""

from typing import Any

import pytest

from knell.core.ports.git import Tree
from knell.core.process import Unknown
from knell.core.worktree import Cleanup, decide

DONE = Tree("/w", "/r/.git/worktrees/w", "/r/.git", linked=True, commit="c", branch="b")
DONE = DONE._replace(merged_into="main")
DIRTY = DONE._replace(changed=1, untracked=2)
MODES = tuple(Cleanup)


def test_clean_merged_and_empty_goes() -> None:
    for mode in MODES:
        assert decide(DONE, mode)[:2] == (True, False)


def test_what_knell_did_not_make_goes_only_if_somebody_asks_for_it() -> None:
    assert decide(DONE, Cleanup.OWN, made=False)[:2] == (False, False)
    assert decide(DIRTY, Cleanup.OWN, made=False)[:2] == (False, False)
    assert decide(DONE, Cleanup.SAFE, made=False)[:2] == (True, False)
    assert decide(DIRTY, Cleanup.OWN)[:2] == decide(DIRTY, Cleanup.SAFE)[:2]


@pytest.mark.parametrize("work", [{"changed": 1}, {"untracked": 1}])
def test_uncommitted_work_is_saved_and_only_goes_by_force(work: dict[str, int]) -> None:
    tree = DONE._replace(**work)
    assert decide(tree, Cleanup.SAFE)[:2] == (False, True)
    assert decide(tree, Cleanup.FORCE)[:2] == (True, True)


def test_an_unmerged_branch_keeps_its_worktree_but_needs_no_rescue() -> None:
    """The branch outlives the worktree."""
    tree = DONE._replace(merged_into="", alone=3)
    assert decide(tree, Cleanup.SAFE)[:2] == (False, False)
    assert "3 commits" in decide(tree, Cleanup.SAFE).why
    assert decide(tree, Cleanup.FORCE)[:2] == (True, False)


def test_commits_that_only_a_detached_head_holds_are_saved() -> None:
    tree = DONE._replace(merged_into="", branch="", alone=1)
    assert decide(tree, Cleanup.SAFE)[:2] == (False, True)
    assert decide(tree, Cleanup.FORCE)[:2] == (True, True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("fact", "rescue", "why"),
    [
        ({"linked": False}, False, "main checkout"),
        ({"locked": ""}, True, "git worktree unlock /w"),
        ({"locked": "on a stick"}, True, "on a stick"),
        ({"underway": "rebase"}, True, "rebase"),
        ({"conflicts": 1}, True, "conflicts in 1 file"),
        ({"nested": ("lib",)}, True, "lib"),
        ({"within": ("/w/x",)}, True, "/w/x"),
    ],
)
def test_what_no_mode_removes(
    mode: Cleanup, fact: dict[str, object], rescue: object, why: str
) -> None:
    decision = decide(DIRTY._replace(**fact), mode)  # type: ignore[arg-type]
    assert decision[:2] == (False, rescue)
    assert why in decision.why


@pytest.mark.parametrize("mode", MODES)
def test_whoever_is_inside_keeps_it(mode: Cleanup) -> None:
    assert decide(DIRTY, mode, inside=("node (pid 7, cwd)",))[:2] == (False, True)
    assert decide(DONE, mode, inside=("node (pid 7, cwd)",))[:2] == (False, False)


@pytest.mark.parametrize("mode", MODES)
def test_the_work_of_another_live_agent_is_left_alone(mode: Cleanup) -> None:
    decision = decide(DIRTY, mode, others=("nova",))
    assert decision == (False, False, "nova works there too", False)


def test_C24_what_stays_for_what_it_holds_is_quarantined() -> None:
    assert decide(DIRTY, Cleanup.SAFE).quarantine
    assert decide(DONE._replace(bulky=1), Cleanup.SAFE)[:2] == (False, False)
    assert decide(DONE._replace(bulky=1), Cleanup.FORCE).remove
    assert not decide(DONE, Cleanup.SAFE).quarantine
    assert not decide(DIRTY._replace(linked=False), Cleanup.SAFE).quarantine
    assert not decide(DIRTY, Cleanup.OWN, made=False).quarantine


@pytest.mark.parametrize(
    "fact", [{"ignored": 1}, {"filtered": 1}, {"modules": ("m",)}, {"lost_commits": ("c",)}]
)
def test_P13_what_exists_nowhere_else_is_saved_before_it_goes(fact: dict[str, Any]) -> None:
    assert decide(DONE._replace(**fact), Cleanup.SAFE)[:2] == (True, True)
    assert decide(DONE._replace(**fact, locked=""), Cleanup.SAFE)[:2] == (False, False)


@pytest.mark.parametrize("mode", MODES)
def test_what_could_not_be_looked_at_stays(mode: Cleanup) -> None:
    assert decide(Unknown("git timed out"), mode)[:2] == (False, False)


@pytest.mark.parametrize("mode", MODES)
def test_the_record_of_a_deleted_one_goes_unless_locked(mode: Cleanup) -> None:
    gone = DONE._replace(gone=True, changed=1)
    assert decide(gone, mode)[:2] == (True, True)
    assert decide(gone._replace(locked=""), mode)[:2] == (False, True)
