"""Uncommitted work is saved byte for byte, and nothing of the worktree is touched by that."""

import os
from pathlib import Path

import pytest

from house import House
from knell.core.ports.git import GitFailed
from repo import REF, Repo, on_disk


def names(repo: Repo, commit: str) -> set[bytes]:
    return set(repo.saved(commit))


def test_changes_deletions_and_new_files_are_in_the_commit(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, "b.txt", "b\n")
    repo.commit(repo.main, "c.txt", "c\n")
    work = repo.worktree()
    (work / "a.txt").write_text("changed\n")
    (work / "b.txt").unlink()
    (work / "new").mkdir()
    (work / "new" / "one.txt").write_text("1")
    rescue = repo.rescue(work)
    assert (rescue.ref, rescue.paths) == (REF, 3)
    assert repo.saved(rescue.commit) == on_disk(work)
    assert repo.git("rev-parse", f"{REF}^1") == repo.tree(work).commit


def test_the_worktree_its_index_and_its_branch_stay_as_they_are(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "a.txt").write_text("staged\n")
    repo.git("add", "a.txt", cwd=work)
    (work / "a.txt").write_text("not staged\n")
    (work / "new.txt").write_text("new\n")
    index = Path(repo.tree(work).git_dir) / "index"
    refs = repo.refs()

    def all_of_it() -> tuple[object, ...]:
        look = repo.git("status", "--porcelain=v2", "--branch", cwd=work)
        return on_disk(work), index.read_bytes(), repo.git("stash", "list"), look

    before = all_of_it()
    repo.rescue(work)
    assert all_of_it() == before
    assert repo.refs() == sorted([*refs, REF])


def test_what_was_staged_is_the_second_parent(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "a.txt").write_text("staged\n")
    (work / "b.txt").write_text("staged and deleted\n")
    repo.git("add", "--all", cwd=work)
    (work / "a.txt").write_text("later\n")
    (work / "b.txt").unlink()
    rescue = repo.rescue(work)
    assert repo.saved(rescue.commit) == {b"a.txt": ("100644", b"later\n")}
    assert repo.saved(f"{rescue.commit}^2") == {
        b"a.txt": ("100644", b"staged\n"),
        b"b.txt": ("100644", b"staged and deleted\n"),
    }


def evil(work: Path) -> None:
    """Names and kinds of files that break careless tools."""
    root = os.fsencode(work)
    for name in (
        b"new\nline",
        b'"quoted"',
        b"back\\slash",
        b"tab\there",
        b"half\xff\xe2",
        b" blanks ",
        b"-rf",
        b":(top)magic",
        b"*.txt",
        b"git~1",
        "schön日本".encode(),
        b"x" * 255,
    ):
        Path(os.fsdecode(os.path.join(root, name))).write_bytes(name)
    (work / "empty").touch()
    (work / "nothing in it").mkdir()
    (work / "script").write_text("#!/bin/sh\n")
    (work / "script").chmod(0o755)
    (work / "crlf").write_bytes(b"one\r\ntwo\nthree\r")
    (work / "zeros").write_bytes(bytes(range(256)) * 4)
    (work / "to nowhere").symlink_to("/nowhere/at all")
    (work / "to folder").symlink_to("/etc")
    (work / "newline link").symlink_to("a\nb")
    (work / "a.txt").unlink()
    (work / "a.txt").mkdir()
    (work / "a.txt" / "was a file").write_text("now a folder")


def test_evil_names_links_and_modes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    evil(work)
    before = on_disk(work)
    rescue = repo.rescue(work)
    assert repo.saved(rescue.commit) == before
    assert repo.git("fsck", "--no-dangling", check=False) == ""


def test_a_folder_that_became_a_file_and_a_file_that_became_a_link(house: House) -> None:
    repo = Repo(house)
    (repo.main / "d").mkdir()
    repo.commit(repo.main, "d/x", "x")
    work = repo.worktree()
    (work / "d" / "x").unlink()
    (work / "d").rmdir()
    (work / "d").write_text("a file now")
    (work / "a.txt").unlink()
    (work / "a.txt").symlink_to("d")
    assert repo.saved(repo.rescue(work).commit) == on_disk(work)


def test_no_filter_changes_a_byte_or_is_even_run(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitattributes", "*.txt text eol=lf\n*.big filter=gone\n")
    repo.git("config", "filter.gone.clean", "false")
    repo.git("config", "filter.gone.required", "true")
    work = repo.worktree()
    (work / "mixed.txt").write_bytes(b"one\r\ntwo\n")
    (work / "data.big").write_bytes(b"needs a program that is not here")
    assert repo.saved(repo.rescue(work).commit) == on_disk(work)


def test_a_file_bigger_than_git_takes_at_once(house: House) -> None:
    repo = Repo(house)
    repo.git("config", "core.bigFileThreshold", "1m")
    work = repo.worktree()
    with (work / "huge").open("wb") as file:
        file.truncate(64 << 20)
    rescue = repo.rescue(work)
    assert repo.git("cat-file", "-s", f"{rescue.commit}:huge") == str(64 << 20)


def test_what_git_was_told_to_hide_is_saved(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, "b.txt", "b\n")
    work = repo.worktree()
    repo.git("update-index", "--assume-unchanged", "a.txt", cwd=work)
    repo.git("update-index", "--skip-worktree", "b.txt", cwd=work)
    (work / "a.txt").write_text("mine\n")
    (work / "b.txt").write_text("mine too\n")
    assert repo.saved(repo.rescue(work).commit) == on_disk(work)
    (work / "a.txt").unlink()
    assert repo.saved(repo.rescue(work).commit) == on_disk(work)


def test_a_sparse_checkout_is_saved_whole(house: House) -> None:
    repo = Repo(house)
    (repo.main / "lib").mkdir()
    repo.commit(repo.main, "lib/b.txt", "b\n")
    work = repo.worktree()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "other", cwd=work)
    (work / "a.txt").write_text("changed\n")
    saved = repo.saved(repo.rescue(work).commit)
    assert saved == on_disk(work) | {b"lib/b.txt": ("100644", b"b\n")}


def test_a_file_announced_with_add_n(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "soon.txt").write_text("soon\n")
    repo.git("add", "-N", "soon.txt", cwd=work)
    rescue = repo.rescue(work)
    assert repo.saved(rescue.commit) == on_disk(work)
    assert names(repo, f"{rescue.commit}^2") == {b"a.txt"}


def test_before_the_first_commit(house: House) -> None:
    repo = Repo(house, commit=False)
    (repo.main / "one.txt").write_text("staged\n")
    repo.git("add", "one.txt")
    (repo.main / "one.txt").write_text("later\n")
    (repo.main / "two.txt").write_text("two\n")
    rescue = repo.rescue(repo.main)
    assert repo.saved(rescue.commit) == on_disk(repo.main)
    assert repo.saved(f"{rescue.commit}^2") == {b"one.txt": ("100644", b"staged\n")}


def test_a_repository_with_longer_names_for_objects(house: House) -> None:
    repo = Repo(house, "repo", "--object-format=sha256")
    work = repo.worktree()
    repo.commit(work, "b.txt", "b\n")
    (work / "a.txt").unlink()
    (work / "new.txt").write_text("new\n")
    repo.git("update-index", "--skip-worktree", "b.txt", cwd=work)
    (work / "b.txt").write_text("hidden\n")
    rescue = repo.rescue(work)
    assert (len(rescue.commit), repo.saved(rescue.commit)) == (64, on_disk(work))


def test_in_the_middle_of_a_conflict(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "a.txt", "theirs\n")
    repo.commit(repo.main, "a.txt", "ours\n")
    repo.git("rebase", "main", cwd=work, check=False)
    (work / "half.txt").write_text("half resolved\n")
    repo.git("add", "half.txt", cwd=work)
    (work / "half.txt").write_text("more\n")
    rescue = repo.rescue(work)
    assert repo.saved(rescue.commit) == on_disk(work)
    assert b"<<<<<<<" in repo.saved(rescue.commit)[b"a.txt"][1]
    assert repo.saved(f"{rescue.commit}^2")[b"half.txt"][1] == b"half resolved\n"
    assert repo.tree(work).underway == "rebase"


def test_commits_of_a_detached_head_are_held_from_now_on(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("work", "--detach")
    tip = repo.commit(work, "x.txt", "x\n")
    rescue = repo.rescue(work)
    assert (rescue.commit, rescue.paths, repo.git("rev-parse", REF)) == (tip, 0, tip)
    (work / "more.txt").write_text("more\n")
    more = repo.rescue(work)
    assert (more.ref, repo.git("rev-parse", f"{more.ref}^1")) == (f"{REF}-2", tip)


def test_saving_twice_is_saving_once_and_new_work_gets_a_new_name(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("1")
    first = repo.rescue(work)
    assert repo.rescue(work) == first
    (work / "new.txt").write_text("2")
    assert repo.rescue(work).ref == f"{REF}-2"
    assert repo.git("rev-parse", REF) == first.commit


def test_ignored_files_are_saved_and_what_a_program_makes_again_is_not(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "*.log\n.env\nnode_modules\n.venv\n.cache\n")
    work = repo.worktree()
    for name in (".env", "deep/x.log"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("mine")
    for name in ("node_modules/a/b.js", ".venv/pyvenv.cfg", ".venv/bin/x", ".cache/CACHEDIR.TAG"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("made again")
    tree = repo.tree(work)
    assert (tree.ignored, tree.caches, tree.bulky, tree.only_here) == (2, 4, 0, True)
    assert tree.left_out == (".cache/", ".venv/bin/", ".venv/pyvenv.cfg", "node_modules/")
    rescue = repo.rescue(work)
    assert names(repo, rescue.commit) == {b".gitignore", b"a.txt", b".env", b"deep/x.log"}


def test_more_ignored_files_than_are_saved_are_counted(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "build\n")
    work = repo.worktree()
    (work / "build").mkdir()
    with (work / "build" / "huge").open("wb") as file:
        file.truncate(65_000_000)
    tree = repo.tree(work)
    assert (tree.ignored, tree.bulky, tree.only_here) == (0, 1, False)
    assert tree.left_out == ("build/huge",)


def test_a_stale_lock_does_not_hinder_a_rescue(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    (Path(repo.tree(work).git_dir) / "index.lock").touch()
    assert repo.saved(repo.rescue(work).commit) == on_disk(work)


def test_only_the_lock_that_was_looked_at_is_dropped(house: House) -> None:
    repo = Repo(house)
    tree = repo.tree(repo.worktree())
    path = Path(tree.git_dir) / "index.lock"
    assert repo.trees.lock_of(tree) is None
    path.touch()
    lock = repo.trees.lock_of(tree)
    assert lock is not None
    path.write_text("another git took it meanwhile")
    os.utime(path, (1, 1))
    assert (repo.trees.drop_lock(tree, lock), path.exists()) == (False, True)
    newer = repo.trees.lock_of(tree)
    assert newer is not None
    assert (repo.trees.drop_lock(tree, newer), path.exists()) == (True, False)


def test_staged_work_of_a_deleted_directory(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("repo/one", "-b", "one")
    (work / "new.txt").write_text("staged\n")
    repo.git("add", "--all", cwd=work)
    for file in work.iterdir():
        file.unlink()
    work.rmdir()
    rescue = repo.rescue(work)
    assert repo.saved(rescue.commit)[b"new.txt"] == ("100644", b"staged\n")


def test_what_cannot_be_stored_leaves_no_ref_that_promises_it(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    tree = repo.tree(work)
    objects = repo.main / ".git" / "objects"
    aside = objects.rename(objects.with_name("aside"))
    objects.write_text("no folder any more")
    with pytest.raises(GitFailed):
        repo.trees.rescue(tree, REF, "Saved")
    objects.unlink()
    aside.rename(objects)
    assert REF not in repo.refs()


def test_it_works_for_people_without_a_name_and_with_signing(house: House) -> None:
    repo = Repo(house)
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "user.useConfigOnly", "true")
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    rescue = repo.rescue(work)
    assert repo.git("show", "-s", "--format=%an <%ae>", rescue.commit) == "knell <knell@localhost>"
