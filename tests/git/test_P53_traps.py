"""What an agent leaves in the repository makes clean-up neither wait, nor write, nor lose."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import House
from knell.core.worktree import Cleanup
from repo import Repo, cleaned

DESCRIBE_AND_REMOVE = """
import os, sys
from knell.core.ports.git import GitFailed
from knell.core.process import Unknown
from knell.git.worktrees import Git
git = Git(os.environ)
tree = git.describe(sys.argv[1], raw=True)
if isinstance(tree, Unknown):
    sys.exit(tree.why)
try:
    git.remove(tree, None)
except GitFailed as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize(
    "path",
    [
        *("logs/x", "worktrees/work/logs/x", "worktrees/work/refs/worktree/x", "gc.pid"),
        *("worktrees/work/locked", "worktrees/b/gitdir", "worktrees/work/knell-removing"),
    ],
)
def test_P53_clean_up_waits_for_no_pipe(house: House, path: str) -> None:
    """It comes before the end is recorded, so that one pipe hid the end of the agent."""
    repo = Repo(house)
    work = repo.worktree()
    repo.git("checkout", "-q", "--detach", cwd=work)
    repo.commit(work, "x.txt", "x\n")
    repo.git("checkout", "-q", "work", cwd=work)
    pipe = repo.main / ".git" / path
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    argv = [sys.executable, "-c", DESCRIBE_AND_REMOVE, str(work)]
    done = subprocess.run(
        argv, env=repo.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (work.exists(), "not a regular file" in done.stderr) in ((True, True), (False, False))


def test_P53_what_a_removal_writes_down_overwrites_nothing(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    precious = house.root / "precious.txt"
    precious.write_text("mine\n")
    (repo.main / ".git" / "worktrees" / "work" / "knell-removing").symlink_to(precious)
    assert cleaned(house, work).state == "removed"
    assert precious.read_text() == "mine\n"


def test_P53_a_rescue_is_not_written_into_what_goes(house: House) -> None:
    """An agent knows the name of its rescue, and can make it lead into its own git folder."""
    repo = Repo(house)
    work = repo.worktree()
    ref = repo.main / ".git" / "refs" / "knell" / "rescue" / "luna" / "run1"
    ref.parent.mkdir(parents=True)
    ref.write_text("ref: worktrees/work/refs/worktree/own\n")
    (work / "new.txt").write_text("precious")
    cleaned(house, work)  # keeps it, and saves
    told = cleaned(house, work, Cleanup.FORCE)
    assert told.state == "removed"
    assert repo.git("show", f"{told.rescue}:new.txt") == "precious"


# -- what the repository keeps in the worktree ---------------------------------------------------


def a_worktree_with_history(house: House) -> tuple[Repo, Path, Path]:
    """And a folder in it that goes without a look."""
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "node_modules/\n")
    work = repo.worktree()
    for text in ("1\n", "2\n"):
        repo.commit(work, "x.txt", text)
    cache = work / "node_modules"
    cache.mkdir()
    return repo, work, cache


@pytest.mark.parametrize("what", ["refs/heads/work", "packed-refs", "logs/refs", "object"])
def test_P53_a_repository_that_has_a_part_of_it_in_the_worktree_keeps_it(
    house: House, what: str
) -> None:
    repo, work, cache = a_worktree_with_history(house)
    if what == "packed-refs":
        repo.git("pack-refs", "--all")
    if what == "object":  # of an older commit, which no comparison of the files meets
        name = repo.git("rev-parse", "work~1:x.txt")
        what = f"objects/{name[:2]}/{name[2:]}"
    link = repo.main / ".git" / what
    shutil.move(link, cache / "part")
    link.symlink_to(cache / "part")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, f"{link} leads to {cache}/part" in told.why) == ("kept", True)


def test_P53_a_repository_that_borrows_from_the_worktrees_git_folder_keeps_it(
    house: House,
) -> None:
    repo, work, _ = a_worktree_with_history(house)
    repo.git("merge", "-q", "work")
    objects = repo.main / ".git" / "objects"
    lent = repo.main / ".git" / "worktrees" / "work" / "lent"
    lent.mkdir()
    for folder in objects.glob("??"):
        shutil.move(folder, lent / folder.name)
    (objects / "info" / "alternates").write_text(f"{lent}\n")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, f"borrows objects from {lent}" in told.why) == ("kept", True)


def test_P53_a_hook_that_lies_in_the_worktree_is_no_work(house: House) -> None:
    repo, work, cache = a_worktree_with_history(house)
    (repo.main / ".git" / "hooks" / "post-merge").symlink_to(cache / "hook")
    assert cleaned(house, work, Cleanup.FORCE).state == "removed"
