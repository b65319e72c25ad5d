"""opencode, read from 1.18.33: its help, its program text, and runs against a local model."""

from quell.core.kind import Database, Kind
from quell.core.serving import Serving
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
    dialect="opencode",
    busy=r"\besc interrupt\b",
    busy_in_answers=True,
    asks=(r"△ Permission required(?![\s\S]*╹▀)",),  # the frame of its prompt is not drawn meanwhile
    limited=(r"[^\n⬝■]*\[retrying [^\n\]]*\](?![\s\S]*╹▀)",),
    forget=("session", "delete", "{id}"),
    lost=("Session not found", "Invalid session ID"),
    serving=Serving(
        # Exits with 1 if the port is taken. Without a password anybody on the machine may use it.
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
)
