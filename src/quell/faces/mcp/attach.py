"""`spawn --mcp`: how an agent is started with this server in its settings, for this run alone."""

import json
from typing import NamedTuple

from quell.core.errors import BadRequest
from quell.faces.mcp.config import claude_entry, codex_entry, opencode_settings


class Attached(NamedTuple):
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


def attached(kind: str) -> Attached:
    """What the program of that kind must be given; nothing is written into a file of its user."""
    match kind:
        case "claude":
            # With `=`, as the option would else take the words behind it for files as well.
            document = {"mcpServers": {"quell": claude_entry("")}}
            return Attached((f"--mcp-config={json.dumps(document)}",))
        case "codex":
            pairs = [
                f"mcp_servers.quell.{key}={json.dumps(value)}" for key, value in codex_entry("")
            ]
            return Attached(tuple(word for pair in pairs for word in ("-c", pair)))
        case "opencode":
            return Attached(env=(("OPENCODE_CONFIG_CONTENT", json.dumps(opencode_settings(""))),))
        case _:
            raise BadRequest(
                f"{kind} takes no server for one start alone",
                f"--mcp is for claude, codex and opencode; else: quell mcp --config {kind}"
                if kind == "gemini"
                else "--mcp is for claude, codex and opencode",
            )
