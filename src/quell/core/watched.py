"""What the watch tells, besides the events that it causes."""

from typing import NamedTuple

from quell.core.store import Happened


class Drift(NamedTuple):
    """One place where the registry file, the store and the machine disagreed."""

    kind: str  # dead, unlisted, conversation, resurrected, unseen
    session: str
    what: str
    done: str  # what was done about it; empty: nothing


class Trouble(NamedTuple):
    """Something that the watch could not do in this round; it tries again in the next."""

    text: str


Told = Happened | Drift | Trouble
