"""Cline CLI, read from 3.0.65: its help, and runs against a local model.

The work is done in a hub, a daemon in a session of its own that all its terminals share.
"""

from typing import Any

from knell.core.arguments import Flags
from knell.core.kind import Helper, Kind, npm, words_of
from knell.core.mcp_client import McpClient, McpServer


def _document(server: McpServer) -> dict[str, Any]:
    """As `cline mcp add` writes it."""
    entry = {"type": "stdio", **server.started_only("cline")}
    return {"mcpServers": {"knell": {"transport": entry}}}


KIND = Kind(
    "cline",
    **npm("cline", "cline"),
    seen=("3.0.65",),
    id_pattern=r"\d{13}_[0-9a-z]+",
    # From any directory, and in that one it goes on.
    resume=("--id", "{id}"),
    picks=("--id",),
    subcommands=words_of("""
        auth config plugin skill connect mcp doctor history h hook schedule hub dashboard
        update version kanban"""),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -V --version -p --plan --json -i --tui -z --zen --acp --worktree --update --kanban
            -v --verbose -h --help"""),
        once=("--worktree", "-z", "--zen"),
    ),
    # Read by letting it run `env` as a tool.
    strip_env=("CLINE_CONNECTOR_CLI_LAUNCH", "CLINE_HOOK_AGENT_RESUME"),
    exit_keys="/quit",
    # Took both lines of a prompt; Escape closes what covers the prompt.
    clear_keys=("Escape", "C-c"),
    prompt_shown=r"(?m)^ *─+ *\n *\u276f (?![\s\S]*\[y\] Approve)",
    # Alone between the two rules of the prompt (its sign is U+276F).
    exit_shown=r"(?m)^ *─+ *\n *\u276f /quit *\n *─+ *$(?![\s\S]*^ *[\u276f─])",
    helpers=(Helper("*/cline --cline-hub-daemon*", ("cline",), "cline hub stop"),),
    root="{home}/.cline",
    # Besides the folder there are rows in data/db/sessions.db.
    conversation=("data/sessions/{id}/{id}.messages.json",),
    extras=("data/sessions/{id}",),
    printed=(r"\n *Continue +cline --id (\d{13}_[0-9a-z]+)\s*\Z",),
    busy=r"\(esc to cancel\)",
    busy_in_answers=True,
    asks=(
        r"(?m)^ *Approve tool call\?(?=[\s\S]*\[y\] Approve)(?![\s\S]*^ *\u276f )",
        # At its first start.
        r"Connect a model provider to get started\.(?=[\s\S]*Enter to select)",
    ),
    mcp=McpClient("~/.cline/data/settings/cline_mcp_settings.json", _document),
)
