"""R1: conversation files that are huge, torn, foreign, links, unreadable or of a newer format.

Every verb answers in its time, nothing is read or deleted through a link, and what cannot be looked
at is never called gone.
"""

import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

import several
from conversation_desk import KINDS, WORDS, Desk
from house import House
from unprivileged import without_override

HUGE = 8 << 30  # bytes, of which none is on the disk
ENOUGH = 700_000_000  # bytes of address space, for a knell that reads no such file whole


@pytest.fixture(params=KINDS)
def desk(house: House, request: pytest.FixtureRequest) -> Desk:
    return Desk(house, request.param)


def test_R1_a_good_one_is_found(desk: Desk) -> None:
    """So that the others below are bad for their own reason."""
    id = desk.id()
    desk.good(id)
    assert desk.shown() == (True, "")
    told = desk.candidates()
    assert id in told
    assert desk.kind.database or WORDS in told


def test_R1_huge(desk: Desk) -> None:
    id = desk.id()
    path = desk.good(id)
    grow(path)
    ways, why = desk.shown()
    assert (ways, "never written" in why) == (True, False)
    assert id in desk.candidates()


def grow(path: Path) -> None:
    """A hole, and the last line once more behind it."""
    last = path.read_bytes().splitlines(keepends=True)[-1]
    with path.open("r+b") as file:
        file.seek(HUGE)
        file.write(b"\n" + last)


def in_little_memory(desk: Desk, *commands: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each `knell ARGS --json` where nothing of that size can be read."""
    out = desk.house.root / "ends"
    argv = several.argv(out, [(*words, "--json") for words in commands])
    subprocess.run(
        ["prlimit", f"--as={ENOUGH}", *argv], env=desk.house.env, cwd=desk.project, check=True,
        stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip
    ends = several.ends(out)
    assert not any(done.returncode for done in ends), ends
    return [json.loads(done.stdout) for done in ends]


@pytest.mark.parametrize("name", KINDS)
def test_R1_a_living_agent_with_a_huge_one_is_judged_and_ended(house: House, name: str) -> None:
    """No verb reads it whole, nor keeps a copy of it; what is deleted is the file itself."""
    desk = Desk(house, name, lives=True)
    path = desk.good(desk.id())
    grow(path)
    listed, _, _, killed = in_little_memory(
        desk, ("list",), ("explain", "ada"), ("watch", "--once"), ("kill", "ada")
    )
    assert [view["name"] for view in listed["agents"]] == ["ada"]
    [receipt] = killed["receipts"]
    assert (receipt["result"], receipt["conversation"]["exists"]) == ("ended", True), receipt
    assert house.knell.world.disk.allocated_bytes(str(house.state)) < 10_000_000
    if not desk.kind.database:
        in_little_memory(desk, ("stop", "ada", "--purge-conversation", "--yes"))
    assert path.exists() == bool(desk.kind.database)


def test_R1_torn(desk: Desk) -> None:
    """A file that was cut short goes on; what is left of a database cannot be asked."""
    id = desk.id()
    path = desk.good(id)
    os.truncate(path, path.stat().st_size - 5 if not desk.kind.database else 1000)
    assert desk.shown() == ((False, desk.unread()) if desk.kind.database else (True, ""))
    assert (id in desk.candidates()) != bool(desk.kind.database)


@pytest.mark.parametrize("text", [b"\x00\xff" * 999, b"[" * 99_999, b'"x"\n7\n[{}]\n', b""])
def test_R1_foreign(desk: Desk, text: bytes) -> None:
    """Bytes of another program: an id in a name counts, and one that would have to be inside."""
    path = desk.path(desk.id())
    path.write_bytes(text)
    way, why = desk.shown()
    inside = desk.kind.name == "gemini" and text
    if desk.kind.database:
        empty = "it was never written to disk"  # SQLite takes an empty file for a new database
        assert (way, why in (desk.unread(), empty)) == (False, True), why
    else:
        assert (way, why) == ((False, "it was never written to disk") if inside else (True, ""))
    desk.candidates()
    assert path.exists()


def test_R1_a_link_is_read_and_never_deleted_through(desk: Desk) -> None:
    id = desk.id()
    path = desk.path(id)
    elsewhere = desk.house.root / "elsewhere"
    desk.write(elsewhere, id)
    path.symlink_to(elsewhere)
    assert desk.shown() == (True, "")
    assert "not deleted" in desk.purge() or desk.kind.database
    assert (elsewhere.exists(), path.is_symlink()) == (True, True)


@pytest.mark.parametrize("to", ["/dev/zero", "itself"])
def test_R1_a_link_to_a_device_or_to_itself_is_no_trap(desk: Desk, to: str) -> None:
    """Nothing is read from a device without an end; and a link stays where it is."""
    path = desk.path(desk.id())
    path.symlink_to(path if to == "itself" else to)
    desk.shown()
    desk.candidates()
    desk.purge()
    assert path.is_symlink()


def test_R1_a_link_to_nothing_is_no_conversation(desk: Desk) -> None:
    path = desk.path(desk.id())
    path.symlink_to(desk.house.root / "nothing")
    assert desk.shown() == (False, "it was never written to disk")
    assert desk.house.run("resume", "ada", cwd=desk.project).returncode == 1


def test_R1_a_folder_that_is_a_link_keeps_what_it_names(desk: Desk) -> None:
    """The program's folder was moved: its files are found, and none is deleted through the link."""
    id = desk.id()
    path = desk.good(id)
    moved = desk.house.root / "moved"
    path.parent.rename(moved)
    path.parent.symlink_to(moved)
    assert desk.shown() == (True, "")
    desk.purge()
    assert (moved / path.name).exists()


@pytest.mark.parametrize("what", ["fifo", "directory"])
def test_R1_what_cannot_be_read_is_not_called_gone(desk: Desk, what: str) -> None:
    id = desk.id()
    path = desk.path(id)
    if what == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    way, why = desk.shown()
    assert (way, why) == ((False, desk.unread()) if desk.kind.database else (True, ""))
    desk.candidates()
    assert path.exists()


@pytest.mark.parametrize("what", ["fifo", "directory"])
def test_R1_what_cannot_be_read_is_not_deleted_by_eight_characters(house: House, what: str) -> None:
    """Only the file itself says whole whose conversation it is, and another may begin alike."""
    desk = Desk(house, "gemini")
    path = desk.path(desk.id())
    if what == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert "cannot be read, and may be that of another" in desk.purge()
    assert path.exists()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_R1_without_permission_it_is_not_called_gone(desk: Desk, what: str) -> None:
    """Neither the file nor the folder above it may be read: nobody says that nothing is there, and
    nothing is deleted that only the file itself could name."""
    path = desk.good(desk.id())
    closed = path if what == "file" else path.parent
    closed.chmod(0)
    try:
        shown = without_override(desk.house, "show", "ada", "--json")
        purged = without_override(desk.house, "stop", "ada", "--purge-conversation", "--yes")
    finally:
        if closed.exists():
            closed.chmod(0o700)
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    by_its_name = what == "file" and not desk.kind.database
    assert (bool(told["resume"]), told["why_not_resumable"]) == (
        (True, "") if by_its_name else (False, desk.unread())
    )
    named_whole = by_its_name and desk.kind.name != "gemini"
    assert path.exists() != named_whole, purged.stdout + purged.stderr


def test_R1_of_a_newer_format_it_is_unsure(desk: Desk) -> None:
    """The program has become newer than any that knell was tried with."""
    package = desk.house.root / "bin" / "package.json"
    package.write_text(json.dumps({"name": desk.kind.packages[0], "version": "999.0.0"}))
    id = desk.id()
    path = desk.path(id)
    if desk.kind.database:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE talk (id TEXT)")
    else:
        path.write_text(f'{{"v": 9, "thread": "{id}"}}\n{{"v": 9, "words": "hello"}}\n')
    way, why = desk.shown()
    begins = f"unsure: {desk.kind.name} 999.0.0 writes its conversations in a way that knell"
    assert (way, why.startswith(begins), "`knell doctor`" in why) == (False, True, True), why
    assert desk.house.run("resume", "ada", cwd=desk.project).returncode == 1
    assert "not deleted" in desk.purge()
    assert path.exists()
