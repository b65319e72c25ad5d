"""Which conversation a program has open, by the files that its process holds; and whether one that
crashed had left what it told last, by the locks that are left behind."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from knell.core.agent import Agent
from knell.core.conversation import HELD, LEFT, NOTHING_KNOWN, KnownConversation
from knell.core.json_lines import records_of
from knell.core.kind import SAFE_ID, Kind, program_word
from knell.core.ports.world import World
from knell.core.run import Run
from knell.life.base.conversation import conversation_files, root_of


def held_conversation(world: World, agent: Agent, run: Run, kind: Kind) -> KnownConversation:
    """The conversation that it has entered last; the last written, of a program without locks."""
    if run.process is None or run.host != world.host:
        return NOTHING_KNOWN
    root = world.disk.real(root_of(world, agent, kind))

    def is_program(argv: Any) -> bool:
        return kind.runs_in(argv) and program_word(argv) == argv[0]

    paths = world.processes.written_files(run.process, root, is_program) or ()
    locks = [word_of(world, path, id) for path in paths if (id := lock_id(kind, root, path))]
    if locks:
        return _entered_last(world, agent, kind, locks)
    words = [
        word_of(world, path, id)
        for path in paths
        if (id := id_in_path(kind, root, path)) and not is_side(world, kind, path)
    ]
    return max(words, key=lambda word: word.since, default=NOTHING_KNOWN)


def word_of(world: World, path: str, id: str) -> KnownConversation:
    return KnownConversation(id, HELD, world.moment(world.disk.touched_at(path) or 0.0))


def _entered_last(
    world: World, agent: Agent, kind: Kind, locks: list[KnownConversation]
) -> KnownConversation:
    """By its locks: each is made as the program enters that conversation. LEFT where it has entered
    one that nothing was said in yet, with the one before; nothing where there is none before."""
    empty = ""
    for lock in sorted(locks, key=lambda word: word.since, reverse=True):
        files = conversation_files(world, agent._replace(conversation=lock.id), kind)
        if files and all(is_side(world, kind, path) for path in files):
            continue
        if files:
            return lock._replace(source=LEFT, since=empty) if empty else lock
        empty = empty or lock.since
    if empty and kind.is_id(agent.conversation):
        return KnownConversation(agent.conversation, LEFT, empty)
    return NOTHING_KNOWN


def lock_id(kind: Kind, root: str, path: str) -> str:
    """The id of the conversation that this file locks; empty if it is no lock of this kind's."""
    return _id_by(kind, root, path, kind.lock) if kind.lock else ""


def id_in_path(kind: Kind, root: str, path: str) -> str:
    """The id of the conversation whose file this is; empty if it is none of this kind's."""
    ids = (_id_by(kind, root, path, template) for template in kind.conversation)
    return next(filter(None, ids), "")


def _id_by(kind: Kind, root: str, path: str, template: str) -> str:
    parts = re.split(r"(\{id\}|\*|\{\w+\})", template)
    words = {"{id}": f"({kind.id_pattern or SAFE_ID})", "*": "[^/]*"}
    regex = "".join(
        words.get(part, "[^/]*") if at % 2 else re.escape(part) for at, part in enumerate(parts)
    )
    found = re.fullmatch(re.escape(f"{root}/") + regex, path)
    return found.group(1) if found else ""


def is_side(world: World, kind: Kind, path: str) -> bool:
    """Whether the file is that of a side thread, which no person talks to."""
    if kind.side is None:
        return False
    first = next(records_of(world.disk.head(path) or b""), None)
    return first is not None and kind.side(first)


# -- after a crash ---------------------------------------------------------------------------------

# A program removes its locks as it leaves. One that died suddenly leaves them, and a lock that was
# made after its last word may be its own: then the person had gone on to that conversation, and had
# said nothing there.


def may_have_left(
    world: World,
    agent: Agent,
    known: KnownConversation,
    words: Sequence[KnownConversation],
    others: Callable[[], Collection[str]],
) -> list[KnownConversation]:
    """That it may have left the conversation that is known; nothing if no lock speaks for it.
    `others` gives the conversations that other agents of knell's have told of."""
    if not known.sure:
        return []
    kind = world.kinds.kind_or_command(agent.kind)
    locks = locks_left(world, agent, kind)
    own = max(word.since for word in (known, *words, *locks.values()) if word.id == known.id)
    later = {path: lock for path, lock in locks.items() if lock.since > own}
    if later:
        told = others()
        later = {path: lock for path, lock in later.items() if lock.id not in told}
    doubts = _of_nobody(world, agent, kind, later) if later else ()
    return [KnownConversation(known.id, LEFT, lock.since) for lock in doubts]


def locks_left(world: World, agent: Agent, kind: Kind) -> dict[str, KnownConversation]:
    """By the path of each lock: which conversation it is for, and since when."""
    root = world.disk.real(root_of(world, agent, kind))
    paths = world.disk.glob(os.path.join(root, kind.lock.replace("{id}", "*")))
    return {path: word_of(world, path, id) for path in paths if (id := lock_id(kind, root, path))}


def _of_nobody(
    world: World, agent: Agent, kind: Kind, locks: dict[str, KnownConversation]
) -> Iterator[KnownConversation]:
    """Without those that a living process holds, and those for a side thread."""
    held = {one.path for one in world.processes.open_files(tuple(locks)).files}
    for path, lock in locks.items():
        files = conversation_files(world, agent._replace(conversation=lock.id), kind)
        side = bool(files) and all(is_side(world, kind, file) for file in files)
        if path not in held and not side:
            yield lock
