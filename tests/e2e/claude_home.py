"""A home where the real Claude Code starts without a question, with what only Claude has."""

import json
from pathlib import Path
from typing import Any

from e2e.home import DOCILE, PANE, PROCESSES, STUBBORN, Home, Told, reached
from e2e.model import Server
from e2e.programs import CLAUDE
from e2e.programs import install as install_programs
from house import House, eventually

__all__ = ["DOCILE", "PANE", "PROCESSES", "STUBBORN", "ClaudeHome", "Told", "reached"]

VERSION = CLAUDE.version


def install(where: Path) -> Path:
    """Claude Code alone; the directory of its command."""
    return install_programs(where, CLAUDE)


class ClaudeHome(Home):
    """One person's home and project, with a docile MCP server and the only pane of its tmux."""

    def __init__(self, house: House, model: Server, commands: Path) -> None:
        super().__init__(house, model, commands, CLAUDE, DOCILE)

    def records(self) -> list[dict[str, Any]]:
        """Those of the only conversation; fails if the last is not whole."""
        [path] = self.conversations()
        text = path.read_text()
        assert text.endswith("\n")
        return [json.loads(line) for line in text.splitlines()]

    def written(self, text: str) -> bool:
        """Whether the conversation on disk holds it."""
        return any(text in path.read_text() for path in self.conversations())

    def session_of(self, pid: int) -> str:
        """The conversation that Claude itself says it is in."""
        note = self.house.home / f".claude/sessions/{pid}.json"
        eventually(note.exists)
        return json.loads(note.read_text())["sessionId"]

    def left_in_order(self) -> bool:
        """Whether Claude itself notes that the last session of the project was not cut short."""
        projects = json.loads((self.house.home / ".claude.json").read_text())["projects"]
        return projects[str(self.project)]["lastGracefulShutdown"]
