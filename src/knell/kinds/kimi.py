"""Kimi CLI, read from 1.47.0: its help, and runs against a local model.

1.52.0, the last one on PyPI, only says that Kimi Code has taken its place.
"""

from knell.core.arguments import Flags
from knell.core.kind import UUID, Kind, words_of
from knell.core.mcp_client import McpClient, started_document


def cwd_key(cwd: str) -> str:
    """The folder of a path: its MD5 sum."""
    from hashlib import md5

    return md5(cwd.encode(errors="surrogateescape"), usedforsecurity=False).hexdigest()


KIND = Kind(
    "kimi",
    program="kimi",
    install="pip install kimi-cli==1.47.0",
    seen=("1.47.0",),
    paths=("Kimi Code",),  # what it calls its process
    id_pattern=UUID,
    # Only from the directory it was started in: an id that is not there begins an empty session
    # of that id. So the id could be chosen at the start; but /new begins another, of which
    # nothing is told to the run.
    resume=("--session", "{id}"),
    picks=("--session", "--resume", "-S", "-r", "--continue", "-C"),
    subcommands=("login", "logout", "term", "acp", "info", "export", "mcp", "plugin", "vis", "web"),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -V --version --verbose --debug -C --continue --thinking --no-thinking -y --yolo
            --yes --plan --afk --print --acp --wire --final-message-only --quiet -h --help"""),
        repeated=("--add-dir", "--mcp-config-file", "--mcp-config", "--skills-dir"),
        prompts=("-p", "-c", "--prompt", "--command"),
    ),
    prompt=("--prompt", "{prompt}"),
    # It sets no variable of its own for its tools.
    exit_keys="/exit",
    # Took both lines of a prompt; Escape ends a turn.
    clear_keys=("Escape", "C-c"),
    prompt_shown=r"(?m)^── input ─",
    # Alone below the rule of the prompt.
    exit_shown=r"(?m)^── input ─+ *\n /exit *\n(?:\s*\n)*─+ *$(?![\s\S]*^── input)",
    root="{home}/.kimi",
    cwd_key=cwd_key,
    conversation=("sessions/{cwd_key}/{id}/context.jsonl",),
    extras=("sessions/{cwd_key}/{id}",),
    printed=(rf"To resume this session: kimi -r ({UUID})\s*\Z",),
    busy=r"(?m)^(?:[\u2800-\u28ff] |[🌑-🌘])",
    # A numbered answer under the cursor, in a box; the prompt is not drawn meanwhile.
    asks=(r"(?m)^│ → \[\d+\] [^\n│]*(?![\s\S]*^── input)",),
    # As `kimi mcp add` writes it.
    mcp=McpClient("~/.kimi/mcp.json", started_document("kimi")),
    other_names=("kimi-cli",),
)
