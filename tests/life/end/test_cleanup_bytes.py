"""Clean-up saves what exists nowhere else before it removes a worktree: the P13 faults."""

import subprocess
from pathlib import Path

from house import House
from knell import Knell
from knell.core.agent import Agent
from knell.core.receipt import Cleaning
from knell.core.run import Place, Run, State
from knell.core.worktree import Cleanup
from knell.life.end.cleanup import clean_up
from repo import Repo, on_disk
from shims import shim


def clean(knell: Knell, work: Path, mode: Cleanup) -> Cleaning:
    run = Run("run", "luna", "here", State.ENDED, Place("headless"), "2020-01-01T00:00:00Z")
    return clean_up(knell._world, run, Agent("luna", "command", str(work)), mode)


def test_P13_the_bytes_that_a_clean_filter_keeps_from_git_are_saved(house: House) -> None:
    """As with nbstripout: git calls the file unchanged, and its commit has other bytes."""
    repo = Repo(house)
    repo.git("config", "filter.strip.clean", "sed /^output/d")
    repo.commit(repo.main, ".gitattributes", "*.nb filter=strip\n")
    repo.commit(repo.main, "book.nb", "code\n")
    work = repo.worktree()
    (work / "book.nb").write_bytes(b"code\noutput 42\n")
    repo.git("add", "--all", cwd=work)
    assert repo.git("status", "--porcelain", cwd=work) == ""
    told = clean(house.knell, work, Cleanup.SAFE)
    assert (told.state, work.exists()) == ("removed", False)
    assert repo.saved(told.rescue)[b"book.nb"] == ("100644", b"code\noutput 42\n")


def test_P13_unpushed_commits_of_a_deinitialised_submodule_are_saved(house: House) -> None:
    repo = Repo(house)
    repo.git("config", "--global", "protocol.file.allow", "always")
    Repo(house, "inner")
    work = repo.worktree()
    repo.git("submodule", "add", "-q", str(house.root / "inner"), "lib", cwd=work)
    repo.git("commit", "-qm", "with lib", cwd=work)
    commit = repo.commit(work / "lib", "unpushed.txt", "unpushed\n")
    repo.git("submodule", "deinit", "-q", "--force", "lib", cwd=work)
    told = clean(house.knell, work, Cleanup.FORCE)
    assert (told.state, work.exists()) == ("removed", False)
    folder = house.root / "back"
    repo.git("worktree", "add", "-q", "--detach", str(folder), f"{told.rescue}^2^2")
    at = folder / "modules" / "lib"
    words = (f"--git-dir={at}", f"--work-tree={at}", "show", f"{commit}:unpushed.txt")
    assert repo.git(*words, cwd=at) == "unpushed"


def test_P13_a_commit_that_only_the_reflog_knew_is_saved(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("checkout", "-q", "--detach", cwd=work)
    commit = repo.commit(work, "x.txt", "x\n")
    repo.git("checkout", "-q", "work", cwd=work)
    told = clean(house.knell, work, Cleanup.SAFE)
    assert (told.state, work.exists()) == ("removed", False)
    assert commit in repo.git("rev-list", told.rescue).split()
    assert commit in repo.git("show", "-s", "--format=%b", told.rescue)


def test_P13_a_commit_that_the_branch_s_reflog_knows_needs_no_saving(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "x.txt", "x\n")
    repo.git("commit", "-q", "--amend", "-m", "again", cwd=work)
    repo.git("merge", "-q", "work")
    told = clean(house.knell, work, Cleanup.SAFE)
    assert (told.state, told.rescue) == ("removed", "")


def test_P13_a_file_that_comes_between_the_last_look_and_the_removal_is_kept(house: House) -> None:
    """Every git that runs is a moment at which another program may save a file."""
    for moment in ("status", "ls-files", "ls-tree", "update-ref", "remove", "rev-list"):
        repo = Repo(house, f"repo-{moment}")
        work = repo.worktree(f"work-{moment}")
        (work / "new.txt").write_text("new\n")
        late = work / "late.txt"
        does = f"date +%N > {late}.new && mv {late}.new {late} && cp {late} {house.root}/last"
        env = house.env | shim(house, moment, does)
        with Knell(env=env) as knell:
            told = clean(knell, work, Cleanup.FORCE)
        last = house.root / "last"
        if last.exists():
            kept = late.read_bytes() if late.exists() else repo.saved(told.rescue)[b"late.txt"][1]
            assert kept == last.read_bytes(), moment
            last.unlink()
        assert on_disk(work) or not work.exists()


def test_P13_a_program_that_goes_on_saving_loses_nothing(house: House) -> None:
    """It knows the file by its path, as an editor does, and saves it by a rename."""
    script = """
    n=0
    while n=$((n+1)); echo $n > "$1/late.new" && mv "$1/late.new" "$1/late"; do echo $n; done"""
    for number in range(8):
        repo = Repo(house, f"repo{number}")
        work = repo.worktree(f"work{number}")
        (work / "new.txt").write_text("new\n")
        argv = ["/bin/sh", "-c", script, "sh", str(work)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            told = clean(house.knell, work, Cleanup.FORCE)
            if work.exists():
                writer.kill()
            last = writer.stdout.read().split()[-1:]
        if told.state == "kept":
            assert int((work / "late").read_bytes()) >= int(*last or [b"1"])
        else:
            assert repo.saved(told.rescue)[b"late"][1].split() == last
