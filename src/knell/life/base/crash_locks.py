"""Doubts what a crashed program told last where a lock on another conversation is left behind.

A program removes its locks as it leaves. One that died suddenly leaves them, and a lock that was
made after its last word may be its own: then the person had gone on to that conversation, and had
said nothing there.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from knell.core.agent import Agent
from knell.core.conversation import LEFT, KnownConversation
from knell.life.base.conversation import conversation_files, root_of
from knell.life.base.held_conversation import is_side, lock_id, word_of

if TYPE_CHECKING:
    from knell.core.kind import Kind
    from knell.core.ports.world import World


def may_have_left(
    world: "World",
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


def locks_left(world: "World", agent: Agent, kind: "Kind") -> dict[str, KnownConversation]:
    """By the path of each lock: which conversation it is for, and since when."""
    root = world.disk.real(root_of(world, agent, kind))
    paths = world.disk.glob(os.path.join(root, kind.lock.replace("{id}", "*")))
    return {path: word_of(world, path, id) for path in paths if (id := lock_id(kind, root, path))}


def _of_nobody(
    world: "World", agent: Agent, kind: "Kind", locks: dict[str, KnownConversation]
) -> Iterator[KnownConversation]:
    """Without those that a living process holds, and those for a side thread."""
    held = {one.path for one in world.processes.open_files(tuple(locks)).files}
    for path, lock in locks.items():
        files = conversation_files(world, agent._replace(conversation=lock.id), kind)
        side = bool(files) and all(is_side(world, kind, file) for file in files)
        if path not in held and not side:
            yield lock
