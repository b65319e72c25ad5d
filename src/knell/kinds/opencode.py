"""opencode, read from 1.18.33: its help, its program text, and runs against a local model."""

import json
from collections.abc import Sequence
from typing import Any

from knell.core.arguments import Flags, HeadlessMode
from knell.core.environment import TOKEN
from knell.core.kind import Database, Kind, npm, words_of
from knell.core.mcp_client import McpClient, McpServer, bearer
from knell.core.serving import Serving
from knell.core.stall.signs import Turn
from knell.core.stall.turns import Record, inner
from knell.core.telling import Telling, TellRequest


def turn(records: Sequence[Record]) -> Turn:
    """Messages as its database has them, each with the number of its tools that are at work.

    A prompt may wait in line behind an answer that has been cut short: that is no open turn."""
    for number, record in enumerate(records):
        message = inner(record, "message")
        if message.get("role") != "assistant":
            continue
        if not inner(message, "time").get("completed"):
            return Turn.TOOL if record.get("running") else Turn.OPEN
        over = message.get("error") or message.get("finish") == "stop"
        return Turn.DONE if over and number == 0 else Turn.UNKNOWN
    return Turn.UNKNOWN


# -- how it tells its conversation ----------------------------------------------------------------

CONFIG, TUI_CONFIG = "OPENCODE_CONFIG_CONTENT", "OPENCODE_TUI_CONFIG"
SUBCOMMANDS = words_of("""
    completion acp mcp debug providers auth agent upgrade uninstall serve web models stats
    export import github session plugin plug db""")


def tell(start: TellRequest) -> Telling:
    """By a plugin of this run alone, which loads beside the user's: one of the terminal interface,
    or of the server where there is none. The former does not make the start wait; the latter does,
    on the first start of a version, for what opencode installs into its folder of settings."""
    words = start.argv[1:]
    if words[:1] and words[0] in SUBCOMMANDS:
        return Telling(start.argv, start.env)
    if words[:1] == ("run",) or "--mini" in words:
        text = start.env.get(CONFIG) or "{}"
        changed = _with_plugin(text, start.rundir, "tell-server.js")
        files = (("tell-server.js", _plugin("server.js")),)
        env = {**start.env, CONFIG: changed} if changed else start.env
        return Telling(start.argv, env, files if changed else ())
    theirs = start.env.get(TUI_CONFIG)
    changed = _with_plugin(_absolute(start, theirs) if theirs else "{}", start.rundir, "tell.js")
    if not changed:
        return Telling(start.argv, start.env)
    files = (("tell.js", _plugin("tui.js")), ("tui.json", changed))
    return Telling(start.argv, {**start.env, TUI_CONFIG: f"{start.rundir}/tui.json"}, files)


def _plugin(name: str) -> str:
    from pathlib import Path  # needed at a start only

    folder = Path(__file__).with_name("opencode_plugin")
    return "\n".join((folder / part).read_text("utf-8") for part in ("note.js", name))


def _with_plugin(text: str, rundir: str, name: str) -> str:
    """The settings with the plugin behind the user's; empty if they cannot be read: opencode then
    says itself what is wrong with them."""
    from urllib.parse import quote

    try:
        settings = json.loads(text)
        theirs = settings.get("plugin", [])
        added = [[f"file://{quote(rundir)}/{name}", {"folder": rundir}]]
        return json.dumps({**settings, "plugin": theirs + added})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ""


def _absolute(start: TellRequest, path: str) -> str:
    """The user's own file, for a copy in another folder; empty where it names files near it."""
    text = start.read(path) or ""
    near = "{file:" in text or '"./' in text or '"../' in text
    return "" if near else text


def _document(server: McpServer) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": list(server.command), "enabled": True}
    if server.address:
        entry = {"type": "remote", "url": server.address, "enabled": True, "oauth": False}
        entry["headers"] = bearer(f"{{env:{TOKEN}}}")
    return {"mcp": {"knell": entry}}


def _variable(server: McpServer) -> tuple[tuple[str, str], ...]:
    return ((CONFIG, json.dumps(_document(server))),)


KIND = Kind(
    "opencode",
    **npm("opencode", "opencode-ai"),
    seen=("1.18.33",),
    child_env=("OPENCODE_PID",),  # kilo sets OPENCODE as well
    session_env="OPENCODE_PID",
    id_pattern="ses_[0-9A-Za-z]+",
    # The id cannot be chosen: one that is not there yet is "Session not found".
    # From any directory; the session goes on in its own.
    resume=("--session", "{id}"),
    fork=("--session", "{id}", "--fork"),
    picks=("--session", "-s", "--continue", "-c"),
    # As `--help` and `run --help` list them.
    flags=Flags(
        switches=words_of("""
            -h --help -v --version --print-logs --pure --mdns --fork -c --continue --auto
            --mini --no-replay --share --thinking -i --interactive"""),
        lists=("--cors", "-f", "--file"),
        prompts=("--prompt",),
        once=("-f", "--file", "--fork", "--share", "--title", "--command"),
    ),
    prompt=("--prompt={prompt}",),  # its word is a directory
    headless=HeadlessMode(
        # Of words with a space in them it sends the quotes, too.
        resume=("run", "--session", "{id}", "{args}", "--", "{words}"),
        words=("run",),
        only=words_of("""
            --format --dir --port --variant --thinking -i --interactive --attach -p --password
            -u --username"""),
    ),
    # Works in the middle of a turn too.
    exit_keys="/exit",
    # C-c takes all lines of a prompt, C-u one. On an empty prompt C-c ends opencode, in order.
    clear_keys=("Escape", "C-c"),
    prompt_empty=r"┃ *\n *┃(?:  Ask anything[^\n]*| *)\n *┃ *\n *┃  [^\n]* · [^\n]*\n *╹▀",
    # Its frame, with agent and model at the bottom; a dialog or a question covers that.
    prompt_shown=r"\n *┃  [^\n]* · [^\n]*\n *╹▀",
    # On the first line of the frame. Above it are no lines of a frame but those of a menu.
    exit_shown=r"(?:(?:^|\n) *[^┃\s][^\n]*|\n *|┃ *)\n *┃ *\n *┃  /exit *\n *┃ *\n"
    r" *┃  [^\n]* · [^\n]*\n *╹▀",
    # Read by letting it run `env` as a tool.
    strip_env=("OPENCODE", "OPENCODE_PID", "OPENCODE_TERMINAL"),
    # OPENCODE_DB can name another file, absolute or below this directory; `opencode db path` says.
    root_env=(("XDG_DATA_HOME", "/opencode"),),
    root="{home}/.local/share/opencode",
    # Everybody's conversations in one file: never to be deleted for the sake of one.
    # Development builds append their channel to the name.
    conversation=("opencode.db", "opencode-*.db"),
    database=Database(
        has="SELECT 1 FROM session WHERE id = :id",
        # Rows with a parent are subagents.
        newest="SELECT id FROM session WHERE directory = :cwd AND parent_id IS NULL"
        " ORDER BY time_updated DESC",
        # With its subagents. A text is written when it is complete, so that a long one is silent.
        touched="SELECT max(time_updated) FROM (SELECT time_updated FROM message"
        " WHERE session_id IN (SELECT id FROM session WHERE :id IN (id, parent_id))"
        " UNION ALL SELECT time_updated FROM part WHERE message_id IN (SELECT id FROM message"
        " WHERE session_id IN (SELECT id FROM session WHERE :id IN (id, parent_id))"
        " ORDER BY time_created DESC LIMIT 8))",
        tail="SELECT json_object('message', json(data), 'running', (SELECT count(*) FROM part"
        " WHERE message_id = message.id"
        " AND json_extract(part.data, '$.state.status') IN ('pending', 'running')), 'timestamp',"
        " strftime('%Y-%m-%dT%H:%M:%S', time_created / 1000, 'unixepoch'))"
        " FROM message WHERE session_id = :id ORDER BY time_created DESC, id DESC LIMIT 8",
    ),
    tell=tell,
    # "Continue  opencode -s ses_…", below its name, as the last words.
    printed=(r"(?m)^ *Continue +opencode -s (ses_[0-9A-Za-z]+) *$",),
    subcommands=SUBCOMMANDS,
    turn=turn,
    # In a narrow window a notice is drawn over the words and over most of the bar.
    busy=r"\besc interrupt\b|╹▀[^\n]*\n[^\n]*[⬝■]",
    busy_in_answers=True,
    # The frame of its prompt is not drawn meanwhile. The second is its tool `question`.
    asks=(
        r"△ Permission required(?![\s\S]*╹▀)",
        r"(?m)^ *┃ [^\n]*\benter \w+ +esc dismiss\b(?![\s\S]*╹▀)",
    ),
    # With the reason, if any of the bar before it is left.
    retries=(
        r"[⬝■][^\n]*(?:\n[^\n]*){0,2}?\bretrying\b[^\]]{0,200}attempt #\d+\](?![\s\S]*╹▀)",
        r"\bretrying\b[^\]]{0,200}attempt #\d+\](?![\s\S]*╹▀)",
    ),
    forget=("session", "delete", "{id}"),
    lost=("Session not found", "Invalid session ID"),
    serving=Serving(
        # Exits with 1 if the port is taken. Without a password every local user may use it.
        serve=("serve", "--hostname", "127.0.0.1", "--port", "{port}"),
        # Takes no prompt and no model. The session goes on in the server when this is killed.
        attach=("attach", "{url}", "--dir", "{cwd}"),
        session=("--session", "{id}"),
        picks=("--session", "-s", "--continue", "-c"),
        health="/global/health",  # 401 with another password
        open="/session?directory={cwd}",
        abort="/session/{id}/abort",  # true for an unknown one, too
        user="opencode",
        user_env="OPENCODE_SERVER_USERNAME",
        secret_env="OPENCODE_SERVER_PASSWORD",  # noqa: S106 - the variable's name
    ),
    mcp=McpClient("opencode.json", _document, env=_variable),
    skills=("XDG_CONFIG_HOME", "opencode/skills", ".config/opencode/skills"),
)
