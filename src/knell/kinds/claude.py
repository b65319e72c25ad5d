"""Claude Code, read from 2.1.197: its help, its program text, and runs against a local model."""

import json
import shlex
from collections.abc import Sequence

from knell.core import telling
from knell.core.arguments import Flags, HeadlessMode
from knell.core.environment import TOKEN
from knell.core.hooks.entries import Hooks
from knell.core.kind import UUID, Helper, Kind, npm, words_of
from knell.core.mcp_client import McpClient, McpServer, reached_document
from knell.core.stall.signs import Turn
from knell.core.stall.turns import Record, inner, objects
from knell.core.telling import SCRIPT, Telling, TellRequest

LONGEST_KEY = 200
LAST_OF_FIRST_PLANE = "\uffff"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def cwd_key(cwd: str) -> str:
    """The folder of a real path, cut at 200."""
    key = dashed(cwd)
    return key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}-{_hash(cwd)}"


def dashed(path: str) -> str:
    """All but ASCII letters and digits as `-`."""
    # JavaScript counts UTF-16 units, so that what lies beyond the first plane is two of them.
    return "".join(
        char if char.isascii() and char.isalnum() else "--" if char > LAST_OF_FIRST_PLANE else "-"
        for char in path
    )


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


LAST_SAID = r"(?![\s\S]*^(?:●|\u276f \S))"

_TURN_OVER = ("end_turn", "stop_sequence", "refusal")
_NO_PROMPT = ("<command-", "<local-command-", "<bash-", "<task-notification")
_INTERRUPTED = "[Request interrupted by user"


def turn(records: Sequence[Record]) -> Turn:
    """`user` and `assistant` records count, and `turn_duration`, which closes a turn.

    One message may be several records with one id: a text, and each call of a tool."""
    answered: set[str] = set()
    message: list[Record] = []
    for record in records:
        if record.get("isSidechain") or record.get("isMeta"):
            continue
        if record.get("type") == "assistant":
            if message and _message_id(record) != _message_id(message[0]):
                break
            message.append(record)
        elif record.get("type") == "user":
            results = _results(record)
            if message and not results:
                break
            if not results and not answered and (whose := _of_prompt(record)) is not None:
                return whose
            answered |= results
        elif record.get("subtype") == "turn_duration" and not message and not answered:
            return Turn.DONE
    if message:
        return _of_message(message, answered)
    return Turn.OPEN if answered else Turn.UNKNOWN


def _message_id(record: Record) -> object:
    return inner(record, "message").get("id")


def _of_message(message: Sequence[Record], answered: set[str]) -> Turn:
    parts = [part for record in message for part in _parts(record)]
    calls = {str(part.get("id")) for part in parts if part.get("type") == "tool_use"}
    if calls:
        return Turn.OPEN if calls <= answered else Turn.TOOL
    stop = inner(message[0], "message").get("stop_reason")
    if message[0].get("isApiErrorMessage") or stop in _TURN_OVER:
        return Turn.DONE
    if stop == "tool_use":
        return Turn.TOOL  # the call itself stands in a record that is not written yet
    return Turn.OPEN if stop is None else Turn.UNKNOWN


def _results(record: Record) -> set[str]:
    parts = (part for part in _parts(record) if part.get("type") == "tool_result")
    return {str(part.get("tool_use_id")) for part in parts}


def _of_prompt(record: Record) -> Turn | None:
    """None for what is no prompt: commands of the program itself and what they printed."""
    if record.get("isCompactSummary"):
        return Turn.UNKNOWN
    text = _text(record)
    if text.startswith(_INTERRUPTED):
        return Turn.DONE
    return None if text.startswith(_NO_PROMPT) else Turn.OPEN


def _text(record: Record) -> str:
    return next((str(part.get("text")) for part in _parts(record) if part.get("text")), "")


def _parts(record: Record) -> list[Record]:
    content = inner(record, "message").get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


_SUBCOMMANDS = words_of("""
    agents attach auth auto-mode config daemon doctor gateway install kill logs mcp plugin
    plugins project respawn rm setup-token stop ultrareview update upgrade""")


def tell(start: TellRequest) -> Telling:
    """By a hook of this run alone, which no claude below this one has. SessionStart comes at the
    start (with --fork-session it names what is copied) and after /clear, /resume and the like."""
    rest, theirs = telling.without_option(start.argv[1:], "--settings")
    if theirs and not theirs.lstrip().startswith("{"):  # a file; else JSON itself
        theirs = start.read(theirs)
    command = f"sh {shlex.quote(f'{start.rundir}/{SCRIPT}')}"
    settings = (
        None if theirs is None else telling.with_hook(theirs or "{}", "SessionStart", command)
    )
    if settings is None or (start.argv[1:2] and start.argv[1] in _SUBCOMMANDS):
        return Telling(start.argv, start.env)
    files = ((SCRIPT, telling.script_from_input("session_id")), ("settings.json", settings))
    ours = ("--settings", f"{start.rundir}/settings.json")
    return Telling((start.argv[0], *ours, *rest), start.env, files)


def said(record: Record) -> str:
    """The words of a prompt."""
    if record.get("type") != "user" or record.get("isMeta") or record.get("isSidechain"):
        return ""
    text = _text(record)
    return "" if text.startswith((*_NO_PROMPT, _INTERRUPTED)) else text


_document = reached_document("url", f"${{{TOKEN}}}", {"type": "stdio"}, type="http")


def _option(server: McpServer) -> tuple[str, ...]:
    # With `=`, because the option would take the words behind it for files as well.
    return (f"--mcp-config={json.dumps(_document(server))}",)


KIND = Kind(
    "claude",
    **npm("claude", "@anthropic-ai/claude-code"),
    seen=("2.1.197",),
    # Its own installer: the daemon and what it starts run as .../claude/versions/2.1.197.
    paths=("claude/versions/*",),
    child_env=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    session_env="CLAUDE_CODE_SESSION_ID",
    id_pattern=UUID,
    # A UUID that is new: "Session ID ... is already in use", exit 1.
    choose_id=("--session-id", "{id}"),
    # Only from the directory it was started in, below it, or a worktree of the same repository.
    resume=("--resume", "{id}"),
    fork=("--resume", "{id}", "--fork-session"),
    # Works in the middle of a turn too. Enter some tenths of a second later: the text opens a menu.
    exit_keys="/exit",
    # Without the Escape, `/exit` and Enter say yes to a command that waits for permission (tried
    # with all but agy). C-c takes all lines of a prompt, C-u one: the others would be sent.
    clear_keys=("Escape", "C-c"),
    # A prompt of whatever content between two rules, and no question below.
    prompt_shown=r"(?m)─ *\n\u276f(?! \d+\.)[^\n]*\n(?:[^\n─]*\n)*?─+ *$(?![\s\S]*^ *[\u276f─])",
    # Alone between the rules of the last prompt (its sign is U+276F). Enter elsewhere runs a
    # half-typed shell command, switches a setting, or sends what a stopped turn has put back.
    exit_shown=r"(?m)─ *\n\u276f\s/exit *\n─+ *$(?![\s\S]*^ *[\u276f─])",
    # Read by letting it run `env` as a tool; the rest from the program text.
    strip_env=(
        # With this set an interactive claude writes no conversation at all: nothing to resume.
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_SSE_PORT",  # of the enclosing editor
        "CLAUDE_PROJECT_DIR",  # hooks and MCP servers; gemini sets it for its hooks too
        *("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH"),
        *("CLAUDE_EFFORT", "AI_AGENT", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"),
        # A background session: what is below would take itself for that session's worker.
        *("CLAUDE_JOB_DIR", "CLAUDE_CODE_SESSION_KIND", "CLAUDE_CODE_SESSION_NAME"),
        *("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "CLAUDE_CODE_RESUME_PROMPT", "CLAUDE_BG_BACKEND"),
        *("CLAUDE_BG_SOURCE", "CLAUDE_BG_ISOLATION", "CLAUDE_BG_POST_CLEAR_RESPAWN"),
        *("CLAUDE_BG_SESSION_PERMISSION_RULES", "CLAUDE_BG_MEMORY_TOGGLED_OFF"),
    ),
    # CLAUDE_PROJECT_DIR is the contract's (M50). Claude itself writes where CLAUDE_CONFIG_DIR
    # says, and sets the former for its hooks and MCP servers to the project's own directory.
    root_env=(("CLAUDE_PROJECT_DIR", ""), ("CLAUDE_CONFIG_DIR", "/projects")),
    root="{home}/.claude/projects",
    conversation=("{cwd_key}/{id}.jsonl", "*/{id}.jsonl"),
    # Subagents and long tool results. Left: file-history, session-env, tasks, beside `projects`.
    extras=("{cwd_key}/{id}", "*/{id}"),
    # `claude agents`, `claude --bg` and `/bg` start it. It starts sessions again that were killed
    # (anthropics/claude-code#72623, #79789) and keeps a spare one. What it starts bears the name of
    # the file (claude.exe, versions/2.1.197), so that `claude` below is a person's session.
    helpers=tuple(
        Helper(pattern, ("claude",), "claude daemon stop --any")
        for pattern in (
            "*/claude daemon run*",
            "*/claude.exe daemon run*",
            "*/claude/versions/* daemon run*",
        )
    ),
    record_keys=("type",),
    lost=("No conversation found with session ID",),
    picks=("--resume", "-r", "--continue", "-c", "--session-id", "--from-pr"),
    subcommands=_SUBCOMMANDS,
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -p --print -c --continue -h --help -v --version --verbose
            --dangerously-skip-permissions --allow-dangerously-skip-permissions --ide --bare
            --brief --bg --background --chrome --no-chrome --safe-mode --ax-screen-reader
            --disable-slash-commands --fork-session --tmux
            --exclude-dynamic-system-prompt-sections --include-hook-events
            --include-partial-messages --no-session-persistence --replay-user-messages
            --strict-mcp-config"""),
        lists=words_of("""
            --add-dir --allowedTools --allowed-tools --disallowedTools --disallowed-tools
            --betas --file --mcp-config --tools"""),
        repeated=("--plugin-dir", "--plugin-url"),
        # A prompt cannot come as a stream of JSON and as an argument.
        once=("--fork-session", "--input-format", "--replay-user-messages"),
    ),
    prompt=("--", "{prompt}"),
    headless=HeadlessMode(
        # `--`, because several options take all the words behind them.
        resume=("--print", "--resume", "{id}", "{args}", "--", "{prompt}"),
        flags=("-p", "--print"),
        only=words_of("""
            --output-format --include-hook-events --include-partial-messages --fallback-model
            --max-budget-usd --no-session-persistence --json-schema"""),
        piped=True,
    ),
    cwd_key=cwd_key,
    tell=tell,
    said=said,
    # Of interactive sessions, while they live; `procStart` is the start time in /proc/PID/stat.
    live_file="../sessions/{pid}.json",
    turn=turn,
    beside="{cwd_key}/{id}/subagents/*.jsonl",
    busy=r"\besc to interrupt\b",
    rests=r"(?m)^  \? for shortcuts",
    # A numbered answer under the cursor (U+276F); the prompt, which stands between two rules, is
    # not drawn meanwhile.
    asks=(r"(?m)^ *\u276f \d+\. [^\n]*(?![\s\S]*^─{9,}[^\n]*\n\u276f(?! \d+\.))",),
    # The last thing said: neither an answer nor another prompt stands below.
    limited=(
        rf"(?m)You['\u2019]ve (?:hit|reached) your\b[^\n]*{LAST_SAID}(?![\s\S]*\besc to interrupt)",
        rf"(?m)API Error: [^\n]*\b429\b[^\n]*{LAST_SAID}(?![\s\S]*\besc to interrupt)",
    ),
    # Where the words of its spinner stand: "API error · Retrying in 5s · attempt 1/10".
    retries=(r"(?m)^[^\w\s●\u276f] [^\n]*· Retrying in\b[^\n]*(?![\s\S]*^●)",),
    # A tip below the spinner changes every half minute; in a narrow window it takes two lines.
    blinks=(r"(?m)^ *⎿\s+Tip: [^\n]*(?:\n {5}\S[^\n]*)*",),
    registry_id="claude_session_id_own",
    registry_cache="session_id",
    other_names=("claude-code",),
    # Only events since 1.0.85: with one that it does not know, 2.0.0 drops all hooks of the file.
    hooks=Hooks(
        variable="CLAUDE_CONFIG_DIR",
        home=".claude",
        files=("settings.json",),
        beats=words_of("""
            UserPromptSubmit PreToolUse PostToolUse Notification Stop SubagentStop PreCompact"""),
        switches="settings.json",
        reads_bom=True,
    ),
    mcp=McpClient(".mcp.json, in the project", _document, args=_option),
    skills=("CLAUDE_CONFIG_DIR", "skills", ".claude/skills"),
)
