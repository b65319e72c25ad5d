"""Which conversation an agent is in, by whose word that is known, and since when.

A sure word is the program's own, about this one run:

given    the id was chosen at the start, or named by a person
noted    the program's note about this very process says so (claude keeps one)
told     the program told this run: by a hook, a notify program or a plugin that the run was given
held     a process of the run has the conversation's file open
printed  the program printed the id as it left

Anything else that a search finds is a candidate: a person may choose it, and no verb acts on it.
The later sure word wins, as `/clear` and `/new` begin another conversation.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.kind import Kind

GIVEN, NOTED, TOLD, HELD, PRINTED = "given", "noted", "told", "held", "printed"
SURE = (GIVEN, NOTED, TOLD, HELD, PRINTED)
UNSURE = "unsure"
LEFT = "left"  # no sure word: it was in that one, and may be in another since
# Where a candidate was found: in the registry file or on disk.
ROW, SCAN, CACHE = GUESSES = ("row", "scan", "cache")


class KnownConversation(NamedTuple):
    """One sure word; without an id nothing is known surely."""

    id: str = ""
    source: str = ""
    since: str = ""

    @property
    def sure(self) -> bool:
        return bool(self.id) and self.source in SURE


class ConversationCandidate(NamedTuple):
    """A conversation that may be the agent's, with what a person recognises it by."""

    id: str
    found_in: str  # row, scan or cache
    at: str = ""  # when it last changed
    cwd: str = ""
    first: str = ""  # the first and the last words of the person in it
    last: str = ""

    def __str__(self) -> str:
        """One line for a person."""
        parts = [self.id, self.at[:16].replace("T", " "), self.cwd]
        words = f'"{self.first}"' if self.first else ""
        if self.last and self.last != self.first:
            words += f' … "{self.last}"'
        return "  ".join(part for part in (*parts, words) if part)


NOTHING_KNOWN = KnownConversation()


def recorded_conversation(agent: Agent) -> KnownConversation:
    """What the agent's record says surely."""
    known = KnownConversation(
        agent.conversation, agent.conversation_source, agent.conversation_since
    )
    return known if known.sure else NOTHING_KNOWN


def in_conversation(agent: Agent, known: KnownConversation) -> Agent:
    """The agent with that conversation on its record."""
    id, source, since = known if known.id else NOTHING_KNOWN
    return agent._replace(conversation=id, conversation_source=source, conversation_since=since)


def given_conversation(agent: Agent, id: str, at: str) -> Agent:
    """The agent with the id that it is started with, which may be none."""
    return in_conversation(agent, KnownConversation(id, GIVEN, at))


def latest(record: KnownConversation, words: Iterable[KnownConversation]) -> KnownConversation:
    """The latest sure word. What the run itself says is later than the id that it was given,
    whatever the clocks say; an id that is only confirmed keeps its first source."""
    best = record
    for word in sorted((one for one in words if one.sure), key=lambda one: one.since):
        later = not best.sure or best.source == GIVEN or word.since >= best.since
        if later and word.id != best.id:
            best = word
    return best


# -- where its files are ---------------------------------------------------------------------------


def conversation_root(
    kind: Kind, env: Mapping[str, str], enclosing: Callable[[], Collection[str]]
) -> str:
    """The directory that holds every conversation of `kind` for a person with this environment.

    `enclosing` gives the variables that agents set for their children. It is asked only where a
    variable moves the root that agents set too, and mean something else by: inside of an agent
    such a variable is not believed.
    """
    ours = [variable for variable, _ in kind.root_env]
    for variable, suffix in kind.root_env:
        if not env.get(variable):
            continue
        foreign = enclosing() if variable in kind.strip_env else ()
        if not any(env.get(name) for name in foreign if name not in ours):
            return env[variable].rstrip("/") + suffix
    return kind.root.replace("{home}", env.get("HOME", ""))


def below_root(
    kind: Kind, templates: tuple[str, ...], conversation: str, cwd: str
) -> tuple[str, ...]:
    """Globs below the root, the best first; none for an id that could reach another's files."""
    if not kind.is_id(conversation):
        return ()
    key = kind.cwd_key(cwd) if kind.cwd_key else ""
    return tuple(
        template.replace("{id}", conversation)
        .replace("{id8}", conversation[:8])
        .replace("{cwd_key}", key)
        for template in templates
    )
