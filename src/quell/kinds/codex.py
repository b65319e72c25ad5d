"""Codex, read from 0.166.0: its help, its program text, and runs against a local model."""

from quell.core.kind import Helper, Kind
from quell.kinds.enclosing import ENCLOSING

# Since 0.156 a plain `codex` starts both, in sessions of their own; every codex of that CODEX_HOME
# uses them. `stop` ends the first; the second was still there a second later.
DAEMON = tuple(
    Helper(pattern, ("codex",), "codex app-server daemon stop")
    for pattern in (
        "*/codex app-server *--managed-daemon*",
        "*/codex app-server daemon pid-update-loop*",
    )
)

LAST_SAID = r"(?![\s\S]*^(?:[•■]|\u203a[\s\S]*^\u203a))"

KIND = Kind(
    "codex",
    program="codex",
    programs=("codex",),
    # The id cannot be chosen: a UUID of version 7 that codex makes itself.
    # From any directory.
    resume=("resume", "{id}"),
    # With the daemon the work is not in this process: after `/quit` and after SIGTERM to the whole
    # group a turn ran on to its end there ("Any running work continues"). The flag is as old as the
    # daemon's own start (0.156); `-c features.daemon_auto_start=false` instead stops at a question
    # where a daemon is running already.
    alone=("--no-daemon",),
    subcommands=(
        *("app", "app-server", "apply", "archive", "cloud", "completion", "debug", "delete"),
        *("doctor", "exec", "e", "exec-server", "features", "fork", "login", "logout", "mcp"),
        *("mcp-server", "plugin", "resume", "review", "sandbox", "unarchive", "update"),
    ),
    exit_keys=("/quit",),
    # One on an empty prompt leaves at once; a second would reach what is below.
    detach_keys=("C-c",),
    clear_keys=("Escape", "C-u"),
    strip_env=ENCLOSING,
    root_env=(("CODEX_HOME", ""),),
    root="{home}/.codex",
    # By the day it began; `codex archive` moves it, and then it must be unarchived to be resumed.
    conversation=(
        "sessions/*/*/*/rollout-*-{id}.jsonl*",
        "archived_sessions/rollout-*-{id}.jsonl*",
    ),
    helpers=DAEMON,
    lost=(
        "No saved session found with ID",  # codex resume
        "no rollout found for thread id",  # codex exec resume
        "is archived. Run `codex unarchive",
    ),
    # Besides the file there are rows in state_5.sqlite and thread_history_1.sqlite.
    forget=("delete", "--force", "{id}"),
    dialect="codex",
    busy=r"\besc to interrupt\)",
    # A numbered answer under the cursor (U+203A); the prompt bears the same sign and is not drawn
    # meanwhile.
    asks=(r"(?m)^\u203a \d+\. [^\n]*(?![\s\S]*^\u203a (?!\d+\. ))",),
    # Below it stands the prompt, and nothing else.
    limited=(rf"(?m)You['\u2019]ve hit your usage limit(?:[^\n]|\n(?!\n))*{LAST_SAID}",),
)
