"""Confirms that a resumed program has stayed up and is in its conversation; else says why not."""

import re
from enum import StrEnum
from typing import NamedTuple

from knell.core.codes import Code, Notice
from knell.core.conversation import NOTHING_KNOWN, SCAN, ConversationCandidate, latest
from knell.core.errors import NotResumable, PlaceFailed
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.life.base.candidates import with_words
from knell.life.base.known_conversation import said_by_run
from knell.life.base.take_in import take_in_journals
from knell.life.start.confirm import last_lines
from knell.life.start.spawn import Spawned

GLANCE = 0.1  # seconds between two looks at its screen and its notes
CALM = 1.5  # seconds in which a program that shows nothing of its conversation must not complain
FEWEST = 12  # letters of a message that are enough to recognise it on a screen
MOST = 40
BETWEEN_LETTERS = re.compile(r"[\W_]+")
LAST_RITES = 10.0  # seconds in which a keeper ends what its program has left behind


class Continuation(StrEnum):
    RESUMED = "resumed"  # the program names this conversation, or shows what was said in it
    STARTED = "started"  # it stays up and does not complain; nothing more is known
    FRESH = "fresh"  # it came up with another conversation
    RESTARTED = "restarted"  # a kind without conversations


UNSEEN = "it was not seen to have loaded its conversation"


class HowStarted(NamedTuple):
    headless: bool = False  # it works through its prompt and exits
    prompt: str = ""  # what it was given to begin with


class Sight:
    """What can be seen of one resumed run, at one look."""

    def __init__(self, world: World, spawned: Spawned, kind: Kind, how: HowStarted) -> None:
        self.world = world
        self.agent, self.run, _ = spawned
        self.kind = kind
        self.how = how
        # The last message of the person in the conversation; empty if it cannot be read.
        candidate = ConversationCandidate(self.agent.conversation, SCAN)
        words = recognisable(with_words(world, self.agent, kind, candidate).last)
        # On its screen the prompt that it was given just now would prove nothing.
        self.last_words = "" if words in letters_of(how.prompt) else words

    @property
    def can_be_seen(self) -> bool:
        """Whether the program has a way to show that it has loaded the conversation."""
        kind = self.kind
        tells = kind.tell and not kind.typed_log  # gemini tells nothing of itself
        return bool(self.last_words or kind.live_file or kind.holds or tells)

    @property
    def is_gone(self) -> bool:
        process = self.run.process
        return process is None or isinstance(self.world.processes.look(process), Gone)

    def screen(self) -> str:
        """Empty where it cannot be read."""
        try:
            return self.world.place(self.run.place.name).screen(self.run.place)
        except PlaceFailed:
            return ""

    def asks(self, screen: str) -> bool:
        """Whether it waits for a person first: to be trusted, to be logged in."""
        return any(re.search(pattern, screen) for pattern in self.kind.asks)

    def judge(self, screen: str) -> Continuation | None:
        """By the conversation that the program itself says it is in, else by what stands on its
        screen; None as long as neither tells."""
        if words := said_by_run(self.world, self.agent, self.run):
            same = latest(NOTHING_KNOWN, words).id == self.agent.conversation
            return Continuation.RESUMED if same else Continuation.FRESH
        shown = self.last_words and self.last_words in letters_of(screen)
        return Continuation.RESUMED if shown else None

    def judge_calm(self, screen: str) -> Continuation:
        """It stays up without a word of its conversation; refused if it says that it cannot resume.
        Before that it has time to end: such words may be part of the conversation itself."""
        complaint = next((text for text in self.kind.lost if text in screen), "")
        if complaint and not self.asks(screen):
            name = self.agent.name
            why = f"'{name}' runs, but did not come back: its screen says {complaint!r}"
            raise NotResumable(why, f"knell kill {name}, or look at it")
        return Continuation.STARTED

    def judge_end(self) -> Continuation:
        """A headless one that has answered is done; any other has failed, with its last words."""
        world, run = self.world, self.run
        if run.keeper:
            world.wait([run.keeper], LAST_RITES)
        take_in_journals(world)
        receipt = world.store.endings.receipt(run.id)
        code = receipt.exit_code if receipt else None
        if self.how.headless and code == 0:
            return Continuation.RESUMED
        how = "" if code is None else f", exit code {code}"
        why = f"'{run.agent}' did not come back: it ended{how}{last_lines(world, run)}"
        raise NotResumable(why, f"knell receipt {run.agent} --screen shows its last words")

    def warnings(self, verdict: Continuation) -> tuple[Notice, ...]:
        if verdict is Continuation.FRESH:
            why = "it came up with another conversation than the one on record"
            return (Notice(Code.CONVERSATION_CHANGED, why),)
        if verdict is not Continuation.STARTED:
            return ()
        from knell.core.stall.screens import noticed

        question = noticed(self.screen(), self.kind.asks)
        why = f"{UNSEEN}: it asks first: {question}" if question else UNSEEN
        return (Notice(Code.CONVERSATION_UNSEEN, why),)


def confirm_resume(
    world: World, spawned: Spawned, kind: Kind, how: HowStarted
) -> tuple[Continuation, tuple[Notice, ...]]:
    """Watches until the program names or shows its conversation, asks a person, ends, or time is
    up; how it went on, with warnings. Raises if it ended, or says that it cannot resume."""
    if not kind.resume:
        return Continuation.RESTARTED, ()
    sight = Sight(world, spawned, kind, how)
    longest = world.settings.resume_wait if sight.can_be_seen else CALM
    waited = 0.0
    found: Continuation | None = None
    while found is None and not sight.is_gone:
        screen = sight.screen()
        found = sight.judge(screen)
        if found is None and (waited >= longest or sight.asks(screen)):
            found = sight.judge_calm(screen)
        process = spawned.run.process
        seconds = GLANCE if found is None else world.settings.spawn_stay
        world.wait([process] if process else [], seconds)
        waited += GLANCE
    verdict = sight.judge_end() if found is None or sight.is_gone else found
    return verdict, sight.warnings(verdict)


# -- what was said last ---------------------------------------------------------------------------


def recognisable(text: str) -> str:
    """The beginning of a message as it can be found on a screen, which wraps and indents it; empty
    if it is too short to be told from others."""
    letters = letters_of(text)[:MOST]
    return letters if len(letters) >= FEWEST else ""


def letters_of(text: str) -> str:
    return BETWEEN_LETTERS.sub("", text)
