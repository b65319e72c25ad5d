"""What docs/worktrees.md tells people to type brings their work back."""

import re
import subprocess
from pathlib import Path

import pytest

from house import House
from repo import SOMEBODY, Files, Repo, on_disk

PAGE = Path(__file__).resolve().parents[2] / "docs" / "worktrees.md"
BLOCKS: list[str] = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
TOLD = "refs/knell/rescue/luna/RUN"


def commands(start: str) -> list[str]:
    """The lines of the page's shell blocks that begin so."""
    found = [line for block in BLOCKS for line in block.splitlines() if line.startswith(start)]
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
        timeout=300,
    )
    return done.stdout


@pytest.fixture
def rescued(house: House) -> tuple[Repo, Files]:
    repo = Repo(house)
    work = repo.worktree()
    (work / "a.txt").write_text("changed\n")
    (work / "new.txt").write_text("new\n")
    (work / "link").symlink_to("a.txt")
    return repo, removed(repo, work)


def removed(repo: Repo, work: Path) -> Files:
    """What was there before it was saved and removed."""
    files, tree = on_disk(work), repo.tree(work)
    repo.trees.remove(tree, repo.trees.rescue(tree, TOLD, "Saved"))
    assert not work.exists()
    return files


def test_looking(rescued: tuple[Repo, Files]) -> None:
    repo, _ = rescued
    assert TOLD in typed(repo, commands("git for-each-ref")[0], repo.main)
    assert "new.txt" in typed(repo, commands("git show --stat")[0], repo.main)
    assert "+changed" in typed(repo, commands("git diff")[0], repo.main)


def test_P14_a_directory_of_its_own_has_every_byte(house: House) -> None:
    """`git worktree add` gave a file with mixed line ends others."""
    repo = Repo(house)
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "filter.up.smudge", "tr a-z A-Z")
    repo.commit(repo.main, ".gitattributes", "*.t text eol=crlf\n*.up filter=up\n*.id ident\n")
    work = repo.worktree()
    for name in ("mixed.t", "shout.up", "name.id", "auto.txt"):
        (work / name).write_bytes(b"one\r\ntwo\n$Id: x $\n")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    files = removed(repo, work)
    typed(repo, block_of("git init"), repo.main)
    assert on_disk(repo.root / "luna-back") == files


def block_of(start: str) -> str:
    line = commands(start)[0]
    return next(block for block in BLOCKS if line in block)


@pytest.mark.parametrize("kind", ["sha256", "shallow", "names", "checks"])
def test_P48_a_directory_of_its_own_comes_back_from_any_repository(house: House, kind: str) -> None:
    """Longer names of objects, a history that is cut, names that other systems cannot have, and a
    person's setting that distrusts what is fetched."""
    repo = Repo(house, "repo", *(("--object-format=sha256",) if kind == "sha256" else ()))
    if kind == "shallow":
        repo.commit(repo.main, "b.txt", "b\n")
        full = repo.main.rename(house.root / "full")
        repo.git("clone", "-q", "--depth=1", f"file://{full}", "repo", cwd=house.root)
    work = repo.worktree()
    (work / "new.txt").write_text("new\n")
    if kind == "names":
        (work / "git~1").write_text("odd\n")
    if kind == "checks":
        (work / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = -x\n')
        repo.git("config", "--global", "transfer.fsckObjects", "true")
    files = removed(repo, work)
    typed(repo, block_of("git init"), repo.main)
    assert on_disk(repo.root / "luna-back") == files


def test_a_worktree_of_the_same_repository(rescued: tuple[Repo, Files]) -> None:
    repo, files = rescued
    typed(repo, commands("git worktree add")[0], repo.main)
    assert on_disk(repo.root / "luna-tree") == files


def test_commits_that_only_the_reflog_knew(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.git("checkout", "-q", "--detach", cwd=work)
    commit = repo.commit(work, "x.txt", "x\n")
    repo.git("checkout", "-q", "work", cwd=work)
    removed(repo, work)
    listed = typed(repo, commands("git log --no-walk")[0], repo.main)
    assert commit[:7] in listed
    typed(repo, commands("git branch luna-lost")[0].replace("COMMIT", commit), repo.main)
    assert repo.git("rev-parse", "luna-lost") == commit


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
