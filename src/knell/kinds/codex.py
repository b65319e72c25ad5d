"""Codex, read from 0.166.0: its help, its program text, and runs against a local model."""

import json
from collections.abc import Sequence
from typing import Any

from knell.core.arguments import Flags, HeadlessMode
from knell.core.environment import TOKEN
from knell.core.hooks.entries import Hooks
from knell.core.kind import UUID, Helper, Kind, npm, words_of
from knell.core.mcp_client import McpClient, McpServer
from knell.core.stall.signs import Turn
from knell.core.stall.turns import Record, inner
from knell.core.telling import SCRIPT, Telling, TellRequest, script_from_argument

LAST_SAID = r"(?![\s\S]*^(?:[•■]|\u203a[\s\S]*^\u203a))"


_CODEX_OVER = ("task_complete", "turn_complete", "turn_aborted")
_CODEX_BEGUN = ("task_started", "turn_started")


def turn(records: Sequence[Record]) -> Turn:
    """Turns begin and end with events; a call is open until an output bears its id."""
    answered: set[str] = set()
    tool = False
    for record in records:
        payload = inner(record, "payload")
        what = str(payload.get("type", ""))
        if record.get("type") == "event_msg":
            if what in _CODEX_OVER:
                return Turn.DONE
            if what in _CODEX_BEGUN:
                return Turn.TOOL if tool else Turn.OPEN
        elif what.endswith("_call_output"):
            answered.add(str(payload.get("call_id")))
        elif what.endswith("_call") and payload.get("call_id"):
            tool = tool or str(payload["call_id"]) not in answered
    return Turn.UNKNOWN


_SESSIONS = ("exec", "e", "resume", "fork")
_OTHERS = words_of("""
    app app-server apply archive cloud completion debug delete doctor exec-server features
    login logout mcp mcp-server plugin review sandbox unarchive update""")


def tell(start: TellRequest) -> Telling:
    """By a notify program of this run alone, which codex starts at the end of each turn. It then
    starts the one that the user has in his settings."""
    unchanged = Telling(start.argv, start.env)
    if start.argv[1:2] and start.argv[1] in _OTHERS:
        return unchanged
    theirs = _notify_of_user(start)
    if theirs is None:
        return unchanged
    argv = ["sh", f"{start.rundir}/{SCRIPT}", *theirs]
    option = ("-c", f"notify={json.dumps(argv, ensure_ascii=False)}")
    files = ((SCRIPT, script_from_argument("thread-id")),)
    return Telling((start.argv[0], *option, *start.argv[1:]), start.env, files)


def _notify_of_user(start: TellRequest) -> list[str] | None:
    """Empty if there is none; None if the settings cannot be understood, as codex will say."""
    import tomllib

    home = start.env.get("CODEX_HOME") or f"{start.env.get('HOME', '')}/.codex"
    given = [word for word in start.argv if word.startswith("notify=")]
    texts = [*given[-1:], *map(start.read, (".codex/config.toml", f"{home}/config.toml"))]
    for text in texts:
        try:
            notify: Any = tomllib.loads(text or "").get("notify")
        except tomllib.TOMLDecodeError:
            return None
        if notify is not None:
            words: list[Any] = [*notify] if isinstance(notify, list) else [None]
            return words if all(type(word) is str for word in words) else None
    return []


def side(first: Record) -> bool:
    """A subagent, a review or a title: what began it is no person."""
    return isinstance(inner(first, "payload").get("source"), dict)


def said(record: Record) -> str:
    """The words of a prompt."""
    payload = inner(record, "payload")
    return str(payload.get("message", "")) if payload.get("type") == "user_message" else ""


# Codex hands a server only those variables that are named; these say where knell's state is.
PASSED = ("KNELL_HOME", "KNELL_HOST", "XDG_STATE_HOME", "XDG_CONFIG_HOME", TOKEN)


def _entry(server: McpServer) -> list[tuple[str, Any]]:
    if server.address:
        return [("url", server.address), ("bearer_token_env_var", TOKEN)]
    return [*server.started().items(), ("env_vars", list(PASSED))]


def _toml(server: McpServer) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in _entry(server)]
    return "\n".join(["[mcp_servers.knell]", *lines]) + "\n"


def _flags(server: McpServer) -> tuple[str, ...]:
    pairs = [f"mcp_servers.knell.{key}={json.dumps(value)}" for key, value in _entry(server)]
    return tuple(word for pair in pairs for word in ("-c", pair))


KIND = Kind(
    "codex",
    **npm("codex", "@openai/codex"),
    seen=("0.166.0",),
    child_env=("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    session_env="CODEX_THREAD_ID",
    id_pattern=UUID,
    # The id cannot be chosen: a UUID of version 7 that codex makes itself.
    # From any directory.
    resume=("resume", "{id}"),
    fork=("fork", "{id}"),
    # With the daemon the work is not in this process: after `/quit` and after SIGTERM to the whole
    # group a turn ran on to its end there ("Any running work continues"). The flag is as old as the
    # daemon's own start (0.156); `-c features.daemon_auto_start=false` instead stops at a question
    # where a daemon is running already.
    alone=("--no-daemon",),
    subcommands=(*_SESSIONS, *_OTHERS),
    # As `--help`, `resume --help` and `exec --help` list them.
    flags=Flags(
        switches=words_of("""
            -h --help -V --version --oss --search --strict-config --json --approve-for-me
            --dangerously-bypass-approvals-and-sandbox --worktree
            --dangerously-bypass-hook-trust --no-alt-screen --no-daemon --ephemeral
            --skip-git-repo-check --ignore-user-config --ignore-rules --last --all
            --include-non-interactive"""),
        lists=("-i", "--image"),
        repeated=("-c", "--config", "--enable", "--disable", "--add-dir"),
        once=(
            *("-i", "--image", "--worktree", "--thread-source"),
            *("--last", "--all", "--include-non-interactive"),  # choose a conversation
        ),
    ),
    prompt=("--", "{prompt}"),
    headless=HeadlessMode(
        # `exec resume` itself takes fewer options than `exec`: no sandbox, directory or profile.
        resume=("exec", "{args}", "resume", "{id}", "--", "{prompt}"),
        words=("exec", "e"),
        only=words_of("""
            --json --color -o --output-last-message --output-schema --ephemeral
            --skip-git-repo-check --ignore-user-config --ignore-rules --cyber-access-program"""),
    ),
    exit_keys="/quit",
    # C-c takes all lines of a prompt and leaves its shell mode, C-u takes one line. On an empty
    # prompt C-c ends codex, in order.
    clear_keys=("Escape", "C-c"),
    prompt_empty=r"(?m)^\u203a Ask Codex to do anything *\n *(?:\n  [^\n]*){0,2}\Z",
    # The last of the signs (U+203A) is a prompt's, not a numbered answer's.
    prompt_shown=r"(?m)^\u203a (?!\d+\. )[^\n]*$(?![\s\S]*^[\u203a!] )",
    # Behind the sign of the first line, and nothing but the footer below.
    exit_shown=r"(?m)^\u203a /quit *\n *(?:\n  \S[^\n]*){0,2}\Z",
    # Read by letting it run `env` as a tool; the rest from the program text.
    strip_env=words_of("""
        CODEX_THREAD_ID CODEX_SESSION_ID CODEX_TOOL_CALL_ID CODEX_CI CODEX_VERSION
        CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_PERMISSION_PROFILE
        CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS CODEX_MANAGED_PACKAGE_ROOT CODEX_MANAGED_BY_NPM
        CODEX_MANAGED_BY_PNPM CODEX_MANAGED_BY_BUN"""),
    root_env=(("CODEX_HOME", ""),),
    root="{home}/.codex",
    # By the day it began; `codex archive` moves it, and then it must be unarchived to be resumed.
    conversation=(
        "sessions/*/*/*/rollout-*-{id}.jsonl*",
        "archived_sessions/rollout-*-{id}.jsonl*",
    ),
    tell=tell,
    holds=True,
    # Of every conversation that it has entered, made anew by /new, /clear, /fork and /resume before
    # anything is said. It removes them as it leaves, and after a crash at its next start.
    lock="thread-writer-locks/{id}.lock",
    side=side,
    # As it leaves, the last thing in its terminal; of `exec`, in the head of what it prints. The
    # second where nothing was said in it.
    printed=(
        rf"To continue this session, run:\s+codex resume ({UUID})\s*\Z",
        rf"^Session ID: ({UUID})\s*\Z",
        rf"\A[\s\S]{{0,4000}}?^session id: ({UUID})$",
        rf'\A\{{"type":"thread.started","thread_id":"({UUID})"\}}',
    ),
    said=said,
    # Since 0.156 a plain `codex` starts both, in sessions of their own; every codex of that
    # CODEX_HOME uses them. `stop` ends the first; the second was still there a second later.
    helpers=tuple(
        Helper(pattern, ("codex",), "codex app-server daemon stop")
        for pattern in (
            "*/codex app-server *--managed-daemon*",
            "*/codex app-server daemon pid-update-loop*",
        )
    ),
    record_keys=("type",),
    lost=(
        "No saved session found with ID",  # codex resume
        "no rollout found for thread id",  # codex exec resume
        "is archived. Run `codex unarchive",
    ),
    # Besides the file there are rows in state_5.sqlite and thread_history_1.sqlite.
    forget=("delete", "--force", "{id}"),
    turn=turn,
    busy=r"\besc to interrupt\)",
    # A numbered answer under the cursor (U+203A); the prompt bears the same sign and is not drawn
    # meanwhile. The tool that asks, `request_user_input`, draws it further to the right.
    asks=(r"(?m)^ *\u203a \d+\. [^\n]*(?![\s\S]*^ *\u203a (?!\d+\. ))",),
    # Below it stands the prompt, and nothing else.
    limited=(rf"(?m)You['\u2019]ve hit your usage limit(?:[^\n]|\n(?! *\n))*{LAST_SAID}",),
    # In the place of "Working", with the reason below it.
    retries=(rf"(?m)^[•◦] Reconnecting\.\.\. [^\n]*(?:\n  └ [^\n]*)?{LAST_SAID}",),
    blinks=(r"(?m)^ *└ Tip: [^\n]*(?:\n {4}\S[^\n]*)*",),
    hooks=Hooks(
        variable="CODEX_HOME",
        home=".codex",
        files=("hooks.json", "config.toml"),
        beats=words_of("UserPromptSubmit PreToolUse PostToolUse Stop SubagentStop PreCompact"),
        switches="config.toml",
        asks_for_trust=True,
    ),
    mcp=McpClient("~/.codex/config.toml", _toml, args=_flags),
    skills=("CODEX_HOME", "skills", ".codex/skills"),
)
