"""Clean-up touches nothing but the worktree in which the agent was started."""

import shutil
from pathlib import Path

import pytest

from house import House
from knell.core.worktree import Cleanup
from knell.git.raw_files import aside_of
from repo import Repo, cleaned, on_disk


def works(repo: Repo, where: Path) -> bool:
    """Whether it is still a checkout, with what was staged in it."""
    return repo.git("status", "--porcelain", cwd=where, check=False) == "A  staged.txt"


def mine(repo: Repo, where: Path) -> Path:
    """A worktree of the person's own, at work."""
    (where / "staged.txt").write_text("staged")
    repo.git("add", "staged.txt", cwd=where)
    return where


@pytest.mark.parametrize("above", [False, True])
def test_P47_a_link_in_the_place_of_the_worktree_is_not_followed(
    house: House, *, above: bool
) -> None:
    """An agent chose what it leads to: here a worktree of the person's own."""
    repo = Repo(house)
    (house.root / "agents").mkdir()
    (house.root / "people").mkdir()
    work = repo.worktree("agents/work", "-b", "work")
    own = mine(repo, repo.worktree("people/work", "-b", "own"))
    place = work.parent if above else work
    place.rename(house.root / "moved")
    place.symlink_to(own.parent if above else own)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, f"a link leads from there to {own}" in told.why) == ("kept", True)
    assert works(repo, own)


def test_P47_an_agent_is_known_by_its_real_directory(house: House) -> None:
    """So a link that is there later was not there when it was started."""
    (house.root / "real").mkdir()
    (house.root / "link").symlink_to("real")
    house.knell.spawn("command", args=["sleep", "60"], name="luna", cwd=str(house.root / "link"))
    [luna] = house.knell.list()
    house.knell.kill("luna")
    assert luna.cwd == str(house.root / "real")


def test_P47_the_git_folder_of_another_worktree_is_not_dropped(house: House) -> None:
    repo = Repo(house)
    work, own = repo.worktree(), mine(repo, repo.worktree("own"))
    shutil.copy(own / ".git", work / ".git")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, f"the git folder of {own}" in told.why) == ("kept", True)
    assert works(repo, own)


def test_P47_a_copy_of_a_worktree_costs_the_worktree_nothing(house: House) -> None:
    repo = Repo(house)
    own = mine(repo, repo.worktree())
    shutil.copytree(own, house.root / "copy")
    assert cleaned(house, house.root / "copy", Cleanup.FORCE).state == "kept"
    assert works(repo, own)


def test_P47_a_worktree_that_was_moved_by_hand_is_cleaned_up(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    moved = work.rename(house.root / "moved")
    told = cleaned(house, moved, Cleanup.FORCE)
    assert (told.state, moved.exists()) == ("removed", False)
    assert repo.saved(told.rescue)[b"new.txt"] == ("100644", b"new")


def test_P47_a_worktree_passes_for_none_of_another_repository(house: House) -> None:
    """Its work would be saved where nobody looks for it."""
    repo, other = Repo(house), Repo(house, "other")
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    files = on_disk(work)
    (repo.main / ".git" / "worktrees" / "work" / "commondir").write_text(f"{other.main}/.git\n")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, "is no worktree's git folder in" in told.why) == ("kept", True)
    assert (on_disk(work), other.refs()) == (files, ["refs/heads/main"])


def test_P47_a_worktree_of_a_submodule_keeps_the_one_that_it_hangs_on(house: House) -> None:
    repo = Repo(house)
    Repo(house, "inner")
    work = repo.worktree()
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
    repo.git(*add, str(house.root / "inner"), "lib", cwd=work)
    repo.git("commit", "-qm", "with a submodule", cwd=work)
    own = house.root / "own"
    repo.git("worktree", "add", "-q", "--detach", str(own), cwd=work / "lib")
    mine(repo, own)
    repo.git("submodule", "deinit", "-q", "--force", "lib", cwd=work)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, str(own) in told.why) == ("kept", True)
    assert works(repo, own)
    shutil.rmtree(work)
    assert cleaned(house, work, Cleanup.FORCE).state != "removed"
    assert works(repo, own)


def test_P47_a_repository_without_a_checkout_keeps_the_worktree_around_it(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("clone", "-q", "--bare", str(repo.main), "bare.git", cwd=work)
    own = house.root / "own"
    repo.git("worktree", "add", "-q", "-b", "own", str(own), cwd=work / "bare.git")
    mine(repo, own)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, "bare.git" in told.why) == ("kept", True)
    assert works(repo, own)
    assert not Path(aside_of(str(work))).exists()
