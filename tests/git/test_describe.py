"""What a look at a checkout shows, with real git; and that not seeing is not clean."""

import os
from pathlib import Path

from house import House
from knell.core.process import Unknown
from knell.git.worktrees import Git
from repo import Repo


def test_a_fresh_worktree_is_clean_and_merged(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "deep").mkdir()
    tree = repo.tree(work / "deep")
    assert (tree.top, tree.linked, tree.branch) == (str(work), True, "work")
    assert (tree.dirty, tree.merged_into, tree.alone, tree.locked) == (False, "main", 0, None)


def test_the_main_checkout_is_known_as_such(house: House) -> None:
    repo = Repo(house)
    tree = repo.tree(repo.main)
    assert (tree.linked, tree.top, tree.common_dir) == (
        False,
        str(repo.main),
        str(repo.main / ".git"),
    )


def test_a_path_through_a_link_is_the_same_worktree(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (house.root / "alias").symlink_to(work)
    assert repo.tree(house.root / "alias") == repo.tree(work)


def test_no_repository_and_a_bare_one_have_no_checkout(house: House) -> None:
    repo = Repo(house, "bare.git", "--bare", commit=False)
    (house.root / "plain").mkdir()
    assert repo.trees.describe(str(house.root / "plain")) is None
    assert repo.trees.describe(str(repo.main)) is None


def test_every_kind_of_uncommitted_work_is_counted(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, "b.txt", "b\n")
    repo.commit(repo.main, ".gitignore", "build/\n*.log\n")
    work = repo.worktree()
    (work / "a.txt").write_text("changed\n")
    (work / "b.txt").unlink()
    (work / "new").mkdir()
    (work / "new" / "one").write_text("1")
    (work / "new" / "two").write_text("2")
    (work / "build" / "deep").mkdir(parents=True)
    (work / "build" / "deep" / "x").write_text("x")
    (work / "y.log").write_text("y")
    tree = repo.tree(work)
    assert (tree.changed, tree.untracked, tree.ignored, tree.dirty) == (2, 2, 2, True)


def test_settings_that_hide_work_are_seen_through(house: House) -> None:
    repo = Repo(house)
    repo.git("config", "status.showUntrackedFiles", "no")
    repo.git("config", "core.ignoreStat", "true")
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    assert repo.tree(work).untracked == 1


def test_files_that_git_must_take_for_unchanged_are_looked_at(house: House) -> None:
    """`git status` says nothing of them, and `git worktree remove` deletes them."""
    repo = Repo(house)
    repo.commit(repo.main, "b.txt", "b\n")
    work = repo.worktree()
    repo.git("update-index", "--assume-unchanged", "a.txt", cwd=work)
    repo.git("update-index", "--skip-worktree", "b.txt", cwd=work)
    assert not repo.tree(work).dirty
    (work / "a.txt").write_text("local\n")
    (work / "b.txt").write_text("local\n")
    assert repo.git("status", "--porcelain", cwd=work) == ""
    assert repo.tree(work).changed == 2


def test_a_sparse_checkout_misses_nothing(house: House) -> None:
    repo = Repo(house)
    (repo.main / "lib").mkdir()
    repo.commit(repo.main, "lib/b.txt", "b\n")
    work = repo.worktree()
    repo.git("sparse-checkout", "set", "--cone", "other", cwd=work)
    assert not (work / "lib").exists()
    assert not repo.tree(work).dirty


def test_the_callers_own_git_state_does_not_lead_astray(house: House) -> None:
    """A hook of another repository may be what runs knell."""
    repo = Repo(house)
    other = Repo(house, "other")
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    astray = {
        "GIT_DIR": str(other.main / ".git"),
        "GIT_WORK_TREE": str(other.main),
        "GIT_INDEX_FILE": str(other.main / ".git" / "index"),
        "GIT_CONFIG_PARAMETERS": "'status.showuntrackedfiles'='no'",
    }
    found = Git(repo.env | astray).describe(str(work))
    assert found == repo.tree(work)


def test_a_look_writes_nothing(house: House) -> None:
    """Also not the refreshed index, which would need a lock that the agent may want."""
    repo = Repo(house)
    work = repo.worktree()
    os.utime(work / "a.txt", (1, 1))
    index = Path(repo.tree(work).git_dir) / "index"
    before = index.stat().st_mtime_ns, index.read_bytes()
    repo.tree(work)
    assert (index.stat().st_mtime_ns, index.read_bytes()) == before


def test_no_hook_and_no_monitor_of_the_repository_runs(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    trap = house.root / "sprung"
    script = house.root / "trap"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    hooks = repo.main / ".git" / "hooks"
    for name in ("reference-transaction", "post-checkout", "post-index-change"):
        (hooks / name).write_bytes(script.read_bytes())
        (hooks / name).chmod(0o755)
    repo.git("config", "core.fsmonitor", str(script))
    (work / "new.txt").write_text("new")
    repo.rescue(work)
    repo.trees.create(str(repo.main), str(house.root / "two"), "two", "main")
    assert not trap.exists()


# -- merged or not -----------------------------------------------------------------------------


def test_an_unmerged_branch_and_how_much_is_only_there(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "x.txt", "x\n")
    repo.commit(work, "x.txt", "xx\n")
    tree = repo.tree(work)
    assert (tree.merged_into, tree.alone) == ("", 2)
    repo.git("tag", "done", "work~1")
    assert repo.tree(work).alone == 1


def test_merged_by_history(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "x.txt", "x\n")
    repo.git("merge", "-q", "--no-ff", "work")
    tree = repo.tree(work)
    assert (tree.merged_into, tree.squashed) == ("main", False)


def test_merged_by_squash_also_when_the_base_went_on(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "x.txt", "x\n")
    repo.commit(work, "x.txt", "xx\n")
    repo.git("merge", "-q", "--squash", "work")
    repo.commit(repo.main, "y.txt", "y\n")
    tree = repo.tree(work)
    assert (tree.merged_into, tree.squashed, tree.alone) == ("main", True, 2)
    repo.commit(work, "z.txt", "z\n")
    assert repo.tree(work).merged_into == ""


def test_merged_where_the_main_checkout_is_or_the_remote_points(house: House) -> None:
    repo = Repo(house)
    repo.git("checkout", "-q", "-b", "release")
    work = repo.worktree()
    repo.commit(work, "x.txt", "x\n")
    repo.git("merge", "-q", "--no-ff", "work")
    assert repo.tree(work).merged_into == "release"
    repo.git("checkout", "-q", "main")
    assert repo.tree(work).merged_into == ""
    repo.git("update-ref", "refs/remotes/origin/trunk", "release")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert repo.tree(work).merged_into == "origin/HEAD"


def test_a_branch_is_not_merged_into_itself(house: House) -> None:
    repo = Repo(house)
    repo.git("checkout", "-q", "-b", "elsewhere")
    work = house.root / "work"
    repo.git("worktree", "add", "-q", str(work), "main")
    repo.commit(work, "x.txt", "x\n")
    assert (repo.tree(work).branch, repo.tree(work).merged_into) == ("main", "")


def test_a_detached_head_tells_what_nobody_holds(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("work", "--detach")
    assert (repo.tree(work).branch, repo.tree(work).alone) == ("", 0)
    repo.commit(work, "x.txt", "x\n")
    tree = repo.tree(work)
    assert (tree.alone, tree.merged_into, tree.dirty, tree.worth_saving) == (1, "", False, True)


def test_refs_that_go_with_a_worktree_or_a_bisect_hold_nothing(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("work", "--detach")
    repo.commit(work, "x.txt", "x\n")
    repo.git("update-ref", "refs/worktree/mine", "HEAD", cwd=work)
    repo.git("update-ref", "refs/bisect/bad", "HEAD", cwd=work)
    repo.git("update-ref", "refs/bisect/good", repo.tree(work).commit)  # of the main checkout
    assert repo.tree(work).alone == 1


# -- in the middle of something ----------------------------------------------------------------


def conflicted(repo: Repo) -> Path:
    work = repo.worktree()
    repo.commit(work, "a.txt", "theirs\n")
    repo.commit(repo.main, "a.txt", "ours\n")
    return work


def test_in_the_middle_of_a_rebase(house: House) -> None:
    repo = Repo(house)
    work = conflicted(repo)
    repo.git("rebase", "main", cwd=work, check=False)
    tree = repo.tree(work)
    assert (tree.underway, tree.conflicts, tree.dirty) == ("rebase", 1, True)


def test_in_the_middle_of_a_merge_a_pick_and_a_search(house: House) -> None:
    repo = Repo(house)
    work = conflicted(repo)
    repo.git("merge", "main", cwd=work, check=False)
    assert repo.tree(work).underway == "merge"
    repo.git("merge", "--abort", cwd=work)
    repo.git("cherry-pick", "main", cwd=work, check=False)
    assert repo.tree(work).underway == "cherry-pick"
    repo.git("cherry-pick", "--abort", cwd=work)
    repo.git("bisect", "start", cwd=work)
    assert repo.tree(work).underway == "bisect"


def test_no_commit_yet(house: House) -> None:
    repo = Repo(house, commit=False)
    (repo.main / "first.txt").write_text("1")
    tree = repo.tree(repo.main)
    assert (tree.commit, tree.branch, tree.untracked, tree.merged_into) == ("", "main", 1, "")


# -- locked, gone, broken ----------------------------------------------------------------------


def test_locked_with_and_without_a_reason(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("worktree", "lock", str(work))
    assert repo.tree(work).locked == ""
    repo.git("worktree", "unlock", str(work))
    repo.git("worktree", "lock", "--reason", "on a stick", str(work))
    assert repo.tree(work).locked == "on a stick"


def test_a_deleted_directory_is_known_by_the_repository_above(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("repo/.worktrees/one", "-b", "one")
    (work / "staged.txt").write_text("staged")
    repo.git("add", "staged.txt", cwd=work)
    _delete(work)
    tree = repo.tree(work)
    assert (tree.gone, tree.changed, tree.branch) == (True, 1, "one")


def test_a_deleted_directory_of_nobody_is_nothing(house: House) -> None:
    repo = Repo(house)
    assert repo.trees.describe(str(house.root / "never")) is None


def test_a_missing_parent_may_be_a_drive_that_is_not_mounted(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("repo/drive/one", "-b", "one")
    _delete(work)
    work.parent.rmdir()
    assert "not mounted" in repo.unknown(work)


def test_a_worktree_without_its_git_file_is_not_the_checkout_above_it(house: House) -> None:
    """Git walks up, and would remove or judge the main checkout."""
    repo = Repo(house)
    work = repo.worktree("repo/.worktrees/one", "-b", "one")
    (work / ".git").unlink()
    assert "without its .git file" in repo.unknown(work)


def test_a_broken_link_to_the_repository_is_not_the_absence_of_one(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / ".git").write_text("gitdir: /nowhere/at/all\n")
    assert "not a git repository" in repo.unknown(work)


def test_a_torn_index_is_not_clean(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    index = Path(repo.tree(work).git_dir) / "index"
    index.write_bytes(b"")
    assert "index" in repo.unknown(work)
    index.unlink()
    assert repo.tree(work).dirty


def test_no_git_at_all_is_not_clean(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    found = Git(repo.env | {"PATH": str(house.root)}).describe(str(work))
    assert isinstance(found, Unknown)


# -- repositories in repositories --------------------------------------------------------------


def test_repositories_inside_are_named_wherever_they_hide(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "hidden/\n")
    work = repo.worktree()
    for name in ("open", "hidden/deep"):
        (work / name).mkdir(parents=True)
        repo.git("init", "-q", cwd=work / name)
    assert set(repo.tree(work).nested) == {"open", "hidden/deep"}


def test_a_submodule_with_anything_in_it_is_named(house: House) -> None:
    repo, other = Repo(house), Repo(house, "other")
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.main), "lib"
    )
    repo.git("commit", "-qm", "lib")
    work = repo.worktree()
    assert repo.tree(work).nested == ()
    (work / "lib" / "work.txt").write_text("git status does not see this")
    assert repo.git("status", "--porcelain", cwd=work) == ""
    assert repo.tree(work).nested == ("lib",)


def test_another_worktree_inside_is_named(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "inner/\n")
    work = repo.worktree()
    inner = repo.worktree("work/inner", "-b", "inner")
    tree = repo.tree(work)
    assert (tree.within, tree.nested) == ((str(inner),), ())


def _delete(path: Path) -> None:
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
