"""Clean-up trusts neither the repository to have what it names, nor what an agent could write."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from house import House
from knell.core.worktree import Cleanup
from knell.git.raw_files import aside_of
from repo import Repo, cleaned

BLOB = "78981922613b2afb6025042ff6bd878ac1994e85"  # what git calls the bytes of a.txt


def test_P32_bytes_that_the_repository_has_lost_are_saved_before_they_go(house: House) -> None:
    """A clean worktree may be the last place that has them: after a crash, or without the
    repository that objects were borrowed from."""
    repo = Repo(house)
    work = repo.worktree()
    (repo.main / ".git" / "objects" / BLOB[:2] / BLOB[2:]).unlink()
    (repo.main / "a.txt").unlink()
    told = cleaned(house, work)
    assert told.state == "removed"
    assert repo.saved(told.rescue)[b"a.txt"] == ("100644", b"a\n")


def test_P32_what_git_cannot_store_again_keeps_the_worktree(house: House) -> None:
    """A power cut leaves empty files, and git takes them for stored."""
    repo = Repo(house)
    work = repo.worktree()
    stored = repo.main / ".git" / "objects" / BLOB[:2] / BLOB[2:]
    stored.chmod(0o644)
    stored.write_bytes(b"")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, bool(told.failed)) == ("kept", True)
    assert (work / "a.txt").read_bytes() == b"a\n"


@pytest.mark.parametrize("other", ["repo", "two"])
def test_P33_a_setting_that_names_another_directory_is_not_followed(
    house: House, other: str
) -> None:
    """core.worktree of a worktree's own: not even for a moment is anything else moved away."""
    repo = Repo(house)
    work, _ = repo.worktree(), repo.worktree("two")
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.worktree", str(house.root / other), cwd=work)
    before = (house.root / other).stat().st_ctime_ns  # a rename changes it
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, told.worktree) == ("kept", str(work))
    assert "which is not its own" in told.why
    assert (house.root / other).stat().st_ctime_ns == before


@pytest.mark.parametrize("note", ["{", "[]", '{"commit": "HEAD"}', '{"commit": 1, "left_out": 2}'])
def test_P34_a_note_that_nobody_can_read_is_told(house: House, note: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    git_dir = Path(repo.tree(work).git_dir)
    work.rename(aside_of(str(work)))
    (git_dir / "knell-removing").write_text(note)
    told = cleaned(house, work)
    assert (told.state, "cannot be read" in told.why) == ("kept", True)


@pytest.mark.parametrize("way", ["../precious/", "{}/precious/", "b/../../precious/thing"])
def test_P34_a_note_leads_nowhere_else(house: House, way: str) -> None:
    """An agent can write it, and it says what is deleted without a look."""
    repo = Repo(house)
    work = repo.worktree()
    tree = repo.tree(work)
    (house.root / "precious").mkdir()
    (house.root / "precious" / "thing").write_text("thing")
    work.rename(aside_of(str(work)))
    note = {"commit": tree.commit, "left_out": [way.format(house.root)]}
    Path(tree.git_dir, "knell-removing").write_text(json.dumps(note))
    told = cleaned(house, work)
    assert (told.state, "outside of it" in told.why) == ("kept", True)
    assert (house.root / "precious" / "thing").read_text() == "thing"


def test_P34_a_temporary_directory_that_is_gone_costs_no_ending(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch that runs for weeks knows one that a daily sweep has deleted since. A traceback
    would lose the record of the end."""
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    monkeypatch.setattr(tempfile, "tempdir", str(house.root / "swept"))
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, len(told.failed)) == ("kept", 1)
    assert "could not be saved" in told.failed[0]


@contextmanager
def mounted(house: House, what: Path, *, here: bool) -> Iterator[None]:
    """A directory that is seen at another path too: here, or by a container alone."""
    at = house.root / "workspace"
    at.mkdir()
    if here:
        subprocess.run(["mount", "--bind", what, at], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", at], check=True)
        return
    code = f"mount --bind {what} {at} && echo ready && exec sleep 60"
    argv = ("unshare", "--mount", "sh", "-c", code)
    with house.process(*argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.mark.needs_root
@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("part", ["", "src"])
def test_P35_a_worktree_that_a_container_has_mounted_is_in_use(
    house: House, part: str, *, here: bool
) -> None:
    """Its programs have other paths, and write on through them whatever it is called outside."""
    repo = Repo(house)
    work = repo.worktree()
    (work / "src").mkdir()
    with mounted(house, work / part, here=here):
        told = cleaned(house, work, Cleanup.FORCE)
        assert (told.state, "in use by a mount at" in told.why) == ("kept", True)
    assert cleaned(house, work).state == "removed"
