"""GitHub Copilot CLI, read from 1.0.102: its help, and runs against a local model.

A node launcher and the native program.
"""

from knell.core.arguments import Flags
from knell.core.kind import UUID, Kind, npm, words_of
from knell.core.mcp_client import McpClient, json_option, started_document

# As `copilot mcp add` writes it.
_document = started_document("copilot", type="local", tools=["*"])


KIND = Kind(
    "copilot",
    **npm("copilot", "@github/copilot"),
    seen=("1.0.102",),
    id_pattern=UUID,
    # With an id that is there already it resumes that session.
    choose_id=("--session-id={id}",),
    # From any directory; the session goes on in its own.
    resume=("--resume={id}",),
    picks=("--resume", "-r", "--continue", "--session-id", "--connect"),
    subcommands=words_of("""
        app login help init config update version workflow sessions memories plugin mcp skill
        instruction lsp sandbox completion"""),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -v --version --fleet --trust-folder -s --silent --enable-memory
            --disable-client-telemetry --continue --allow-all-tools --allow-all-paths
            --disallow-temp-dir --banner --screen-reader --plain-diff --share-gist
            --disable-builtin-mcps --enable-all-github-mcp-tools --allow-all-urls
            --allow-all-mcp-server-instructions --allow-all --yolo --autopilot --plan
            --experimental --acp --remote --remote-export --assisted-approval
            --no-custom-instructions --no-auto-update --no-ask-user --no-color
            --no-experimental --no-bash-env --no-mouse --no-remote --no-remote-export -h --help"""),
        lists=words_of("""
            --allow-tool --deny-tool --available-tools --excluded-tools --secret-env-vars
            --allow-url --deny-url"""),
        repeated=words_of("""
            --add-dir --disable-mcp-server --enable-mcp-server --plugin-dir
            --add-github-mcp-toolset --add-github-mcp-tool --additional-mcp-config"""),
        prompts=("-i", "--interactive", "-p", "--prompt"),
        once=("--attachment", "-n", "--name", "--share", "--share-gist"),
    ),
    prompt=("--interactive", "{prompt}"),
    # Read by letting it run `env` as a tool.
    strip_env=words_of("""
        COPILOT_CLI COPILOT_AGENT_SESSION_ID COPILOT_CLI_BINARY_VERSION
        COPILOT_CLI_RESOLVED_DIST_DIR COPILOT_LOADER_PID"""),
    exit_keys="/exit",
    # C-c takes all lines of a prompt. In the middle of a turn it ends the turn instead, and the
    # prompt stays: `exit_shown` then holds Enter back.
    clear_keys=("Escape", "C-c"),
    prompt_shown=r"(?m)^─+ *\n\u276f(?![\s\S]*^[│╭])",
    # Alone between the two rules of the prompt (its sign is U+276F), with what could follow.
    exit_shown=r"(?m)─ *\n\u276f /exit(?: \[print\])? *\n─+ *$(?![\s\S]*^[\u276f─])",
    root_env=(("COPILOT_HOME", ""),),
    root="{home}/.copilot",
    # Besides the folder there are rows in session-store.db.
    # While it lives it holds the second open; /new and /clear open another.
    conversation=("session-state/{id}/events.jsonl", "session-state/{id}/inuse.*.hold"),
    holds=True,
    extras=("session-state/{id}",),
    printed=(rf"\bResume +copilot --resume=({UUID})\s*\Z",),
    lost=("No session, task, or name matched",),
    busy=r"(?m)^─+ *\n \S Working\b",
    busy_in_answers=True,
    # A numbered answer under the cursor, in a box; the prompt is not drawn meanwhile.
    asks=(r"(?m)^│ \u276f \d+\. [^\n│]*(?![\s\S]*^\u276f)",),
    mcp=McpClient(
        "~/.copilot/mcp-config.json",
        _document,
        args=json_option("--additional-mcp-config", _document),  # from its help
    ),
)
