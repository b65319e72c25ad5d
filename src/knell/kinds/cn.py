"""Continue CLI (`cn`), read from 1.5.47: its help, and runs against a local model.

It cannot be resumed by an id: `--resume` takes the newest session and `--fork` begins another.
"""

from knell.core.arguments import Flags
from knell.core.kind import UUID, Kind, npm, words_of

KIND = Kind(
    "cn",
    **npm("cn", "@continuedev/cli"),
    seen=("1.5.47",),
    id_pattern=UUID,
    picks=("--resume", "--fork"),
    subcommands=("ls", "checks", "review"),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -v --version --readonly --auto --verbose --beta-status-tool -p --print --silent
            --resume --beta-subagent-tool -h --help"""),
        repeated=("--rule", "--mcp", "--model", "--allow", "--ask", "--exclude"),
        prompts=("--prompt",),
    ),
    # It sets no variable for its tools.
    exit_keys="/exit",
    # Took both lines of a prompt; Escape ends a turn.
    clear_keys=("Escape", "C-c"),
    prompt_shown=r"(?m)^╭─+╮\n│ ● ",
    # Alone in the box of the prompt.
    exit_shown=r"(?m)^╭─+╮\n│ ● /exit *│\n╰─+╯ *$(?![\s\S]*^[╭│])",
    root_env=(("CONTINUE_GLOBAL_DIR", ""),),
    root="{home}/.continue",
    # The list of all of them is sessions/sessions.json.
    conversation=("sessions/{id}.json",),
    busy=r"\besc to interrupt \)",
    busy_in_answers=True,
    asks=(
        r"(?m)^│ {2}Would you like to continue\?(?![\s\S]*^│ ● )",
        r"(?m)^Enter your Anthropic API key:\s*\Z",  # at its first start
    ),
    other_names=("continue",),
)
