"""What lies in a worktree's git folder is saved or keeps it, also where git does not know it."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from house import House
from knell.core.worktree import Cleanup
from repo import Repo, cleaned


def a_worktree_below(house: House) -> tuple[Repo, Path]:
    """The repository is found above it when it is deleted."""
    repo = Repo(house)
    work = repo.main / "work"
    repo.git("worktree", "add", "-q", "-b", "work", str(work))
    return repo, work


def own_folder(repo: Repo) -> Path:
    return repo.main / ".git" / "worktrees" / "work"


def test_P53_a_deleted_one_in_the_middle_of_a_rebase_keeps_its_autostash(house: House) -> None:
    repo, work = a_worktree_below(house)
    repo.commit(work, "b.txt", "b\n")
    repo.commit(work, "a.txt", "ours\n")
    repo.commit(repo.main, "a.txt", "theirs\n")
    (work / "b.txt").write_text("precious\n")
    repo.git("rebase", "--autostash", "main", cwd=work, check=False)
    repo.git("checkout", "--ours", "a.txt", cwd=work)
    repo.git("add", "a.txt", cwd=work)
    shutil.rmtree(work)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, told.why) == ("kept", "it is in the middle of a rebase")
    stash = (own_folder(repo) / "rebase-merge" / "autostash").read_text().strip()
    assert repo.blob(f"{stash}:b.txt") == b"precious\n"


def test_P53_a_deleted_one_in_the_middle_of_a_mailbox_keeps_its_patches(house: House) -> None:
    repo, work = a_worktree_below(house)
    (house.root / "mailbox").write_text(
        "From 0 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: x\n\n---\n"
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-other\n+precious\n"
    )
    repo.git("am", str(house.root / "mailbox"), cwd=work, check=False)
    shutil.rmtree(work)
    assert cleaned(house, work, Cleanup.FORCE).state == "kept"
    assert "+precious" in (own_folder(repo) / "rebase-apply" / "patch").read_text()


def test_P53_a_deleted_one_with_conflicts_stays(house: House) -> None:
    repo, work = a_worktree_below(house)
    repo.commit(work, "a.txt", "ours\n")
    repo.commit(repo.main, "a.txt", "theirs\n")
    repo.git("merge", "--squash", "main", cwd=work, check=False)
    shutil.rmtree(work)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, told.why) == ("kept", "conflicts in 1 file")


@pytest.mark.parametrize("name", ["notes.txt", "patches/fix.patch", "modules/lib/objects/pack/p"])
def test_P53_files_that_git_has_not_made_are_saved(house: House, name: str) -> None:
    """Guilt keeps its patches there; a submodule's folder without HEAD is none to git."""
    repo = Repo(house)
    work = repo.worktree()
    file = own_folder(repo) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("precious")
    told = cleaned(house, work)
    assert told.state == "removed"
    [_, more] = repo.git("rev-parse", f"{told.rescue}^2^@").split()
    assert repo.git("show", f"{more}:{name}") == "precious"


def test_P53_a_submodule_whose_name_git_cannot_hold_keeps_it(house: House) -> None:
    """Git leaves such files out of a commit without a word."""
    repo, inner = Repo(house), Repo(house, "inner")
    work = repo.worktree()
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", "--name", "a/.git")
    repo.git(*add, str(inner.main), "lib", cwd=work)
    repo.git("commit", "-qm", "lib", cwd=work)
    tip = repo.commit(work / "lib", "new.txt", "precious\n")
    repo.git("submodule", "deinit", "-q", "--force", "lib", cwd=work)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, "modules/a/.git/" in told.failed[0]) == ("kept", True)
    folder = own_folder(repo) / "modules" / "a" / ".git"
    assert repo.git(f"--git-dir={folder}", "cat-file", "-t", tip) == "commit"


@pytest.mark.needs_root
@pytest.mark.parametrize("name", ["logs", "modules/lib", "refs/worktree"])
def test_P53_what_cannot_be_looked_into_keeps_it(house: House, name: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    folder = own_folder(repo) / name
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0)
    subprocess.run(["chown", "-R", "nobody", house.root], check=True)
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(65534, 65534, 65534)
            found = repo.trees.describe(str(work), raw=True)
            (house.root / "told").write_text(str(found))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert f"cannot look into {folder}" in (house.root / "told").read_text()


@pytest.mark.parametrize("where", ["a name", "a file that is no reflog"])
def test_P53_a_commit_that_a_reflog_is_not_about_is_saved(house: House, where: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("checkout", "-q", "--detach", cwd=work)
    lost = repo.commit(work, "x.txt", "x\n")
    repo.git("checkout", "-q", "work", cwd=work)
    log = repo.main / ".git" / "logs" / "HEAD"
    if where == "a name":
        log.write_text(log.read_text().replace("Ada", lost))
    else:
        log.with_name("HEAD~").write_text(log.read_text().replace("0" * 40, lost))
    assert cleaned(house, work).state == "removed"
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("cat-file", "-t", lost) == "commit"


def write_graph(repo: Repo, child: str, parent: str) -> None:
    """A commit-graph in which `parent` is one of `child`, as no commit says."""
    repo.git("commit-graph", "write", "--reachable")
    file = repo.main / ".git" / "objects" / "info" / "commit-graph"
    graph = bytearray(file.read_bytes())
    chunks = dict(struct.unpack_from(">4sQ", graph, 8 + 12 * n) for n in range(graph[6]))
    names = chunks[b"OIDL"]
    count = struct.unpack_from(">I", graph, chunks[b"OIDF"] + 255 * 4)[0]
    ids = [graph[names + 20 * n :][:20].hex() for n in range(count)]
    second_parent = chunks[b"CDAT"] + 36 * ids.index(child) + 24
    struct.pack_into(">I", graph, second_parent, ids.index(parent))
    file.unlink()
    file.write_bytes(graph)


def test_P53_a_commit_that_only_a_made_up_graph_holds_is_saved(house: House) -> None:
    """Git believes the graph, and not the commits, about who is whose parent."""
    repo = Repo(house)
    work = repo.worktree()
    repo.git("checkout", "-q", "--detach", cwd=work)
    lost = repo.commit(work, "x.txt", "x\n")
    repo.git("branch", "passing", lost)
    repo.git("checkout", "-q", "work", cwd=work)
    for text in ("1\n", "2\n", "3\n"):
        repo.commit(repo.main, "y.txt", text)
    write_graph(repo, repo.git("rev-parse", "main"), lost)
    repo.git("branch", "-q", "-D", "passing")
    assert cleaned(house, work).state == "removed"
    (repo.main / ".git" / "objects" / "info" / "commit-graph").unlink()
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("cat-file", "-t", lost) == "commit"
