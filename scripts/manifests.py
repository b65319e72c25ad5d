"""The files by which other programs find knell, made from the code: no version is told twice.

`make docs` writes them, `make check` compares them."""

import json
from typing import Any

from knell import __version__
from knell.core.hooks.entries import entries
from knell.kinds.claude import KIND as CLAUDE

DESCRIPTION = "End AI coding agents surely, and lose nothing."
# Whoever publishes knell proves this name by a GitHub account or a domain of their own: it is here
# and in the last line of README.md.
MCP_NAME = "io.github.knell-project/knell"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
PLUGIN = "src/knell/plugin"
KEYWORDS = ["agents", "tmux", "processes", "teams", "mcp"]


def manifests() -> dict[str, str]:
    """Each file's path from the root → its text."""
    return {
        ".claude-plugin/marketplace.json": document(marketplace()),
        f"{PLUGIN}/.claude-plugin/plugin.json": document(plugin()),
        f"{PLUGIN}/.mcp.json": document(mcp_servers()),
        f"{PLUGIN}/hooks/hooks.json": document(hooks()),
        "server.json": document(server()),
        "CITATION.cff": CITATION.format(version=__version__, description=DESCRIPTION),
    }


def document(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"


def marketplace() -> dict[str, Any]:
    entry = {"name": "knell", "source": f"./{PLUGIN}", "description": DESCRIPTION}
    return {
        "name": "knell",
        "owner": {"name": "knell contributors"},
        "metadata": {"description": DESCRIPTION},
        "plugins": [{**entry, "category": "productivity", "tags": KEYWORDS}],
    }


def plugin() -> dict[str, Any]:
    """Skills, hooks and the MCP server lie where Claude Code looks for them by itself."""
    return {
        "name": "knell",
        "version": __version__,
        "description": DESCRIPTION,
        "author": {"name": "knell contributors"},
        "license": "MIT",
        "keywords": KEYWORDS,
    }


def mcp_servers() -> dict[str, Any]:
    return {"mcpServers": {"knell": {"command": "knell", "args": ["mcp"]}}}


def hooks() -> dict[str, Any]:
    """The heartbeat hooks that `knell hooks install claude` puts into the settings."""
    assert CLAUDE.hooks  # noqa: S101 - the kind of Claude Code has them
    found = entries(CLAUDE.hooks)
    return {
        "description": "A sign of life for agents that knell started; nothing for others.",
        "hooks": {event: [{"hooks": [handler]}] for event, handler in found.items()},
    }


def server() -> dict[str, Any]:
    """For the MCP registry: a client runs `uvx --from knell[mcp]==VERSION knell mcp`."""
    package = {
        "registryType": "pypi",
        "identifier": "knell",
        "version": __version__,
        "runtimeHint": "uvx",
        "runtimeArguments": [
            {"type": "named", "name": "--from", "value": f"knell[mcp]=={__version__}"}
        ],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": SCHEMA,
        "name": MCP_NAME,
        "title": "knell",
        "description": "End, watch, start and resume AI coding agents; every ending is proven.",
        "version": __version__,
        "packages": [package],
    }


CITATION = """\
cff-version: 1.2.0
message: If you use knell or its measurements in your work, please cite it.
title: knell
abstract: {description}
type: software
authors:
  - name: knell contributors
license: MIT
version: {version}
"""
