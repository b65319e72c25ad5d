"""The durable identity of an agent, and what it may be called."""

import re
from collections.abc import Collection, Iterable
from itertools import count
from typing import NamedTuple

from knell.core.errors import BadRequest

NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"  # compiled where a name is checked, which `list` does not
SHOWN = 40  # characters of a bad name that an error repeats
RESERVED = frozenset({"all", "self", "none"})
# Callers and senders that are no agents: an agent with such a name would pass for one of them.
NO_AGENT = frozenset({"operator", "unproven", "watch"})


class Agent(NamedTuple):
    """Never deleted by a kill: everything that a later resume needs is here."""

    name: str
    kind: str
    cwd: str
    args: tuple[str, ...] = ()  # what the person asked for: after the program, or the whole command
    env: tuple[tuple[str, str], ...] = ()  # asked for with --env
    place: str = "headless"
    server: str = ""  # which tmux server or kitty socket
    team: str = ""
    tag: str = ""
    role: str = ""
    task: str = ""
    keep: tuple[str, ...] = ()  # globs of children that may outlive it
    conversation: str = ""
    created_at: str = ""
    restart: int = 0  # how often the watch may start it again after an unplanned end
    # By whose word the conversation is known, and since when (core/conversation.py); without a
    # source nothing is known surely, and `conversation` may be what an older knell had guessed.
    conversation_source: str = ""
    conversation_since: str = ""
    conversation_root: str = ""  # the directory of its program's conversations, as it was started
    cut_off_after: int = 0  # seconds without the fleet after which the watch stops it; 0: never


def checked_name(name: str, what: str = "name") -> str:
    """`name` if it is safe in tmux, a path and a shell; else an error that proposes one."""
    if re.fullmatch(NAME, name) and name.lower() not in RESERVED and not name.isdigit():
        return name
    shown = f"'{name}'" if len(name) <= SHOWN and name.isprintable() else repr(name[:SHOWN]) + "…"
    why = "is reserved" if name.lower() in RESERVED or name.isdigit() else "is not usable"
    raise BadRequest(
        f"the {what} {shown} {why}; allowed are letters, digits, '-' and '_', at most 64",
        f"try {proposed_name(name)}",
    )


def checked_new_name(name: str) -> str:
    """`name` for a new agent: also not the name of a caller that is no agent (NO_AGENT)."""
    if name.lower() in NO_AGENT:
        why = f"the name '{name}' is reserved: an agent of that name would be taken for another"
        raise BadRequest(why, f"try {proposed_name(name)}")
    return checked_name(name)


def proposed_name(name: str) -> str:
    """The nearest legal name."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:64]
    if not plain or plain.isdigit() or plain.lower() in RESERVED | NO_AGENT:
        plain = f"agent-{plain}".rstrip("-")
    return plain


def next_name(kind: str, taken: frozenset[str]) -> str:
    """`claude-1`, `claude-2`, …: the first number that no agent ever had."""
    return first_free((f"{kind}-{number}" for number in count(1)), taken)


def first_free(names: Iterable[str], taken: Collection[str]) -> str:
    return next(name for name in names if name not in taken)


def derived_session_name(workspace: str, kind: str) -> str:
    """The tmux session of an agent by the convention `<workspace>-creator-<agent>`."""
    parts = [part for part in workspace.split("/") if part][-2:]
    return f"{'-'.join(parts).replace('_', '-').lower()}-creator-{kind}".lstrip("-")
