"""Worktrees are made and removed by git; a branch only goes when its work is elsewhere."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from house import House
from knell.core.ports.git import GitFailed, Rescue, Tree
from knell.git.raw_files import aside_of
from repo import REF, Repo, on_disk


def refused(code: str, call: object, *words: object, **options: object) -> str:
    with pytest.raises(GitFailed) as caught:
        call(*words, **options)  # type: ignore[operator]
    assert caught.value.problem == code
    return str(caught.value)


def test_a_clean_one_goes_and_its_branch_stays(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.trees.remove(repo.tree(work), None)
    assert (work.exists(), "refs/heads/work" in repo.refs()) == (False, True)
    assert str(work) not in repo.git("worktree", "list")


def test_unsaved_work_never_goes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    refused("uncommitted_changes", repo.trees.remove, repo.tree(work), None)
    assert (work / "new.txt").exists()


def test_saved_work_goes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    tree = repo.tree(work)
    saved = repo.trees.rescue(tree, REF, "Saved")
    repo.trees.remove(tree, saved)
    assert not work.exists()


def test_what_changed_after_it_was_saved_stays(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    tree = repo.tree(work)
    saved = repo.trees.rescue(tree, REF, "Saved")
    (work / "new.txt").write_text("NEW")
    refused("uncommitted_changes", repo.trees.remove, tree, saved)
    assert (work / "new.txt").read_text() == "NEW"


def test_the_main_checkout_and_a_locked_one_never_go(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("worktree", "lock", str(work))
    refused("git_error", repo.trees.remove, repo.tree(repo.main), None)
    refused("still_in_use", repo.trees.remove, repo.tree(work), None)
    assert work.exists()
    assert repo.main.exists()


def test_a_worktree_around_another_one_never_goes(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "inner/\n")
    work = repo.worktree()
    inner = repo.worktree("work/inner", "-b", "inner")
    (inner / "new.txt").write_text("new")
    refused("still_in_use", repo.trees.remove, repo.tree(work), None)
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
    repo.trees.remove(tree, None)
    assert repo.trees.registered(tree) == [str(ones[1])]


# -- moved aside -------------------------------------------------------------------------------


def filled(repo: Repo) -> tuple[Path, Tree, Rescue]:
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    (work / "deep").mkdir()
    (work / "deep" / "more.txt").write_text("more")
    tree = repo.tree(work)
    return work, tree, repo.trees.rescue(tree, REF, "Saved")


def asides(repo: Repo) -> list[Path]:
    return list(repo.root.glob(".knell-removing-*"))


def test_P13_a_process_that_is_inside_gets_its_directory_back(house: House) -> None:
    repo = Repo(house)
    work, tree, saved = filled(repo)
    before = on_disk(work)
    told = refused("still_in_use", repo.trees.remove, tree, saved, lambda _: ("vim (pid 7)",))
    assert "vim (pid 7)" in told
    assert (on_disk(work), asides(repo)) == (before, [])
    assert repo.git("status", "--porcelain", cwd=work) == "?? deep/\n?? new.txt"


@pytest.mark.parametrize("late", ["late.txt", "new.txt", "deep/late.txt", "node_modules/.git/x"])
def test_P13_what_is_written_after_the_last_look_is_kept(house: House, late: str) -> None:
    repo = Repo(house)
    work, tree, saved = filled(repo)

    def write(aside: str) -> Sequence[str]:
        (Path(aside) / late).parent.mkdir(parents=True, exist_ok=True)
        (Path(aside) / late).write_text("late")
        return ()

    with pytest.raises(GitFailed, match=r"not saved as it is now|repository of its own"):
        repo.trees.remove(tree, saved, write)
    assert ((work / late).read_text(), asides(repo)) == ("late", [])


def test_P13_what_is_made_at_the_old_place_meanwhile_stays(house: House) -> None:
    repo = Repo(house)
    work, tree, saved = filled(repo)

    def make(_: str) -> Sequence[str]:
        work.mkdir()
        (work / "late.txt").write_text("late")
        return ()

    told = refused("still_in_use", repo.trees.remove, tree, saved, make)
    assert "has made" in told
    assert on_disk(work) == {b"late.txt": ("100644", b"late")}
    assert str(work) not in repo.git("worktree", "list")


def test_P13_where_both_changed_both_are_kept_and_it_is_said_where(house: House) -> None:
    repo = Repo(house)
    work, tree, saved = filled(repo)

    def make(aside: str) -> Sequence[str]:
        work.mkdir()
        (work / "late.txt").write_text("late")
        (Path(aside) / "new.txt").write_text("later")
        return ()

    told = refused("still_in_use", repo.trees.remove, tree, saved, make)
    [aside] = asides(repo)
    assert str(aside) in told
    assert ((work / "late.txt").read_text(), (aside / "new.txt").read_text()) == ("late", "later")


def test_P13_a_commit_that_is_made_after_the_save_keeps_it(house: House) -> None:
    repo = Repo(house)
    work, tree, saved = filled(repo)

    def commit(aside: str) -> Sequence[str]:
        repo.git("commit", "-q", "--allow-empty", "-m", "late", cwd=Path(aside))
        return ()

    refused("still_in_use", repo.trees.remove, tree, saved, commit)
    assert repo.git("log", "-1", "--format=%s", cwd=work) == "late"


@pytest.mark.parametrize("deleted", [(), ("a.txt",), ("a.txt", "new.txt", "deep/more.txt")])
def test_P13_a_removal_that_was_killed_is_finished_by_the_next(
    house: House, deleted: tuple[str, ...]
) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "node_modules/\n")
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    for name in ("deep/more.txt", "node_modules/x.js"):
        (work / name).parent.mkdir()
        (work / name).write_text("more")
    tree = repo.tree(work)
    saved = repo.trees.rescue(tree, REF, "Saved")

    def die(aside: str) -> Sequence[str]:
        for name in deleted:
            (Path(aside) / name).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
        return ()

    child = os.fork()
    if child == 0:
        repo.trees.remove(tree, saved, die)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert (work.exists(), len(asides(repo))) == (False, 1)
    left = repo.tree(work)
    assert (left.gone, left.top) == (True, str(work))
    repo.trees.remove(left, None)
    assert (work.exists(), asides(repo)) == (False, [])
    assert str(work) not in repo.git("worktree", "list")


def test_P13_a_killed_removal_gives_back_what_came_meanwhile(house: House) -> None:
    repo = Repo(house)
    work, tree, saved = filled(repo)
    child = os.fork()
    if child == 0:
        repo.trees.remove(tree, saved, lambda _: os.kill(os.getpid(), signal.SIGKILL) or ())
    os.waitpid(child, 0)
    [aside] = asides(repo)
    (aside / "late.txt").write_text("late")
    refused("uncommitted_changes", repo.trees.remove, repo.tree(work), None)
    assert ((work / "late.txt").read_text(), asides(repo)) == ("late", [])


def test_P13_a_link_in_the_place_of_the_worktree_leads_nowhere(house: House) -> None:
    """The main checkout has the same files with the same bytes, and would pass for it."""
    repo = Repo(house)
    work = repo.worktree()
    tree = repo.tree(work)
    work.rename(house.root / "elsewhere")
    work.symlink_to(repo.main)
    before = on_disk(repo.main)
    refused("still_in_use", repo.trees.remove, tree, None)
    assert (work.is_symlink(), on_disk(repo.main)) == (True, before)
    work.unlink()
    (house.root / "copy").mkdir()
    (house.root / "copy" / "a.txt").write_text("a\n")
    work.symlink_to(house.root / "copy")
    refused("still_in_use", repo.trees.remove, tree, None)
    assert (house.root / "copy" / "a.txt").exists()


def test_P13_a_directory_in_the_place_of_the_worktree_stays(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    tree = repo.tree(work)
    work.rename(house.root / "elsewhere")
    work.mkdir()
    (work / "a.txt").write_text("a\n")
    refused("still_in_use", repo.trees.remove, tree, None)
    assert ((work / "a.txt").exists(), (house.root / "elsewhere" / "a.txt").exists()) == (True,) * 2


@pytest.mark.parametrize("place", ["repo/sub", "work"])
def test_P13_an_empty_directory_that_a_killed_removal_left_is_harmless(
    house: House, place: str
) -> None:
    """Without its .git file, git would take it for a part of the repository around it."""
    repo = Repo(house)
    work = repo.worktree(place, "-b", "work")
    tree = repo.tree(work)
    work.rename(aside_of(str(work)))
    for file in (".git", "a.txt"):
        (Path(aside_of(str(work))) / file).unlink()
    left = repo.trees.describe(str(work))
    if place == "work":
        assert left is None
    else:
        assert isinstance(left, Tree)
        assert left.git_dir == tree.git_dir
        (Path(tree.git_dir) / "knell-removing").write_text('{"commit": "HEAD", "left_out": []}')
        repo.trees.remove(left, None)
        assert not Path(tree.git_dir).exists()
        assert asides(repo) == []
    assert repo.git("status", "--porcelain") == ""
    assert (repo.main / ".git" / "HEAD").exists()


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
    repo.trees.remove(repo.tree(work), None)
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
    assert repo.refs() == ["refs/heads/main", "refs/knell/merged/work"]
    assert repo.git("rev-parse", "refs/knell/merged/work") == tip


def test_a_branch_that_is_needed_stays(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    delete, main = repo.trees.delete_merged_branch, str(repo.main)
    refused("still_in_use", delete, main, "work")
    refused("still_in_use", delete, main, "main")
    refused("branch_not_found", delete, main, "never")
    repo.commit(work, "x.txt", "x\n")
    repo.trees.remove(repo.tree(work), None)
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
    saved = repo.trees.rescue(tree, REF, "Saved")
    repo.trees.remove(tree, saved)
    assert on_disk(outside) == {b"precious": ("100644", b"precious")}
