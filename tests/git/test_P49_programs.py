"""Clean-up runs no program that the agent has put into the repository's settings."""

from pathlib import Path

import pytest

from house import House
from knell.core.worktree import Cleanup
from repo import Repo, cleaned


@pytest.fixture
def ran(house: House) -> Path:
    """There once a program of the agent has run."""
    return house.root / "ran"


@pytest.mark.parametrize("key", ["clean", "process"])
@pytest.mark.parametrize("name", ["x", "a=b"])
def test_P49_no_filter_runs(house: House, ran: Path, name: str, key: str) -> None:
    """What it starts would outlive the proof, as a child of the person's own command."""
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "c.x", "1\n")
    repo.git("config", f"filter.{name}.{key}", f"touch {ran}; cat")
    repo.git("config", f"filter.{name}.required", "true")
    (work / ".gitattributes").write_text(f"*.x filter={name}\n")
    (work / "c.x").write_text("2\n")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, ran.exists()) == ("removed", False)
    assert repo.saved(told.rescue)[b"c.x"] == ("100644", b"2\n")


def test_P49_no_filter_of_a_submodule_runs(house: House, ran: Path) -> None:
    repo, inner = Repo(house), Repo(house, "inner")
    work = repo.worktree()
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
    repo.git(*add, str(inner.main), "lib", cwd=work)
    repo.git("commit", "-qm", "with a submodule", cwd=work)
    repo.git("config", "filter.x.clean", f"touch {ran}; cat", cwd=work / "lib")
    (work / "lib" / ".gitattributes").write_text("* filter=x\n")
    (work / "lib" / "a.txt").write_text("b\n")  # of the same size, so that git must look
    assert (cleaned(house, work, Cleanup.FORCE).state, ran.exists()) == ("kept", False)


def test_P49_what_a_filter_wrote_is_clean_without_it(house: House) -> None:
    """Git looks at the bytes of files that are as young as its index, as these often are."""
    repo = Repo(house)
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    repo.git("config", "filter.up.smudge", "tr A-Z a-z")
    (repo.main / ".gitattributes").write_text("*.up filter=up\n")
    for number in range(5):
        repo.commit(repo.main, f"{number}.up", "abc\n")
    for number in range(5):
        work = repo.worktree(f"work{number}")
        assert cleaned(house, work).state == "removed"


def test_P49_a_filtered_file_that_was_written_since_is_no_clean_one(house: House) -> None:
    repo = Repo(house)
    repo.git("config", "filter.none.clean", "cat")
    repo.commit(repo.main, ".gitattributes", "*.txt filter=none\n")
    work = repo.worktree()
    (work / "a.txt").write_text("b\n")
    told = cleaned(house, work)
    assert (told.state, told.why) == ("kept", "uncommitted work: 1 changed")


def test_P49_no_merge_driver_runs_or_merges(house: House, ran: Path) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "a.txt", "ours\n")
    repo.commit(repo.main, "a.txt", "theirs\n")
    repo.git("config", "merge.x.driver", f"touch {ran}")
    (repo.main / ".git" / "info" / "attributes").write_text("* merge=x\n")
    assert (cleaned(house, work).state, ran.exists()) == ("kept", False)


def test_P49_no_server_is_asked(house: House, ran: Path) -> None:
    """A partial clone asks for what it has not; the agent says by which program."""
    repo = Repo(house)
    work = repo.worktree()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "far",
        "remote.far.promisor": "true",
        "remote.far.url": f"ext::sh -c touch% {ran}",
        "protocol.ext.allow": "always",
    }.items():
        repo.git("config", key, value)
    (repo.main / ".git" / "worktrees" / "work" / "FETCH_HEAD").write_text(f"{'1' * 40}\n")
    cleaned(house, work, Cleanup.FORCE)
    assert not ran.exists()


def test_P49_a_sparse_partial_clone_is_cleaned_up_without_its_server(house: House) -> None:
    repo = Repo(house)
    (repo.main / "deep").mkdir()
    repo.commit(repo.main, "deep/b.txt", "b\n")
    repo.git("config", "uploadpack.allowFilter", "true")
    words = ("clone", "-q", "--filter=blob:none", "--sparse", f"file://{repo.main}", "part")
    repo.git(*words, cwd=house.root)
    made = repo.trees.create(str(house.root / "part"), str(house.root / "work"), "work", "HEAD")
    work = Path(made.top)
    (work / "new.txt").write_text("new")
    repo.main.rename(house.root / "offline")
    told = cleaned(house, work, Cleanup.FORCE)
    assert (told.state, told.failed) == ("removed", ())


def test_P49_no_signature_is_checked(house: House, ran: Path) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    program = house.root / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    repo.git("config", "gpg.program", str(program))
    repo.git("commit", "-q", "--allow-empty", "-m", "unsigned")
    head, _, message = repo.git("cat-file", "commit", "HEAD").partition("\n\n")
    seal = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----"
    (house.root / "signed").write_text(f"{head}\n{seal}\n\n{message}\n")
    words = ("hash-object", "-t", "commit", "-w", str(house.root / "signed"))
    repo.git("update-ref", "refs/knell/rescue/luna/run1", repo.git(*words))
    repo.git("config", "log.showSignature", "true")
    assert (cleaned(house, work, Cleanup.FORCE).state, ran.exists()) == ("removed", False)
