"""Mistral Vibe, read from 3.0.2: its help, and runs against a local model.

A native program, and its app server in a process group of its own, which ends with it.
"""

from knell.core.arguments import Flags
from knell.core.environment import TOKEN
from knell.core.kind import UUID, Kind, words_of
from knell.core.mcp_client import McpClient, McpServer


def _toml(server: McpServer) -> str:
    """As `vibe mcp add` writes it."""
    if not server.address:
        args = ", ".join(f'"{word}"' for word in server.command[1:])
        lines = ('transport = "stdio"', f'command = "{server.command[0]}"', f"args = [{args}]")
    else:
        lines = ('transport = "streamable-http"', f'url = "{server.address}"', "")
        lines += ("[mcp_servers.auth]", 'type = "static"', f'api_key_env = "{TOKEN}"')
    return "\n".join(("[[mcp_servers]]", 'name = "knell"', *lines)) + "\n"


KIND = Kind(
    "vibe",
    program="vibe",
    install="pip install mistral-vibe",
    seen=("3.0.2",),
    paths=("vibe/_bin/vibe-rs",),
    id_pattern=UUID,
    # From any directory, and in that one it goes on.
    resume=("--resume", "{id}"),
    picks=("--resume", "--continue", "-c"),
    subcommands=("mcp", "help", "update"),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -v --version -c --continue --setup --auto-approve --yolo --smart-approve --trust
            --check-upgrade -h --help"""),
        repeated=("--enabled-tools", "--disabled-tools", "--add-dir"),
        prompts=("-p", "--prompt"),
        once=("--worktree", "--prompt-file"),
    ),
    # Read by letting it run `env` as a tool; the others are names that people set themselves.
    strip_env=("VIBE_APP_SERVER_BIN",),
    exit_keys="/exit",
    # Took both lines of a prompt; Escape ends a turn.
    clear_keys=("Escape", "C-c"),
    prompt_shown=r"(?m)─ *\n[>/](?![\s\S]*^│ Permission for )",
    # Alone between the two rules of the prompt, whose sign becomes the slash.
    exit_shown=r"(?m)─ *\n/ exit *\n(?: *\n)*─+ *$(?![\s\S]*^[>/─])",
    root_env=(("VIBE_HOME", ""),),
    root="{home}/.vibe",
    conversation=("logs/session/unified/{id}/CURRENT",),
    extras=("logs/session/unified/{id}",),
    lost=("Failed to resume session: Session not found",),  # and then waits for a prompt
    busy=r"\(\d+\w* Esc/Ctrl\+C to interrupt\)",
    busy_in_answers=True,
    # The last line of the box; the prompt is not drawn meanwhile.
    asks=(r"(?m)^│ Permission for [^\n│]*(?=[\s\S]*Enter select  Esc reject)(?![\s\S]*^[>/!])",),
    mcp=McpClient("~/.vibe/config.toml", _toml),
    other_names=("mistral-vibe",),
)
