"""Claude Code, read from 2.1.197: its help, its program text, and runs against a local model."""

from quell.core.kind import Helper, Kind
from quell.kinds.enclosing import ENCLOSING

LONGEST_KEY = 200
LAST_OF_FIRST_PLANE = "\uffff"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def cwd_key(cwd: str) -> str:
    """The folder of a real path: all but ASCII letters and digits as `-`, cut at 200."""
    # JavaScript counts UTF-16 units, so that what lies beyond the first plane is two of them.
    key = "".join(
        char if char.isascii() and char.isalnum() else "--" if char > LAST_OF_FIRST_PLANE else "-"
        for char in cwd
    )
    return key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}-{_hash(cwd)}"


def _hash(text: str) -> str:
    """What tells two long paths apart: a signed 32-bit sum, its size in base 36."""
    units = text.encode("utf-16-le", "surrogatepass")
    total = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        total = (total * 31 + (high << 8 | low)) & 0xFFFFFFFF
    total = min(total, 2**32 - total)  # the size of the signed number with these bits
    digits = ""
    while total:
        total, digit = divmod(total, 36)
        digits = DIGITS[digit] + digits
    return digits or "0"


# `claude agents`, `claude --bg` and `/bg` start it. It starts sessions again that were killed
# (anthropics/claude-code#72623, #79789) and keeps a spare one. What it starts bears the name of
# the file (claude.exe, versions/2.1.197), so that `claude` below is a person's session.
DAEMON = tuple(
    Helper(pattern, ("claude",), "claude daemon stop --any")
    for pattern in (
        "*/claude daemon run*",
        "*/claude.exe daemon run*",
        "*/claude/versions/* daemon run*",
    )
)

LAST_SAID = r"(?![\s\S]*^(?:●|\u276f \S))"

KIND = Kind(
    "claude",
    program="claude",
    programs=("claude", "claude.exe"),
    # A UUID that is new: "Session ID ... is already in use", exit 1.
    choose_id=("--session-id", "{id}"),
    # Only from the directory it was started in, below it, or a worktree of the same repository.
    resume=("--resume", "{id}"),
    # Works in the middle of a turn too. Enter some tenths of a second later: the text opens a menu.
    exit_keys=("/exit",),
    # The first says "Press Ctrl-C again to exit".
    detach_keys=("C-c", "C-c"),
    # Without the Escape, `/exit` and Enter say yes to a command that waits for permission (tried
    # with all but agy). C-c takes all lines of a prompt, C-u one: the others would be sent.
    clear_keys=("Escape", "C-c"),
    # Alone between the rules of the last prompt (its sign is U+276F). Enter elsewhere runs a
    # half-typed shell command, switches a setting, or sends what a stopped turn has put back.
    exit_shown=r"(?m)─ *\n\u276f\s/exit *\n─+ *$(?![\s\S]*^ *[\u276f─])",
    strip_env=ENCLOSING,
    # CLAUDE_PROJECT_DIR is the contract's (M50). Claude itself writes where CLAUDE_CONFIG_DIR
    # says, and sets the former for its hooks and MCP servers to the project's own directory.
    root_env=(("CLAUDE_PROJECT_DIR", ""), ("CLAUDE_CONFIG_DIR", "/projects")),
    root="{home}/.claude/projects",
    conversation=("{cwd_key}/{id}.jsonl", "*/{id}.jsonl"),
    # Subagents and long tool results. Outside of the root, and therefore left: file-history/{id},
    # session-env/{id} and tasks/{id} beside `projects`.
    extras=("{cwd_key}/{id}", "*/{id}"),
    helpers=DAEMON,
    lost=("No conversation found with session ID",),
    picks=("--resume", "-r", "--continue", "-c", "--session-id", "--from-pr"),
    subcommands=(
        *("agents", "attach", "auth", "auto-mode", "config", "daemon", "doctor", "gateway"),
        *("install", "kill", "logs", "mcp", "plugin", "plugins", "project", "respawn", "rm"),
        *("setup-token", "stop", "ultrareview", "update", "upgrade"),
    ),
    cwd_key=cwd_key,
    # Of interactive sessions, while they live; `procStart` is the start time in /proc/PID/stat.
    live_file="../sessions/{pid}.json",
    dialect="claude",
    beside="{cwd_key}/{id}/subagents/*.jsonl",
    busy=r"\besc to interrupt\b",
    # A numbered answer under the cursor (U+276F); the prompt, which stands between two rules, is
    # not drawn meanwhile.
    asks=(r"(?m)^ *\u276f \d+\. [^\n]*(?![\s\S]*^─{9,}[^\n]*\n\u276f(?! \d+\.))",),
    # The last thing said: neither an answer nor another prompt stands below.
    limited=(
        rf"(?m)You['\u2019]ve (?:hit|reached) your\b[^\n]*{LAST_SAID}(?![\s\S]*\besc to interrupt)",
        rf"(?m)API Error: [^\n]*\b429\b[^\n]*{LAST_SAID}(?![\s\S]*\besc to interrupt)",
        rf"(?m)API error · Retrying in\b[^\n]*{LAST_SAID}",
    ),
)
