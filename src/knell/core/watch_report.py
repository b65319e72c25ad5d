"""What the watch reports: events, drifts between the records, and its own troubles."""

from typing import NamedTuple

from knell.core.ports.store import Event


class Drift(NamedTuple):
    """One place where the registry file, the store and the machine disagreed."""

    kind: str  # dead, alive, unlisted, conversation, resurrected, unseen
    session: str
    what: str
    done: str  # what was done about it; empty: nothing


class Trouble(NamedTuple):
    """Something that the watch could not do in this round; it tries again in the next."""

    text: str


WatchReport = Event | Drift | Trouble
