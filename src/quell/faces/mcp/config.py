"""What to write into a program's settings so that it uses this server."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

TOKEN = "QUELL_TOKEN"  # noqa: S105 - the name of a variable
# Codex hands a server only those variables that are named; these say where quell's state is.
PASSED = ("QUELL_HOME", "QUELL_HOST", "XDG_STATE_HOME", "XDG_CONFIG_HOME", TOKEN)


class Snippet(NamedTuple):
    file: str  # where it belongs
    text: str


def snippet(program: str, address: str = "") -> Snippet:
    """For a server of its own, or, with an address, for the one that serves all agents."""
    return PROGRAMS[program](address)


def command() -> list[str]:
    """How this very installation is started, from anywhere."""
    beside = os.path.join(os.path.dirname(sys.executable), "quell")
    if os.access(beside, os.X_OK):
        return [beside]
    return [sys.executable, "-m", "quell"]


def claude(address: str) -> Snippet:
    return Snippet(
        ".mcp.json, in the project", _json({"mcpServers": {"quell": claude_entry(address)}})
    )


def claude_entry(address: str) -> dict[str, Any]:
    if address:
        return {"type": "http", "url": address, "headers": _bearer(f"${{{TOKEN}}}")}
    return {"type": "stdio", **_started()}


def codex(address: str) -> Snippet:
    lines = [
        "[mcp_servers.quell]",
        *(f"{key} = {json.dumps(v)}" for key, v in codex_entry(address)),
    ]
    return Snippet("~/.codex/config.toml", "\n".join(lines) + "\n")


def codex_entry(address: str) -> list[tuple[str, Any]]:
    if address:
        return [("url", address), ("bearer_token_env_var", TOKEN)]
    return [*_started().items(), ("env_vars", list(PASSED))]


def gemini(address: str) -> Snippet:
    entry = {"httpUrl": address, "headers": _bearer(f"${TOKEN}")} if address else _started()
    return Snippet("~/.gemini/settings.json", _json({"mcpServers": {"quell": entry}}))


def opencode(address: str) -> Snippet:
    return Snippet("opencode.json", _json(opencode_settings(address)))


def opencode_settings(address: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": [*command(), "mcp"], "enabled": True}
    if address:
        entry = {"type": "remote", "url": address, "enabled": True, "oauth": False}
        entry["headers"] = _bearer(f"{{env:{TOKEN}}}")
    return {"mcp": {"quell": entry}}


def cursor(address: str) -> Snippet:
    entry = {"url": address, "headers": _bearer(f"${{env:{TOKEN}}}")} if address else _started()
    return Snippet("~/.cursor/mcp.json", _json({"mcpServers": {"quell": entry}}))


def _started() -> dict[str, Any]:
    first, *rest = command()
    return {"command": first, "args": [*rest, "mcp"]}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


PROGRAMS: dict[str, Callable[[str], Snippet]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "cursor": cursor,
}
