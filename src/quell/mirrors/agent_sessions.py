"""The registry `.hermes/agent-sessions.yaml`, which other tools and people write too.

A write changes the lines that it must and no other byte. What the file then says is compared with
what it should say before anything is replaced, so a write does exactly what was asked or raises.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from quell.core.errors import RegistryFailed
from quell.core.ports import Row
from quell.mirrors import files
from quell.mirrors.delegate_jobs import publish
from quell.mirrors.locking import locked
from quell.mirrors.nodes import Alias, Malformed, Map, Node, Seq, Shapes, own
from quell.mirrors.parsing import parsed, place_of
from quell.mirrors.rows import (
    SESSIONS,
    STATUSES,
    Session,
    cached_conversation,
    row_of,
    sessions_list,
    sessions_of,
    table_of,
)
from quell.mirrors.splicing import (
    Edit,
    Inseparable,
    applied,
    change_of,
    changed,
    edits,
    new_session,
    text_with,
)
from quell.mirrors.nodes import text_of, get
from quell.mirrors.writing import node_of

USUAL = os.path.join(".hermes", "agent-sessions.yaml")
TRIES = 20  # against somebody who saves the file again and again while we write

# The audit trail and what `create` and `resume` need: an ending keeps it, so nobody drops it.
KEPT = ("name", "role", "pane", "start_command", "mcp_attachments",
        "claude_session_id_own", "agy_conversation_id_own")  # fmt: skip
