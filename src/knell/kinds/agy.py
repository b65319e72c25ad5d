"""Antigravity CLI. Nothing here was verified: the program was not at hand.

Taken from the contracts (M24, M39, M52, C19) and from what other tools do with it.
"""

from knell.core.kind import Kind

KIND = Kind(
    "agy",
    program="agy",
    # No flag that chooses the id is known.
    resume=("--conversation", "{id}"),
    exit_keys="Exit",
    # What every other kind needs; a guess here.
    clear_keys=("Escape", "C-u"),
    # As in the others a sign stands before the first line only; and nothing below. A guess.
    prompt_shown=r"(?m)^> [^\n]*\s*\Z|^>\s*\Z",
    exit_shown=r"(?m)^> Exit\s*\Z",
    root="{home}/.gemini/antigravity-cli",
    conversation=("conversations/{id}.db",),
    extras=("conversations/{id}.db-*", "brain/{id}"),
    # Each is an SQLite file, which a program that uses it has open; a guess here as well.
    holds=True,
    last_file="cache/last_conversations.json",
    picks=("--conversation", "--continue", "-c"),
    registry_id="agy_conversation_id_own",
    registry_cache="conversation_id",
    other_names=("antigravity",),
)
