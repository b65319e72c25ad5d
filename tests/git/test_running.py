"""Git itself as an adversary: it hangs, or the world changes while it works."""

import os
from pathlib import Path

import pytest

from house import House, alive, descendants, eventually
from knell import Knell
from knell.core.agent import Agent
from knell.core.ports.git import GitFailed
from knell.core.run import Place, Run, State
from knell.core.worktree import Cleanup
from knell.git.command import Runner
from knell.git.worktrees import Git
from knell.life.end.cleanup import clean_up
from repo import REF, Repo, on_disk
from shims import shim


def test_a_git_that_hangs_is_ended_with_all_it_started(house: House) -> None:
    """The handshake is its child's pid, so the deadline cannot come too early."""
    repo = Repo(house)
    told = house.root / "child"
    does = f"sleep 100 & echo $! > {told}.new; mv {told}.new {told}; wait"
    git = Runner(repo.env | shim(house, "status", does))
    with pytest.raises(GitFailed, match="did not end within"):
        git.run(str(repo.main), "status", seconds=1.0)
    if told.exists():  # on a machine so busy that a second was not enough to start it, it never was
        child = int(told.read_text())
        eventually(lambda: not alive(child))
    eventually(lambda: not descendants())


def test_the_callers_stamp_and_repository_are_not_handed_on(house: House) -> None:
    repo = Repo(house)
    told = house.root / "told"
    astray = {"KNELL_RUN": "x", "GIT_DIR": "/x", "GIT_OBJECT_DIRECTORY": "/x"}
    env = repo.env | astray | shim(house, "status", f"env > {told}")
    Runner(env).must(str(repo.main), "status")
    seen = dict(line.split("=", 1) for line in told.read_text().splitlines() if "=" in line)
    assert not set(astray) & set(seen)
    assert (seen["LC_ALL"], seen["GIT_OPTIONAL_LOCKS"], seen["GIT_TERMINAL_PROMPT"]) == (
        "C",
        "0",
        "0",
    )


@pytest.mark.parametrize("change", ["echo more >> {}/new.txt", "touch {}/another.txt"])
def test_what_changes_while_it_is_saved_is_not_called_saved(house: House, change: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new\n")
    tree = repo.tree(work)
    git = Git(repo.env | shim(house, "write-tree", change.format(work)))
    with pytest.raises(GitFailed):
        git.rescue(tree, REF, "Saved")
    assert REF not in repo.refs()


def test_what_was_stored_otherwise_than_it_is_on_disk_is_not_called_saved(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new\n")
    tree = repo.tree(work)
    wrong = repo.git("rev-parse", "main:a.txt")
    git = Git(repo.env | shim(house, "hash-object", f"echo {wrong}; exit 0"))
    with pytest.raises(GitFailed, match=r"new\.txt is not saved as it is now"):
        git.rescue(tree, REF, "Saved")
    assert REF not in repo.refs()


def luna(work: Path) -> tuple[Run, Agent]:
    run = Run("run", "luna", "here", State.ENDED, Place("headless"), "2020-01-01T00:00:00Z")
    return run, Agent("luna", "command", str(work))


def test_whoever_comes_while_work_is_saved_keeps_the_worktree(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new\n")
    pid = house.root / "pid"
    does = f"(cd {work} && exec sleep 100) >/dev/null 2>&1 & echo $! > {pid}"
    with Knell(env=house.env | shim(house, "update-ref", does)) as knell:
        told = clean_up(knell._world, *luna(work), Cleanup.FORCE)
    os.kill(int(pid.read_text()), 9)
    eventually(lambda: not descendants())
    assert (told.state, told.rescue != "", told.failed) == ("kept", True, ())
    assert f"pid {pid.read_text().strip()}" in told.why
    assert repo.saved(told.rescue) == on_disk(work)


def test_a_file_that_comes_after_work_is_saved_keeps_the_worktree(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new\n")
    with Knell(env=house.env | shim(house, "update-ref", f"touch {work}/late.txt")) as knell:
        told = clean_up(knell._world, *luna(work), Cleanup.FORCE)
    assert (told.state, (work / "late.txt").exists()) == ("kept", True)
    assert "late.txt is not saved as it is now" in told.failed[0]


def test_a_disk_without_room_is_named(house: House) -> None:
    repo = Repo(house)
    full = "echo 'fatal: sha1 file write error: No space left on device' >&2; exit 128"
    git = Git(repo.env | shim(house, "add", full))
    with pytest.raises(GitFailed) as caught:
        git.create(str(repo.main), str(house.root / "new"), "new", "main")
    assert caught.value.problem == "disk_full"
