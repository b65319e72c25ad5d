"""What docs/worktrees.md tells people to type brings their work back."""

import re
import subprocess
from pathlib import Path

import pytest

from house import House
from worktrees.repo import SOMEBODY, Files, Repo, on_disk

PAGE = Path(__file__).resolve().parents[2] / "docs" / "worktrees.md"
TOLD = "refs/quell/rescue/luna/RUN"


def commands(start: str) -> list[str]:
    """The lines of the page's shell blocks that begin so."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    found = [line for block in blocks for line in block.splitlines() if line.startswith(start)]
    assert found, f"the page no longer tells of {start}"
    return found


def typed(repo: Repo, line: str, where: Path) -> str:
    done = subprocess.run(
        ["/bin/sh", "-ec", line],
        cwd=where,
        env=repo.env | SOMEBODY,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@pytest.fixture
def rescued(house: House) -> tuple[Repo, Files]:
    repo = Repo(house)
    work = repo.worktree()
    (work / "a.txt").write_text("changed\n")
    (work / "new.txt").write_text("new\n")
    (work / "link").symlink_to("a.txt")
    files, tree = on_disk(work), repo.tree(work)
    repo.trees.rescue(tree, TOLD, "Saved")
    repo.trees.remove(tree, saved=True)
    assert not work.exists()
    return repo, files


def test_looking(rescued: tuple[Repo, Files]) -> None:
    repo, _ = rescued
    assert TOLD in typed(repo, commands("git for-each-ref")[0], repo.main)
    assert "new.txt" in typed(repo, commands("git show --stat")[0], repo.main)
    assert "+changed" in typed(repo, commands("git diff")[0], repo.main)


def test_a_directory_of_its_own(rescued: tuple[Repo, Files]) -> None:
    repo, files = rescued
    typed(repo, commands("git worktree add")[0], repo.main)
    assert on_disk(repo.root / "luna-back") == files


def test_as_uncommitted_work(rescued: tuple[Repo, Files]) -> None:
    repo, files = rescued
    repo.commit(repo.main, "other.txt", "meanwhile\n")
    typed(repo, commands("git stash apply")[0], repo.main)
    assert on_disk(repo.main) == files | {b"other.txt": ("100644", b"meanwhile\n")}


def test_one_file(rescued: tuple[Repo, Files]) -> None:
    repo, files = rescued
    typed(repo, commands(f"git show {TOLD}:")[0], repo.main)
    assert on_disk(repo.main)[b"new.txt"] == files[b"new.txt"]


def test_letting_go(rescued: tuple[Repo, Files]) -> None:
    repo, _ = rescued
    typed(repo, commands("git update-ref -d")[0], repo.main)
    assert TOLD not in repo.refs()
