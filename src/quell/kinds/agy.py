"""Antigravity CLI. Nothing here was verified: the program was not at hand.

Taken from the contracts (M24, M39, M52, C19) and from what other tools do with it.
"""

from quell.core.kind import Kind
from quell.kinds.enclosing import ENCLOSING

KIND = Kind(
    "agy",
    program="agy",
    programs=("agy",),
    # No flag that chooses the id is known.
    resume=("--conversation", "{id}"),
    exit_keys=("Exit",),
    detach_keys=("C-d",),
    # What every other kind needs; a guess here.
    clear_keys=("Escape", "C-u"),
    strip_env=ENCLOSING,
    root="{home}/.gemini/antigravity-cli",
    conversation=("conversations/{id}.db",),
    extras=("conversations/{id}.db-*", "brain/{id}"),
    last_file="cache/last_conversations.json",
    picks=("--conversation", "--continue", "-c"),
)
