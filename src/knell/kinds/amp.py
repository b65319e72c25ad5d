"""Amp, read from 0.0.1790142911: its help and its first screen. Beyond that it wants an account.

Its threads lie on the vendor's server. Neither its prompt nor its questions were seen, nor what a
person types to leave it.
"""

from typing import Any

from knell.core.kind import Kind, npm, words_of
from knell.core.mcp_client import McpClient, McpServer


def _document(server: McpServer) -> dict[str, Any]:
    """As `amp mcp add` writes it."""
    return {"amp.mcpServers": {"knell": server.started_only("amp")}}


KIND = Kind(
    "amp",
    **npm("amp", "@sourcegraph/amp"),
    seen=("0.0.1790142911",),
    # From `amp threads continue --help`: an id or the address of a thread.
    resume=("threads", "continue", "{id}"),
    subcommands=words_of("""
        version logout login orb orb-spawner portal net runner clone git-setup files top
        report-bug tools plugins skill permissions mcp config svc usage update completions
        threads last review"""),
    asks=(r"(?m)^Would you like to log in to Amp\? \[\(y\)es, \(n\)o\]:[^\n]*\s*\Z",),
    mcp=McpClient("~/.config/amp/settings.json", _document),
)
