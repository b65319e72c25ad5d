"""R1: conversation files that are huge, torn, foreign, links, unreadable or of a newer format.

Every verb answers in its time, nothing is read or deleted through a link, and what cannot be looked
at is never called gone.
"""

import json
import os
import sqlite3
import uuid
from pathlib import Path
from typing import Any

import pytest

from house import House
from knell import kinds
from knell.core.conversation import NOTHING_KNOWN, TOLD, KnownConversation
from knell.core.kind import Kind
from unprivileged import handed_over, unprivileged

KINDS = ("claude", "codex", "gemini", "opencode")
HUGE = 8 << 30  # bytes, of which none is on the disk
WORDS = "the first words of a person"


class Desk:
    """An ended agent of a kind, and files in the place of its conversation."""

    def __init__(self, house: House, name: str) -> None:
        self.house = house
        self.kind: Kind = kinds.kind(name)
        self.project = house.root.resolve() / "project"
        self.project.mkdir()
        program = house.root / "bin" / name
        program.parent.mkdir()
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        program.chmod(0o755)
        house.env["PATH"] = f"{program.parent}:{house.env['PATH']}"
        house.knell.spawn(
            name, name="ada", place="tmux", server="test", session="ada", cwd=str(self.project)
        )
        house.kill("ada")
        for file in house.state.rglob("began"):  # by which gemini is followed
            file.unlink()

    def id(self) -> str:
        """One that the agent is surely in from now on."""
        id = "ses_1" if self.kind.database else str(uuid.uuid4())
        known = KnownConversation(id, TOLD, self.house.knell.world.now())
        self.house.knell.world.store.runs.set_conversation("ada", known)
        return id

    def path(self, id: str) -> Path:
        key = self.kind.cwd_key(str(self.project)) if self.kind.cwd_key else ""
        below = {
            "claude": f".claude/projects/{key}/{id}.jsonl",
            "codex": f".codex/sessions/2026/11/16/rollout-2026-11-16T12-00-00-{id}.jsonl",
            "gemini": f".gemini/tmp/project/chats/session-2026-11-16T12-00-{id[:8]}.jsonl",
            "opencode": ".local/share/opencode/opencode.db",
        }
        path = self.house.home / below[self.kind.name]
        path.parent.mkdir(parents=True)
        (path.parent.parent / ".project_root").write_text(str(self.project))  # gemini's
        return path

    def write(self, path: Path, id: str) -> None:
        """A good one, with a person's words in it."""
        if self.kind.database:
            with sqlite3.connect(path) as db:
                columns = "id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER"
                db.execute(f"CREATE TABLE session ({columns})")
                db.execute("INSERT INTO session VALUES (?, NULL, ?, 1)", [id, str(self.project)])
            return
        path.write_text("".join(json.dumps(one) + "\n" for one in self.records(id)))

    def good(self, id: str) -> Path:
        path = self.path(id)
        self.write(path, id)
        return path

    def records(self, id: str) -> list[dict[str, Any]]:
        text = [{"type": "text", "text": WORDS}]
        meta = {"id": id, "cwd": str(self.project)}
        return {
            "claude": [{"type": "user", "sessionId": id, "message": {"content": text}}],
            "codex": [
                {"type": "session_meta", "payload": meta},
                {"type": "event_msg", "payload": {"type": "user_message", "message": WORDS}},
            ],
            "gemini": [{"sessionId": id, "kind": "main"}, {"type": "user", "content": text}],
        }[self.kind.name]

    def shown(self) -> tuple[bool, str]:
        """Whether `show` has a way back, and why not."""
        told = self.house.json("show", "ada")
        return bool(told["resume"]), told["why_not_resumable"]

    def purge(self) -> str:
        done = self.house.run("stop", "ada", "--purge-conversation", "--yes")
        assert done.returncode in (0, 1), done.stderr
        return done.stdout + done.stderr

    def candidates(self) -> str:
        """What `resume` shows where nothing is sure."""
        self.house.knell.world.store.runs.set_conversation("ada", NOTHING_KNOWN)
        done = self.house.run("resume", "ada", cwd=self.project)
        assert done.returncode == 1, done.stderr
        return done.stderr


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
    os.truncate(path, HUGE)
    ways, why = desk.shown()
    assert (ways, "never written" in why) == (True, False)
    assert id in desk.candidates()


def test_R1_torn(desk: Desk) -> None:
    """A file that was cut short goes on; what is left of a database cannot be asked."""
    id = desk.id()
    path = desk.good(id)
    os.truncate(path, path.stat().st_size - 5 if not desk.kind.database else 1000)
    assert desk.shown() == ((False, unread(desk)) if desk.kind.database else (True, ""))
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
        assert (way, why in (unread(desk), empty)) == (False, True), why
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
    assert (way, why) == ((False, unread(desk)) if desk.kind.database else (True, ""))
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


def test_R1_without_permission_it_is_not_called_gone(house: House) -> None:
    """For root every file is readable, so another user looks."""
    desk = Desk(house, "codex")
    path = desk.good(desk.id())
    path.chmod(0)
    handed_over(house)
    for file in [*house.state.rglob("*"), *house.home.rglob("*")]:
        os.chown(file, house.root.stat().st_uid, house.root.stat().st_gid)
    path.parent.chmod(0)
    done = unprivileged(house, "show", "ada", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "never written" not in told["why_not_resumable"]


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


def unread(desk: Desk) -> str:
    return f"{desk.kind.name}'s files could not be read"
