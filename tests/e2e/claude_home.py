"""A home where the real Claude Code starts without a question, and a pane to type into it."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2e.model import Asked, Server
from house import CEILING, House, alive, eventually
from quell.core.kind import below_root, conversation_root
from quell.kinds.claude import KIND

VERSION = "2.1.197"
PACKAGE = f"@anthropic-ai/claude-code@{VERSION}"
KEY = "sk-ant-stand-in-for-a-key-000000000000000000"  # of nobody
KEY_TAIL = 20  # by the end of a key the program remembers that it may use it
MCP_SERVER = Path(__file__).with_name("mcp_server.py")
PROMPT_SIGN = "❯"


def install(where: Path) -> Path:
    """Claude Code from the registry that npm is told to use; the directory of its command."""
    npm = ("npm", "install", "--prefix", str(where), "--cache", str(where / "cache"))
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error")
    subprocess.run([*npm, *quiet, PACKAGE], check=True, stdin=subprocess.DEVNULL, timeout=600)
    # npm may hold back install scripts; this one puts the native program in place.
    package = where / "node_modules/@anthropic-ai/claude-code"
    subprocess.run(["node", "install.cjs"], cwd=package, check=True, timeout=120)
    return where / "node_modules/.bin"


class ClaudeHome:
    """One person's home and project, the model on loopback, and the pane of `luna`."""

    def __init__(self, house: House, model: Server, program: Path) -> None:
        self.house = house
        self.model = model
        self.project = house.root / "project"
        self.project.mkdir()
        self.pids = house.root / "mcp.pids"
        house.env |= {
            "PATH": f"{program}:{house.env['PATH']}",
            "ANTHROPIC_BASE_URL": model.address,
            "ANTHROPIC_API_KEY": KEY,
            # Whatever it wants outside comes to the stand-in too, which refuses it.
            "HTTPS_PROXY": model.address,
            "HTTP_PROXY": model.address,
            "NO_PROXY": "127.0.0.1,localhost",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        self.settle_dialogs()

    def settle_dialogs(self) -> None:
        """Theme, key and trust, as if a person had answered long ago."""
        trusted = {
            "hasTrustDialogAccepted": True,
            "hasCompletedProjectOnboarding": True,
            "enabledMcpjsonServers": ["weather"],
        }
        settings = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": VERSION,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-KEY_TAIL:]], "rejected": []},
            "projects": {str(self.project.resolve()): trusted},
        }
        (self.house.home / ".claude.json").write_text(json.dumps(settings))
