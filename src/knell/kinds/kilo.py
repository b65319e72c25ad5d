"""Kilo Code CLI, read from 7.7.7: its help, its database, and runs against a local model.

A fork of opencode: a node launcher and the native program, the same tables, the same screen, the
same keys.
"""

from typing import Any

from knell.core.arguments import Flags
from knell.core.kind import npm, words_of
from knell.core.mcp_client import McpClient, McpServer
from knell.kinds.opencode import KIND as OPENCODE


def _document(server: McpServer) -> dict[str, Any]:
    """As `kilo mcp add` writes it."""
    entry = server.started_only("kilo")
    return {"mcp": {"knell": {"type": "local", "command": [entry["command"], *entry["args"]]}}}


KIND = OPENCODE._replace(
    skills=(),  # not seen
    name="kilo",
    **npm("kilo", "@kilocode/cli"),
    seen=("7.7.7",),
    child_env=("KILO_PID",),
    session_env="KILO_PID",
    subcommands=words_of("""
        completion acp mcp attach run debug auth providers agent upgrade uninstall serve models
        stats export import github pr session plugin plug db console cloud roll-call profile
        remote daemon config worktree help"""),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -h --help -v --version --print-logs --pure --mdns --fork -c --continue --cloud-fork
            --auto --mini --no-replay"""),
        lists=("--cors",),
        prompts=("--prompt",),
        once=("--fork", "--cloud-fork", "--worktree"),
    ),
    # Read by letting it run `env` as a tool. It sets OPENCODE as well.
    strip_env=words_of("""
        KILO KILO_PID KILO_RUN_ID KILO_PROCESS_ROLE KILOCODE_FEATURE OPENCODE KILOCODE_VERSION
        KILO_BACKGROUND_PROCESS_PORTS KILO_TREE_SITTER_WASM_DIR"""),
    root_env=(("XDG_DATA_HOME", "/kilo"),),
    root="{home}/.local/share/kilo",
    conversation=("kilo.db",),
    printed=(r"\bkilo -s (ses_[0-9A-Za-z]+)(?:\n[^\n]*)?\s*\Z",),
    busy=r"\besc (?:again to )?interrupt\b",
    mcp=McpClient("~/.config/kilo/kilo.jsonc", _document),
    other_names=("kilocode",),
    # Not tried with kilo.
    headless=None,
    tell=None,
    serving=None,
    lost=(),
)
