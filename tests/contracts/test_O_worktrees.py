"""create-worktree and cleanup-worktrees: what is not finished stays, or is saved (C24, G38)."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from contracts.o_scenes import ask, commit, git, kill, launched, make_task, repository, sql, words
from house import House

CREATE, CLEANUP = "orchestrator.create-worktree", "orchestrator.cleanup-worktrees"
TASK = "TASK-31-1"


def created(house: House, task: str = TASK, /, **params: Any) -> Path:
    answer = ask(house, CREATE, TASK_ID=task, REPOSITORY=str(house.root / "repo"), **params)
    assert answer["success"] is True, answer
    return Path(answer["worktree_path"])


def cleanup(house: House, task: str = TASK, /, **params: Any) -> dict[str, Any]:
    return ask(house, CLEANUP, TASK_ID=task, **params)


def status(house: House, task: str = TASK) -> str:
    rows = sql(house, "SELECT status FROM orchestrator_state WHERE task_id = ?", task)
    return rows[-1][0]


def branches(top: Path) -> list[str]:
    return git(top, "branch", "--format=%(refname:short)").split()


def rescued(top: Path) -> list[str]:
    return git(top, "for-each-ref", "--format=%(refname)", "refs/knell/rescue").split()


# -- making --------------------------------------------------------------------------------------


def test_create_worktree_answers_with_path_branch_and_commit(house: House) -> None:
    top = repository(house)
    answer = ask(house, CREATE, TASK_ID=TASK, REPOSITORY=str(top), ORCHESTRATOR_INSTANCE_ID="orc")
    path = os.path.realpath(top / ".worktrees" / f"implementation_task-{TASK}")
    assert answer.pop("created_at").endswith("Z")
    assert answer == {
        "success": True,
        "task_id": TASK,
        "worktree_path": path,
        "branch_name": f"roadmap-implementation_task-{TASK}",
        "base_branch": "roadmap",
        "git_commit_ref": git(top, "rev-parse", "roadmap"),
        "status": "created",
    }
    assert (Path(path) / "README").read_text() == "hello\n"
    [row] = sql(house, "SELECT task_id, worktree_path, branch_name, git_commit_ref, status,"
                " orchestrator_instance_id FROM orchestrator_state")  # fmt: skip
    assert row == (
        TASK, path, answer["branch_name"], answer["git_commit_ref"], "created", "orc",
    )  # fmt: skip


def test_from_within_a_worktree_the_next_lies_beside_it(house: House) -> None:
    repository(house)
    first = created(house)
    answer = ask(house, CREATE, TASK_ID="TASK-31-2", REPOSITORY=str(first))
    assert Path(answer["worktree_path"]).parent == first.parent


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"BASE_BRANCH": "nowhere"}, "invalid_base_branch"),
        ({"BRANCH_NAME": "roadmap"}, "branch_exists"),
        ({"BRANCH_NAME": "a b"}, "git_error"),
        ({"WORKTREE_PATH": "taken"}, "worktree_exists"),
        ({"REPOSITORY": "/"}, "git_error"),
    ],
)
def test_create_worktree_says_what_is_in_its_way(
    house: House, params: dict[str, str], error: str
) -> None:
    top = repository(house)
    (top / "taken").mkdir()
    (top / "taken" / "file").write_text("mine")
    answer = ask(house, CREATE, **{"TASK_ID": TASK, "REPOSITORY": str(top)} | params)
    assert (answer["success"], answer["error"]) == (False, error)
    assert branches(top) == ["roadmap"]
    assert (top / "taken" / "file").read_text() == "mine"
    assert sql(house, "SELECT * FROM orchestrator_state") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("TASK_ID", "../../x"), ("TASK_ID", "a/b"), ("REPOSITORY", "/no/such"), ("BASE_BRANCH", 1)],
)
def test_create_worktree_refuses_wrong_values_by_name(
    house: House, name: str, value: object
) -> None:
    top = repository(house)
    answer = ask(house, CREATE, **{"TASK_ID": TASK, "REPOSITORY": str(top)} | {name: value})
    assert (answer["error"], answer["parameter"]) == ("invalid_parameter", name)


# -- cleaning ------------------------------------------------------------------------------------


def test_O31_a_merged_worktree_goes_with_its_merged_branch(house: House) -> None:
    top = repository(house)
    path = created(house)
    (path / "work").write_text("x" * 5000)
    commit(path, "work")
    git(top, "merge", "--quiet", "--no-ff", "-m", "merge", f"roadmap-implementation_task-{TASK}")
    answer = cleanup(house)
    assert answer["success"] is True
    assert (answer["worktree_path"], answer["branch_deleted"]) == (str(path), True)
    assert answer["disk_space_freed_mb"] > 0
    assert not path.exists()
    assert branches(top) == ["roadmap"]
    assert status(house) == "cleaned"


def test_C24_what_is_not_merged_stays(house: House) -> None:
    top = repository(house)
    path = created(house)
    (path / "work").write_text("x")
    commit(path, "work")
    answer = cleanup(house)
    assert (answer["success"], answer["error"]) == (False, "not_merged")
    assert (path / "work").exists()
    assert len(branches(top)) == 2
    assert status(house) == "created"


def test_G38_without_VERIFY_MERGE_the_directory_goes_and_the_branch_stays(house: House) -> None:
    top = repository(house)
    path = created(house)
    (path / "work").write_text("x")
    tip = commit(path, "work")
    answer = cleanup(house, VERIFY_MERGE=False)
    assert (answer["success"], answer["branch_deleted"]) == (True, False)
    assert not path.exists()
    assert git(top, "rev-parse", answer["branch_name"]) == tip


@pytest.mark.parametrize("params", [{}, {"VERIFY_MERGE": False}])
def test_C24_what_is_not_committed_stays(house: House, params: dict[str, bool]) -> None:
    repository(house)
    path = created(house)
    (path / "work").write_text("x")
    answer = cleanup(house, **params)
    assert (answer["success"], answer["error"]) == (False, "uncommitted_changes")
    assert (path / "work").read_text() == "x"


def test_G38_by_force_it_is_saved_before_it_goes(house: House) -> None:
    top = repository(house)
    path = created(house)
    (path / "README").write_text("changed\n")
    (path / "new").write_text("untracked\n")
    answer = cleanup(house, FORCE_CLEANUP=True)
    assert answer["success"] is True
    assert not path.exists()
    assert rescued(top) == [answer["rescue"]]
    assert git(top, "show", f"{answer['rescue']}:README") == "changed"
    assert git(top, "show", f"{answer['rescue']}:new") == "untracked"


def test_C24_a_worktree_of_a_live_agent_stays_even_by_force(house: House) -> None:
    repository(house)
    path = created(house)
    make_task(house)
    agent = launched(house, TASK_ID=TASK, COMMAND=words())
    assert agent["success"] is True
    for force in (False, True):
        answer = cleanup(house, FORCE_CLEANUP=force)
        assert (answer["success"], answer["error"]) == (False, "still_in_use")
    assert path.exists()


def test_O31_a_kill_that_removes_the_worktree_says_so_in_orchestrator_state(house: House) -> None:
    repository(house)
    path = created(house)
    make_task(house)
    agent = launched(house, TASK_ID=TASK, COMMAND=words())["agent_id"]
    answer = kill(house, agent)
    assert (answer["success"], answer["cleanup"]["state"]) == (True, "removed")
    assert not path.exists()
    assert status(house) == "cleaned"


def test_C24_a_worktree_whose_task_has_not_begun_stays(house: House) -> None:
    """Nothing was committed in it yet, so that it looks merged."""
    repository(house)
    path = created(house)
    make_task(house)
    assert cleanup(house)["error"] == "still_in_use"
    assert path.exists()
    sql(house, "UPDATE orchestrator_task SET status = 'completed'")
    assert cleanup(house)["success"] is True


def test_a_task_without_a_worktree(house: House) -> None:
    answer = cleanup(house, "TASK-99-9")
    assert (answer["error"], answer["task_id"]) == ("worktree_not_found", "TASK-99-9")


def test_one_that_was_deleted_by_hand_is_forgotten_and_the_next_may_be_made(house: House) -> None:
    top = repository(house)
    shutil.rmtree(created(house))
    assert cleanup(house)["success"] is True
    assert status(house) == "cleaned"
    assert branches(top) == ["roadmap"]
    assert created(house).exists()


def test_all_at_once_skips_what_is_not_ready(house: House) -> None:
    repository(house)
    ready, dirty = created(house, "TASK-1-1"), created(house, "TASK-1-2")
    (dirty / "work").write_text("x")
    answer = ask(house, CLEANUP)
    assert (answer["success"], answer["worktrees_cleaned"]) == (True, 1)
    assert [one["worktree_path"] for one in answer["cleaned"]] == [str(ready)]
    assert [one["error"] for one in answer["skipped"]] == ["uncommitted_changes"]
    assert answer["disk_space_freed_mb"] >= 0
    assert (ready.exists(), dirty.exists()) == (False, True)


def test_list_candidates_says_who_is_ready_and_touches_nobody(house: House) -> None:
    repository(house)
    ready, dirty = created(house, "TASK-1-1"), created(house, "TASK-1-2")
    (dirty / "work").write_text("x")
    answer = ask(house, CLEANUP, ACTION="list_candidates")
    told = {one["task_id"]: one for one in answer["candidates"]}
    assert told["TASK-1-1"]["ready_for_cleanup"] is True
    assert "merged" in told["TASK-1-1"]["reason"]
    assert told["TASK-1-2"]["ready_for_cleanup"] is False
    assert "uncommitted" in told["TASK-1-2"]["reason"]
    assert (answer["total_candidates"], answer["ready_for_cleanup"]) == (2, 1)
    assert ready.exists()
    assert dirty.exists()


def test_a_dry_run_removes_nothing(house: House) -> None:
    repository(house)
    path = created(house)
    answer = ask(house, CLEANUP, DRY_RUN=True)
    assert (answer["dry_run"], answer["worktrees_cleaned"]) == (True, 0)
    assert [one["worktree_path"] for one in answer["cleaned"]] == [str(path)]
    assert path.exists()
    assert status(house) == "created"


def test_G38_git_is_never_told_to_forget(house: House) -> None:
    """An unmerged commit is found again by its id, long after its worktree went by force."""
    top = repository(house)
    path = created(house)
    (path / "work").write_text("x")
    tip = commit(path, "work")
    git(path, "checkout", "--quiet", "--detach")
    git(top, "branch", "-D", f"roadmap-implementation_task-{TASK}")
    assert cleanup(house, FORCE_CLEANUP=True)["success"] is True
    assert git(top, "cat-file", "-t", tip) == "commit"
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "--quiet", "--prune=now")
    assert git(top, "cat-file", "-t", tip) == "commit"
