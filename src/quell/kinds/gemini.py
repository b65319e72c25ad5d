"""Gemini CLI, read from 0.61.0: its help, its program text, and runs against a local model.

Two node processes: a launcher that ignores INT, TERM and HUP, and its child, whose end it waits
for. A signal must reach the child.
"""

from quell.core.kind import Kind
from quell.kinds.enclosing import ENCLOSING

KIND = Kind(
    "gemini",
    program="gemini",
    programs=("gemini",),
    # Must be new in this directory: 'Session ID "..." already exists', exit 42.
    choose_id=("--session-id", "{id}"),
    # Only from the directory it was started in. The help speaks of an index or "latest"; the id
    # is what it prints itself at the end ("To resume this session: ...").
    resume=("--resume", "{id}"),
    exit_keys=("/quit",),
    detach_keys=("C-c", "C-c"),
    # In the middle of a turn `/quit` stays in the prompt; Escape ends the turn.
    clear_keys=("Escape", "C-u"),
    strip_env=ENCLOSING,
    root_env=(("GEMINI_CLI_HOME", "/.gemini"),),
    root="{home}/.gemini",
    # The folder under tmp/ is a short name that projects.json gives each directory ("g-a-b-c-1"),
    # with the directory itself in tmp/*/.project_root. The whole id is in the first line.
    # One conversation can be several files of one {id8}: resuming begins a stub, which lets the
    # next gemini in that directory delete them all (docs/kinds.md).
    conversation=(
        "tmp/*/chats/session-*-{id8}.jsonl",
        "tmp/*/chats/session-*-{id8}.json",
    ),
    extras=(
        "tmp/*/chats/{id}",  # subagents
        "tmp/*/{id}",  # plans, tasks
        "tmp/*/logs/session-{id}.jsonl",
        "tmp/*/tool-outputs/session-{id}",
    ),
    picks=("--resume", "-r", "--session-id"),
    subcommands=("mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"),
    lost=(
        "Error resuming session: Invalid session identifier",
        "Error resuming session: No previous sessions found",
    ),
    dialect="gemini",
    # Its file does not tell a finished answer from one whose tool is at work.
    busy=r"(?m)^ [\u2800-\u28ff] [^\n]*\(esc to cancel",
    busy_in_answers=True,
    # A numbered answer under the cursor, in a box; the prompt is not drawn meanwhile.
    asks=(r"(?m)^│ ● \d+\. [^\n│]*(?![\s\S]*^ >  )",),
    limited=(r"(?m)(?<=│ )Usage limit reached[^\n│]*(?![\s\S]*^ >  )",),
)
