"""Qwen Code, read from 0.15.10: its help, its program text, and runs against a local model.

Two node processes: a launcher and its child.
"""

from knell.core.arguments import Flags
from knell.core.kind import UUID, Kind, npm, words_of
from knell.core.mcp_client import McpClient, json_option, started_document
from knell.kinds.claude import dashed

_document = started_document("qwen")  # as `qwen mcp add` writes it


KIND = Kind(
    "qwen",
    **npm("qwen", "@qwen-code/qwen-code"),
    seen=("0.15.10",),
    id_pattern=UUID,
    # `--session-id` would fix the id at the start. But /clear begins another, of which nothing is
    # told to the run: the id is unsure then, and knell does not begin with a claim.
    # Only from the directory it was started in.
    resume=("--resume", "{id}"),
    picks=("--resume", "-r", "--continue", "-c", "--session-id"),
    subcommands=("mcp", "extensions", "auth", "hooks", "hook", "channel", "review"),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            --telemetry --telemetry-log-prompts -d --debug --bare --chat-recording -s --sandbox
            -y --yolo --checkpointing --acp --experimental-lsp -l --list-extensions
            --openai-logging --screen-reader -c --continue --include-partial-messages -v
            --version -h --help"""),
        lists=words_of("""
            --allowed-mcp-server-names --allowed-tools -e --extensions --core-tools
            --include-directories --add-dir --exclude-tools --disabled-slash-commands"""),
        prompts=("-p", "--prompt", "-i", "--prompt-interactive"),
    ),
    prompt=("--prompt-interactive", "{prompt}"),
    # Read by letting it run `env` as a tool. With the second, its launcher starts no child.
    strip_env=("QWEN_CODE", "QWEN_CODE_NO_RELAUNCH"),
    exit_keys="/quit",
    # Took both lines of a prompt; Escape ends a turn.
    clear_keys=("Escape", "C-c"),
    prompt_shown=r"(?m)^─+ *\n> (?![\s\S]*^ *│)",
    # Alone between the two rules of the prompt; its cursor is a space without width.
    exit_shown=r"(?m)─ *\n> /quit[ \u200b]*\n─+ *$(?![\s\S]*^[>─])",
    root_env=(("QWEN_RUNTIME_DIR", ""), ("QWEN_HOME", "")),
    root="{home}/.qwen",
    cwd_key=dashed,
    conversation=("projects/{cwd_key}/chats/{id}.jsonl", "projects/*/chats/{id}.jsonl"),
    printed=(rf"To continue this session, run qwen --resume ({UUID})\s*\Z",),
    lost=("No saved session found with ID",),
    busy=r"\besc to cancel\)",
    busy_in_answers=True,
    # A numbered answer under the cursor (U+203A), in a box; the prompt is not drawn meanwhile.
    asks=(r"(?m)^ *│ \u203a \d+\. [^\n│]*(?![\s\S]*^>  )",),
    mcp=McpClient("~/.qwen/settings.json", _document, args=json_option("--mcp-config", _document)),
)
