"""What lies in a worktree's own git folder only, in any shape, does not go with it."""

from pathlib import Path

import pytest

from house import House
from knell.core.ports.git import Tree
from knell.core.process import Unknown
from knell.core.worktree import Cleanup, decide
from repo import REF, Repo


def test_P31_a_merge_of_notes_that_is_not_finished_keeps_the_worktree(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("notes", "add", "-m", "one", "HEAD", cwd=work)
    repo.git("notes", "--ref=other", "add", "-m", "two", "HEAD", cwd=work)
    repo.git("notes", "merge", "other", cwd=work, check=False)
    for mode in (Cleanup.SAFE, Cleanup.FORCE):
        decision = decide(repo.tree(work), mode)
        assert (decision.remove, decision.why) == (False, "it is in the middle of a merge of notes")


@pytest.mark.parametrize("name", ["hooks", "logs", "refs", "objects", "lib/refs"])
def test_P31_a_submodule_of_any_name_is_saved(house: House, name: str) -> None:
    """Git's own folders have these names too."""
    repo = Repo(house)
    repo.git("init", "-q", "inner", cwd=house.root)
    repo.git("commit", "-q", "--allow-empty", "-m", "inner", cwd=house.root / "inner")
    work = repo.worktree()
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
    repo.git(*add, str(house.root / "inner"), name, cwd=work)
    repo.git("commit", "-qm", "with a submodule", cwd=work)
    repo.git("commit", "-q", "--allow-empty", "-m", "unpushed", cwd=work / name)
    repo.git("submodule", "deinit", "-q", "--force", name, cwd=work)
    assert repo.tree(work).modules == (f"modules/{name}",)


def test_P31_a_commit_that_a_log_only_mentions_is_saved(house: House) -> None:
    """Git keeps what the entries of a reflog are about, and not what their messages talk of."""
    repo = Repo(house)
    work = repo.worktree()
    repo.git("checkout", "-q", "--detach", cwd=work)
    lost = repo.commit(work, "lost.txt", "lost\n")
    repo.git("checkout", "-q", "work", cwd=work)
    repo.git("commit", "-q", "--allow-empty", "-m", f"Instead of {lost}", cwd=work)
    assert repo.tree(work).lost_commits == (lost,)


def test_P31_a_head_that_names_a_ref_of_the_worktree_is_no_branch(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("symbolic-ref", "HEAD", "refs/worktree/mine", cwd=work)
    own = repo.commit(work, "own.txt", "own\n")
    tree = repo.tree(work)
    assert (tree.commit, tree.branch, tree.only_here) == (own, "", True)
    rescue = repo.rescue(work)
    repo.trees.remove(tree, rescue)
    assert own in repo.git("rev-list", "--all").split()


def test_P31_so_it_is_where_the_directory_is_deleted(house: House) -> None:
    repo = Repo(house)
    work = repo.root / "repo" / "work"
    repo.git("worktree", "add", "-q", "-b", "work", str(work))
    repo.git("symbolic-ref", "HEAD", "refs/worktree/mine", cwd=work)
    own = repo.commit(work, "own.txt", "own\n")
    repo.git("clean", "-qfdx", cwd=work)
    work.rename(house.root / "elsewhere")
    tree = repo.trees.describe(str(work))
    assert isinstance(tree, Tree)
    assert (tree.gone, tree.commit, tree.branch) == (True, own, "")
    assert tree.only_here


def test_P31_a_reflog_that_cannot_be_read_keeps_the_worktree(house: House) -> None:
    """A newer git may keep refs and their logs in one table for each worktree."""
    repo = Repo(house)
    work = repo.worktree()
    (Path(repo.tree(work).git_dir) / "reftable").mkdir()
    found = repo.trees.describe(str(work), raw=True)
    assert isinstance(found, Unknown)
    assert "reftable" in found.why


def test_P31_before_the_first_commit_of_a_repository_with_longer_names(house: House) -> None:
    """A file was staged and deleted: what was staged is saved."""
    repo = Repo(house, "repo", "--object-format=sha256")
    work = repo.worktree()
    repo.git("checkout", "-q", "--orphan", "new", cwd=work)
    (work / "staged.txt").write_text("staged\n")
    repo.git("add", "staged.txt", cwd=work)
    (work / "staged.txt").unlink()
    repo.rescue(work)
    assert repo.saved(f"{REF}^2")[b"staged.txt"] == ("100644", b"staged\n")
