"""Gives a program knell's MCP server: for one start, or for good by a text for its settings."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeGuard

from knell.core.environment import TOKEN
from knell.core.errors import BadRequest
from knell.core.mcp_client import McpClient, McpServer, reached_document
from knell.core.ports.kinds import Kinds


class McpSnippet(NamedTuple):
    file: str  # where it belongs
    text: str


def mcp_snippet(kinds: Kinds, program: str, address: str = "") -> McpSnippet:
    """For a server of its own, or, with an address, for the one that serves all agents."""
    client = EDITORS.get(program) or kinds.kind(program).mcp
    if client is None:
        raise BadRequest(f"knell does not know how {program} names MCP servers in its settings")
    text = client.snippet(_server(address))
    return McpSnippet(
        client.file, text if isinstance(text, str) else f"{json.dumps(text, indent=2)}\n"
    )


def mcp_programs(kinds: Kinds) -> list[str]:
    """The programs that `mcp_snippet` knows."""
    return [*(kind.name for kind in kinds.everything()[0] if kind.mcp), *EDITORS]


def with_mcp_server(
    kinds: Kinds, name: str, args: Sequence[str], env: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The arguments and variables with which a program of that kind uses the server for this one
    start. Nothing is written into a settings file of the program's user."""
    client = kinds.kind(name).mcp
    if not _takes_one(client):
        able = [kind.name for kind in kinds.everything()[0] if _takes_one(kind.mcp)]
        hint = f"--mcp is for {', '.join(able[:-1])} and {able[-1]}"
        other = f"; else: knell mcp --config {name}" if client else ""
        what = "a plain command" if name == "command" else name
        raise BadRequest(f"{what} takes no MCP server for a single start", hint + other)
    server = _server()
    end = args.index("--") if "--" in args else len(args)  # what follows `--` is no option
    more = client.args(server) if client.args else ()
    variables = client.env(server) if client.env else ()
    return (*args[:end], *more, *args[end:]), {**dict(variables), **env}


def _takes_one(client: McpClient | None) -> TypeGuard[McpClient]:
    return client is not None and bool(client.args or client.env)


def _server(address: str = "") -> McpServer:
    """The server, started by this very installation of knell from any directory."""
    beside = os.path.join(os.path.dirname(sys.executable), "knell")
    module = (sys.executable, "-P", "-m", "knell")
    command = (beside,) if os.access(beside, os.X_OK) else module
    return McpServer((*command, "mcp"), address)


# An editor that people manage agents from; it is no kind of agent.
EDITORS = {"cursor": McpClient("~/.cursor/mcp.json", reached_document("url", f"${{env:{TOKEN}}}"))}
