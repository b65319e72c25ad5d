"""opencode, read from 1.18.33: its help, its program text, and runs against a local model."""

from quell.core.kind import Database, Kind
from quell.kinds.enclosing import ENCLOSING

KIND = Kind(
    "opencode",
    program="opencode",
    programs=("opencode", "opencode.exe"),
    # The id cannot be chosen ("ses_..."): one that is not there yet is "Session not found".
    # From any directory; the session goes on in its own.
    resume=("--session", "{id}"),
    # Works in the middle of a turn too.
    exit_keys=("/exit",),
    # One on an empty prompt leaves at once.
    detach_keys=("C-c",),
    clear_keys=("Escape", "C-u"),
    strip_env=ENCLOSING,
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
    ),
    forget=("session", "delete", "{id}"),
    lost=("Session not found", "Invalid session ID"),
)
