"""What clean-up takes for a copy, or for a cache, is one; and the way back overwrites nothing."""

import hashlib
import subprocess

import pytest

from house import House
from knell.core.worktree import Cleanup
from repo import SOMEBODY, Repo, cleaned

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


@pytest.mark.parametrize("stored", [b"precious bytes", b"\0" * 14])
def test_P53_a_file_that_git_lfs_has_lost_is_saved(house: House, stored: bytes) -> None:
    """A crash leaves zeros of the right size in its store."""
    repo = Repo(house)
    data = b"precious bytes"
    name = hashlib.sha256(data).hexdigest()
    repo.commit(repo.main, ".gitattributes", "*.big filter=lfs\n")
    repo.commit(repo.main, "x.big", POINTER.format(name, len(data)))
    pointer = repo.git("rev-parse", "HEAD:x.big")
    work = repo.worktree()
    repo.git("config", "filter.lfs.clean", f"cat >&2; git cat-file blob {pointer}")
    (work / "x.big").write_bytes(data)
    repo.git("add", "x.big", cwd=work)
    store = repo.main / ".git" / "lfs" / "objects" / name[:2] / name[2:4]
    store.mkdir(parents=True)
    (store / name).write_bytes(stored)
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, bool(told.rescue)) == ("removed", stored != data)
    assert stored == data or repo.saved(told.rescue)[b"x.big"] == ("100644", data)


def test_P53_a_repository_in_a_cache_keeps_it_also_without_its_head(house: House) -> None:
    """A crash empties HEAD, and git then takes the repository for none."""
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "node_modules/\n")
    work = repo.worktree()
    inner = work / "node_modules" / "inner"
    inner.mkdir(parents=True)
    repo.git("init", "-q", str(inner))
    repo.commit(inner, "x.txt", "x\n")
    (inner / ".git" / "HEAD").write_text("")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, told.why) == (
        "kept",
        "repositories of its own in it: node_modules/inner",
    )


def test_P53_files_among_those_of_a_python_environment_are_saved(house: House) -> None:
    """`python -m venv .` makes one around them, and Python 3.13 has git ignore all of it."""
    repo = Repo(house)
    work = repo.worktree()
    made = ("pyvenv.cfg", "bin/python", "lib/python3/site-packages/a.py")
    for name in (*made, "app.py", "tests/test_app.py"):
        (work / "backend" / name).parent.mkdir(parents=True, exist_ok=True)
        (work / "backend" / name).write_text(name)
    (work / "backend" / ".gitignore").write_text("*\n")
    told = cleaned(house, work)
    assert told.state == "removed"
    saved = {name for name in repo.saved(told.rescue) if name.startswith(b"backend/")}
    assert saved == {b"backend/app.py", b"backend/tests/test_app.py"}


@pytest.mark.parametrize("bare", [False, True])
def test_P53_the_printed_command_overwrites_nothing(house: House, *, bare: bool) -> None:
    """`git stash apply` replaces files that git ignores without a word, and needs a checkout."""
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", ".env\n")
    (repo.main / ".env").write_text("the person's")
    work = repo.worktree()
    (work / ".env").write_text("the agent's")
    told = cleaned(house, work)
    assert told.state == "removed"
    repo.git("config", "core.bare", str(bare).lower())
    where = repo.main / ".git" if bare else repo.main
    subprocess.run(told.way_back("luna").split(), cwd=where, env=repo.env | SOMEBODY, check=True)
    assert (repo.main / ".env").read_text() == "the person's"
    assert (where.parent / "luna-back" / ".env").read_text() == "the agent's"
