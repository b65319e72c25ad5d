"""Worktrees are made and removed by git; a branch only goes when its work is elsewhere."""

from pathlib import Path

import pytest

from house import House
from quell.core.worktree import GitFailed
from worktrees.repo import REF, Repo, on_disk


def refused(code: str, call: object, *words: object, **options: object) -> str:
    with pytest.raises(GitFailed) as caught:
        call(*words, **options)  # type: ignore[operator]
    assert caught.value.code == code
    return str(caught.value)


def test_a_clean_one_goes_and_its_branch_stays(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.trees.remove(repo.tree(work), saved=False)
    assert (work.exists(), "refs/heads/work" in repo.refs()) == (False, True)
    assert str(work) not in repo.git("worktree", "list")


def test_unsaved_work_never_goes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    refused("uncommitted_changes", repo.trees.remove, repo.tree(work), saved=False)
    assert (work / "new.txt").exists()


def test_saved_work_goes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    tree = repo.tree(work)
    repo.trees.rescue(tree, REF, "Saved")
    repo.trees.remove(tree, saved=True)
    assert not work.exists()


def test_what_changed_after_it_was_saved_stays(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    tree = repo.tree(work)
    repo.trees.rescue(tree, REF, "Saved")
    (work / "new.txt").write_text("NEW")
    refused("still_in_use", repo.trees.remove, tree, saved=True)
    assert (work / "new.txt").read_text() == "NEW"


def test_the_main_checkout_and_a_locked_one_never_go(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("worktree", "lock", str(work))
    refused("git_error", repo.trees.remove, repo.tree(repo.main), saved=True)
    refused("still_in_use", repo.trees.remove, repo.tree(work), saved=True)
    assert work.exists()
    assert repo.main.exists()


def test_a_worktree_around_another_one_never_goes(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "inner/\n")
    work = repo.worktree()
    inner = repo.worktree("work/inner", "-b", "inner")
    (inner / "new.txt").write_text("new")
    refused("still_in_use", repo.trees.remove, repo.tree(work), saved=True)
    assert (inner / "new.txt").exists()


def test_only_the_record_of_the_deleted_one_is_pruned(house: House) -> None:
    repo = Repo(house)
    ones = [repo.worktree(f"repo/{name}", "-b", name) for name in ("one", "two")]
    for work in ones:
        for file in work.iterdir():
            file.unlink()
        work.rmdir()
    tree = repo.tree(ones[0])
    assert tree.worth_saving is False
    repo.trees.remove(tree, saved=False)
    assert repo.trees.registered(tree) == [str(ones[1])]


# -- made --------------------------------------------------------------------------------------


def test_a_new_worktree_on_a_new_branch(house: House) -> None:
    repo = Repo(house)
    path = repo.main / ".worktrees" / "task-1"
    tree = repo.trees.create(str(repo.main), str(path), "task-1", "main")
    assert (tree.top, tree.branch, tree.linked, tree.dirty) == (str(path), "task-1", True, False)
    assert tree.commit == repo.git("rev-parse", "main")


def test_each_reason_why_none_can_be_made_has_its_name(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    filled = house.root / "filled"
    filled.mkdir()
    (filled / "x").touch()
    make, main = repo.trees.create, str(repo.main)
    new = str(house.root / "new")
    refused("branch_exists", make, main, new, "work", "main")
    refused("worktree_exists", make, main, str(work), "other", "main")
    refused("worktree_exists", make, main, str(filled), "other", "main")
    refused("invalid_base_branch", make, main, new, "other", "nowhere")
    refused("invalid_base_branch", make, main, new, "other", "--force")
    refused("git_error", make, main, new, "-bad..name", "main")
    refused("git_error", make, str(filled), new, "other", "main")
    assert not Path(new).exists()
    assert "refs/heads/other" not in repo.refs()


def test_what_fails_half_way_leaves_neither_branch_nor_directory(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitattributes", "a.txt filter=gone\n")
    repo.git("config", "filter.gone.smudge", "false")
    repo.git("config", "filter.gone.required", "true")
    new = house.root / "new"
    refused("git_error", repo.trees.create, str(repo.main), str(new), "other", "main")
    assert (new.exists(), "refs/heads/other" in repo.refs()) == (False, False)
    assert str(new) not in repo.git("worktree", "list")


# -- branches ----------------------------------------------------------------------------------


def merged(repo: Repo, *how: str) -> str:
    work = repo.worktree()
    tip = repo.commit(work, "x.txt", "x\n")
    repo.git("merge", "-q", *how, "work")
    if how == ("--squash",):
        repo.git("commit", "-qm", "squashed")
    repo.trees.remove(repo.tree(work), saved=False)
    return tip


def test_a_merged_branch_goes(house: House) -> None:
    repo = Repo(house)
    merged(repo, "--no-ff")
    assert repo.trees.delete_merged_branch(str(repo.main), "work") == "main"
    assert repo.refs() == ["refs/heads/main"]


def test_a_squashed_branch_goes_and_its_commits_stay(house: House) -> None:
    repo = Repo(house)
    tip = merged(repo, "--squash")
    assert repo.trees.delete_merged_branch(str(repo.main), "work") == "main"
    assert repo.refs() == ["refs/heads/main", "refs/quell/merged/work"]
    assert repo.git("rev-parse", "refs/quell/merged/work") == tip


def test_a_branch_that_is_needed_stays(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    delete, main = repo.trees.delete_merged_branch, str(repo.main)
    refused("still_in_use", delete, main, "work")
    refused("still_in_use", delete, main, "main")
    refused("branch_not_found", delete, main, "never")
    repo.commit(work, "x.txt", "x\n")
    repo.trees.remove(repo.tree(work), saved=False)
    refused("not_merged", delete, main, "work")
    assert "refs/heads/work" in repo.refs()


def test_removing_does_not_reach_through_links(house: House) -> None:
    repo = Repo(house)
    outside = house.root / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    work = repo.worktree()
    (work / "link").symlink_to(outside)
    tree = repo.tree(work)
    repo.trees.rescue(tree, REF, "Saved")
    repo.trees.remove(tree, saved=True)
    assert on_disk(outside) == {b"precious": ("100644", b"precious")}
