"""Gemini CLI, read from 0.61.0: its help, its program text, and runs against a local model.

Two node processes: a launcher that ignores INT, TERM and HUP, and its child, whose end it waits
for. A signal must reach the child.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from knell.core.arguments import Flags, HeadlessMode
from knell.core.environment import TOKEN
from knell.core.hooks.entries import Hooks
from knell.core.json_lines import records_of
from knell.core.kind import UUID, Kind, npm, words_of
from knell.core.mcp_client import McpClient, reached_document
from knell.core.stall.signs import Turn
from knell.core.stall.turns import Record, objects
from knell.core.telling import BEGAN, Telling, TellRequest
from knell.core.typed_log import Chat, SaidLine, TypedLine, TypedLog

PROMPT = r"^ [>*!]  "  # its sign says how much it may do without asking
LAST_PROMPT = rf"(?![\s\S]*{PROMPT}[\s\S]*{PROMPT})"

_NO_TURN = ("<session_context>", "I ran the following shell command")
_CANCELLED = "[Operation Cancelled]"


def turn(records: Sequence[Record]) -> Turn:
    """A call is written down only once its tool has answered; until then the record is empty.

    An answer that is a text may have a call that is not written yet: the screen must tell."""
    for record in records:
        what, content = record.get("type"), record.get("content")
        if "$set" in record:
            continue  # when it was last written, or all messages once more: after a cancel, too
        if what == "info" and content == "Request cancelled.":
            return Turn.DONE
        if what == "gemini":
            if record.get("toolCalls"):
                return Turn.OPEN
            return Turn.UNKNOWN if content else Turn.TOOL
        return _of_gemini_user(objects(content)) if what == "user" else Turn.UNKNOWN
    return Turn.UNKNOWN


def _of_gemini_user(parts: Sequence[Record]) -> Turn:
    if _CANCELLED in json.dumps(parts):
        return Turn.DONE
    text = str(parts[0].get("text", "")) if parts else ""
    return Turn.UNKNOWN if text.startswith(_NO_TURN) else Turn.OPEN


# -- which conversation it is in ------------------------------------------------------------------


def said(record: Record) -> str:
    """The words of a prompt."""
    if record.get("type") != "user":
        return ""
    texts = (part.get("text") for part in objects(record.get("content")))
    text = next((text for text in texts if isinstance(text, str)), "")
    return "" if text.startswith(_NO_TURN) else text


def tell(start: TellRequest) -> Telling:
    """It tells nothing: hooks of one run would have to lie in a file that belongs to root, as all
    folders above it. So only the id that it begins with is noted, for its log (`typed_log`)."""
    id = KIND.picked(start.argv[1:])[1]
    return Telling(start.argv, start.env, ((BEGAN, id),) if id else ())


def typed_lines(text: bytes) -> list[TypedLine] | None:
    """From logs.json or its end: an array, written anew with each line, two spaces deep. None for
    what is no array: it may be half written."""
    whole = text.lstrip().startswith(b"[")
    try:
        entries = json.loads(text if whole else b"[" + text[text.index(b"\n  {") :])
    except (ValueError, RecursionError):
        return None
    return [
        TypedLine(str(entry.get("sessionId")), _seconds(entry), str(entry.get("message")))
        for entry in objects(entries)
        if entry.get("type") == "user"
    ]


def chat(head: bytes, tail: bytes) -> Chat | None:
    """From the beginning and the end of a file in `chats`; None for a subagent's and any other."""
    first = next(records_of(head.split(b"\n", 1)[0]), Record())
    if first.get("kind", "main") != "main" or not isinstance(first.get("sessionId"), str):
        return None
    records = records_of(b"\n".join(line for line in tail.splitlines() if b'"user"' in line))
    lines = tuple(SaidLine(_seconds(one), text) for one in records if (text := said(one)))
    return Chat(first["sessionId"], _seconds(first, "startTime"), lines)


def _seconds(record: Record, key: str = "timestamp") -> float:
    try:
        return datetime.fromisoformat(str(record.get(key))).timestamp()
    except (ValueError, OverflowError):
        return 0.0


# Lines are logged under the id that the process began with, also after `/clear`, and within a
# second of the record in the conversation. The commands are logged before they act.
TYPED_LOG = TypedLog(
    *("../logs.json", typed_lines, chat),
    begins=("/clear", "/new"),
    moves=("/resume", "/chat"),
    aside=".*.bak",
)


KIND = Kind(
    "gemini",
    **npm("gemini", "@google/gemini-cli"),
    seen=("0.61.0",),
    child_env=("GEMINI_CLI", "GEMINI_SESSION_ID"),
    session_env="GEMINI_SESSION_ID",
    id_pattern=UUID,
    # Must be new in this directory: 'Session ID "..." already exists', exit 42.
    choose_id=("--session-id", "{id}"),
    # Only from the directory it was started in. The help speaks of an index or "latest"; the id
    # is what it prints itself at the end ("To resume this session: ...").
    resume=("--resume", "{id}"),
    exit_keys="/quit",
    # In the middle of a turn `/quit` stays in the prompt; Escape ends the turn. C-c takes all lines
    # of a prompt, C-u one; a second C-c would end gemini.
    clear_keys=("Escape", "C-c"),
    # The sign is `*` where everything is approved, and `!` in its shell mode.
    prompt_shown=r"(?m)^ [>*] [^\n]*$(?![\s\S]*^(?: [>*!] |│))",
    # Its menu of commands shows this one only where nothing else stands in the prompt. The line
    # between is a rule, half blocks, or empty, as the colours of the terminal allow.
    exit_shown=r"(?m)^ [>*] /quit *\n[▀─]* *\n quit +Exit the cli *$(?![\s\S]*^(?: [>*!] |│))",
    # Read by letting it run `env` as a tool; the rest from the program text.
    strip_env=(
        "GEMINI_CLI_NO_RELAUNCH",  # set by its launcher: the next one would skip its own
        *("GEMINI_CLI", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_SESSION_ID"),
        "GEMINI_PLANS_DIR",
    ),
    root_env=(("GEMINI_CLI_HOME", "/.gemini"),),
    root="{home}/.gemini",
    # The folder under tmp/ is a short name that projects.json gives each directory ("g-a-b-c-1").
    # The whole id is in the first line.
    # One conversation can be several files of one {id8}: resuming begins a stub, which lets the
    # next gemini in that directory delete them all (docs/kinds.md).
    conversation=("tmp/*/chats/session-*-{id8}.jsonl", "tmp/*/chats/session-*-{id8}.json"),
    project_file=".project_root",
    extras=(
        "tmp/*/chats/{id}",  # subagents
        "tmp/*/{id}",  # plans, tasks
        "tmp/*/logs/session-{id}.jsonl",
        "tmp/*/tool-outputs/session-{id}",
    ),
    picks=("--resume", "-r", "--session-id"),
    subcommands=("mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"),
    # As `--help` lists them.
    flags=Flags(
        switches=words_of("""
            -d --debug --skip-trust -s --sandbox -y --yolo --acp --experimental-acp -l
            --list-extensions --list-sessions --screen-reader --raw-output
            --accept-raw-output-risk -v --version -h --help"""),
        lists=words_of("""
            --policy --admin-policy --allowed-mcp-server-names --allowed-tools -e --extensions
            --include-directories"""),
        prompts=("-p", "--prompt", "-i", "--prompt-interactive"),
        once=("-w", "--worktree", "--session-file"),
    ),
    prompt=("--prompt-interactive={prompt}",),
    headless=HeadlessMode(
        resume=("--resume", "{id}", "{args}", "--prompt={prompt}"),
        flags=("-p", "--prompt"),
        only=("-o", "--output-format"),
        piped=True,
    ),
    lost=(
        "Error resuming session: Invalid session identifier",
        "Error resuming session: No previous sessions found",
    ),
    tell=tell,
    typed_log=TYPED_LOG,
    said=said,
    # In a box as wide as the pane; the line that names the command is broken at 80 columns.
    printed=(r"Agent powering down\. Goodbye![\s\S]*?\bSession ID: +([0-9a-f-]{36})\b",),
    # Its exit deletes a conversation whose only turn was cancelled (`stop` cancels it by Escape);
    # the next start deletes resumed ones (docs/kinds.md).
    may_vanish=True,
    record_keys=("sessionId", "type", "$set"),
    turn=turn,
    # Its file does not tell a finished answer from one whose tool is at work.
    # Only the last prompt stands below: what was drawn before the window was made narrower stays.
    # The second stands there while a tool has printed nothing for some seconds.
    busy=rf"(?m)^ (?:[\u2800-\u28ff] [^\n]*\(esc to cancel|! Shell awaiting input){LAST_PROMPT}",
    busy_in_answers=True,
    # A numbered answer under the cursor, in a box; the prompt is not drawn meanwhile.
    asks=(rf"(?m)^│ ● \d+\. [^\n│]*(?![\s\S]*{PROMPT})",),
    # In the place of "Thinking..."; the second without settings, and only from its third try on.
    retries=(
        r"(?m)(?<=^ [\u2800-\u28ff] )Trying to reach [^\n]*\(Attempt [^\n)]*\)",
        r"(?m)(?<=^ [\u2800-\u28ff] )This is taking a bit longer, we're still on it\.",
    ),
    limited=(rf"(?m)(?<=│ )Usage limit reached[^\n│]*(?![\s\S]*{PROMPT})",),
    hooks=Hooks(
        variable="GEMINI_CLI_HOME",
        below="/.gemini",
        home=".gemini",
        files=("settings.json",),
        beats=words_of("BeforeAgent BeforeTool AfterTool AfterAgent Notification PreCompress"),
        switches="settings.json",
        comments=True,
        milliseconds=True,
        answers=True,
        expands=True,
        named=True,
    ),
    mcp=McpClient("~/.gemini/settings.json", reached_document("httpUrl", f"${TOKEN}")),
    skills=("GEMINI_CLI_HOME", ".gemini/skills", ".gemini/skills"),
)
