"""An ended agent of each of the four programs, and files in the place of its conversation."""

import json
import sqlite3
import uuid
from pathlib import Path
from typing import Any

from house import House
from knell import kinds
from knell.core.conversation import NOTHING_KNOWN, TOLD, KnownConversation
from knell.core.kind import Kind

KINDS = ("claude", "codex", "gemini", "opencode")
WORDS = "the first words of a person"


class Desk:
    """One agent of a kind, its stand-in, and one project."""

    def __init__(self, house: House, name: str, *, lives: bool = False) -> None:
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
        if not lives:
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

    def unread(self) -> str:
        """Why there is no way back where its files could not be looked at."""
        return f"{self.kind.name}'s files could not be read"
