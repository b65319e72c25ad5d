"""What clean-up takes for stored is stored, and stays so; and what is printed brings it back."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from house import House
from knell.core.ports.git import GitFailed
from knell.core.worktree import Cleanup
from repo import REF, Repo, cleaned, on_disk


def test_P48_a_commit_that_only_an_unfinished_squash_knows_is_saved(house: House) -> None:
    """`git merge --squash --autostash` puts work aside until the commit is made."""
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "b.txt", "b\n")
    repo.commit(work, "a.txt", "ours\n")
    repo.git("checkout", "-q", "-b", "other")
    repo.commit(repo.main, "a.txt", "theirs\n")
    (work / "b.txt").write_text("precious\n")
    repo.git("merge", "-q", "--squash", "--autostash", "other", cwd=work, check=False)
    (work / "a.txt").write_text("resolved\n")
    repo.git("add", "a.txt", cwd=work)
    stash = (repo.main / ".git/worktrees/work/MERGE_AUTOSTASH").read_text().strip()
    assert cleaned(house, work, Cleanup.FORCE).state == "removed"
    repo.git("gc", "-q", "--prune=now")
    assert repo.blob(f"{stash}:b.txt") == b"precious\n"


@pytest.mark.parametrize("what", ["blob", "tree", "tag"])
def test_P48_a_ref_of_its_own_to_anything_but_a_commit_keeps_it(house: House, what: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("tag", "-am", "a tag", "tagged")
    names = {"blob": "HEAD:a.txt", "tree": "HEAD^{tree}", "tag": "tagged"}
    repo.git("update-ref", "refs/worktree/own", repo.git("rev-parse", names[what]), cwd=work)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, f"refs/worktree/own names a {what}" in told.why) == ("kept", True)


def object_file(repo: Repo, name: str) -> Path:
    name = repo.git("rev-parse", name)
    return repo.main / ".git" / "objects" / name[:2] / name[2:]


@pytest.mark.parametrize("name", ["{}:new.txt", "{}^2:staged.txt", "{}^2", "{}^2^{{tree}}"])
def test_P48_what_is_pruned_after_it_was_saved_keeps_the_worktree(house: House, name: str) -> None:
    """`git gc --prune=now` deletes objects that were stored before their ref was made."""
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    (work / "staged.txt").write_text("staged")
    repo.git("add", "staged.txt", cwd=work)
    (work / "staged.txt").write_text("more")
    tree, files = repo.tree(work), on_disk(work)
    saved = repo.trees.rescue(tree, REF, "Saved")

    def prune(_: str) -> Sequence[str]:
        object_file(repo, name.format(REF)).unlink()
        return ()

    with pytest.raises(GitFailed):
        repo.trees.remove(tree, saved, prune)
    assert on_disk(work) == files


def test_P48_while_git_gc_runs_nothing_goes(house: House) -> None:
    """It may have begun before the rescue had a ref."""
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    note = repo.main / ".git" / "gc.pid"
    note.write_text(f"{os.getpid()} here")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, "git gc is at work" in told.why) == ("kept", True)
    with subprocess.Popen(["true"]) as ended:
        pass
    note.write_text(f"{ended.pid} here")
    assert cleaned(house, work, Cleanup.FORCE).state == "removed"


def test_P48_a_worktree_from_which_the_repository_borrows_stays(house: House) -> None:
    """Git stores nothing twice: what lies in a borrowed folder would go with the worktree."""
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "node_modules/\n")
    work = repo.worktree()
    (work / "new.txt").write_text("precious\n")
    lent = work / "node_modules" / "objects"
    lent.mkdir(parents=True)
    own = repo.main / ".git" / "objects"
    (own / "info" / "alternates").write_text(f"{lent}\n")
    env = {"GIT_OBJECT_DIRECTORY": str(lent), "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(own)}
    subprocess.run(
        ["git", "hash-object", "-w", "new.txt"], cwd=work, env=repo.env | env, check=True
    )
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, f"borrows objects from {lent}" in told.why) == ("kept", True)


def test_P48_what_is_tracked_in_a_cache_is_compared_too(house: House) -> None:
    repo = Repo(house)
    (repo.main / "node_modules").mkdir()
    repo.commit(repo.main, "node_modules/patched.js", "1\n")
    repo.commit(repo.main, ".gitignore", "node_modules/\n")
    work = repo.worktree()
    (work / "node_modules" / "made.js").write_text("made")
    tree = repo.tree(work)

    def write(aside: str) -> Sequence[str]:
        (Path(aside) / "node_modules" / "patched.js").write_text("late")
        return ()

    with pytest.raises(GitFailed, match="not saved as it is now"):
        repo.trees.remove(tree, None, write)
    assert (work / "node_modules" / "patched.js").read_text() == "late"
    assert (work / "node_modules" / "made.js").exists()


@pytest.mark.parametrize("how", ["replace", "grafts"])
def test_P48_history_that_an_agent_made_up_merges_nothing(house: House, how: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    tip = repo.commit(work, "x.txt", "x\n")
    main = repo.commit(repo.main, "y.txt", "y\n")
    if how == "replace":
        repo.git("replace", "--graft", "main", "main~1", tip)
    else:
        (repo.main / ".git" / "info" / "grafts").write_text(f"{main} {tip}\n")
    told = cleaned(house, work)
    assert (told.state, "is not merged" in told.why, "hint" in told.why) == ("kept", True, False)


def test_P48_a_split_index_is_no_sign_of_work(house: House) -> None:
    """Git renews its time by looking: such a worktree was neither saved nor removed."""
    repo = Repo(house)
    work = repo.worktree()
    repo.git("config", "core.splitIndex", "true")
    repo.git("update-index", "--split-index", cwd=work)
    repo.commit(work, "b.txt", "b\n")
    for path in (repo.main / ".git" / "worktrees" / "work").glob("sharedindex.*"):
        os.utime(path, (1, 1))
    (work / "new.txt").write_text("new")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, told.failed) == ("removed", ())
    assert not list((repo.main / ".git").glob("sharedindex.*"))


def test_P48_names_that_differ_by_case_are_both_saved(house: House) -> None:
    """The setting of a disk that does not tell them apart hid the second."""
    repo = Repo(house)
    work = repo.worktree()
    repo.git("config", "core.ignoreCase", "true")
    (work / "A.txt").write_text("upper\n")
    told = cleaned(house, work, Cleanup.FORCE)
    assert repo.saved(told.rescue)[b"A.txt"] == ("100644", b"upper\n")


@pytest.mark.needs_root
def test_P48_a_file_that_cannot_be_deleted_hides_no_deletion(house: House) -> None:
    repo = Repo(house)
    (repo.main / "deep").mkdir()
    commit = repo.commit(repo.main, "deep/stuck.txt", "stuck\n")
    work = repo.worktree()
    subprocess.run(["chattr", "+i", work / "deep" / "stuck.txt"], check=True)
    try:
        told = cleaned(house, work)
    finally:
        subprocess.run(["chattr", "-i", work / "deep" / "stuck.txt"], check=True)
    assert told.state == "kept"
    assert "deep/stuck.txt cannot be deleted (Operation not permitted)" in told.why
    assert f"files that were deleted before it are in the commit {commit}" in told.why


@pytest.mark.needs_root
def test_P48_a_write_protected_directory_of_an_ordinary_user_goes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    work.chmod(0o500)
    subprocess.run(["chown", "-R", "nobody", house.root], check=True)
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(65534, 65534, 65534)
            repo.trees.remove(repo.tree(work), None)
        finally:
            os._exit(work.exists())
    assert (os.waitpid(child, 0)[1], work.exists()) == (0, False)


# -- the way back --------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["commit", "commit and file", "file", "orphan"])
def test_P48_the_printed_command_brings_everything_back(house: House, change: str) -> None:
    """`git stash apply` knows nothing of commits, and no rescue without two parents."""
    repo = Repo(house)
    work = repo.worktree()
    if "commit" in change:
        repo.git("checkout", "-q", "--detach", cwd=work)
        repo.commit(work, "x.txt", "x\n")
    if change == "orphan":
        repo.git("checkout", "-q", "--orphan", "fresh", cwd=work)
    if change != "commit":
        (work / "new.txt").write_text("new\n")
    files = on_disk(work)
    told = cleaned(house, work, Cleanup.FORCE)
    assert told.state == "removed"
    words = told.way_back("luna").split()
    repo.git(*words[1:])
    back = house.root / "luna-back"
    assert on_disk(back if back.exists() else repo.main) == files
