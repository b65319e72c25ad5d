"""Follows an agent through its program's log of what was typed (core/typed_log.py)."""

import os

from knell.core.agent import Agent
from knell.core.conversation import (
    GIVEN,
    LEFT,
    NOTED,
    NOTHING_KNOWN,
    KnownConversation,
    recorded_conversation,
)
from knell.core.errors import BadConfig
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.run import Run
from knell.core.telling import BEGAN
from knell.core.times import seconds_of
from knell.core.typed_log import EARLY, Chat, TypedLine, TypedLog, follow
from knell.life.base.conversation import conversation_files, project_above, root_of

MOST = 40  # conversations of one directory that are read, the last written first


def followed_conversation(world: World, agent: Agent, run: Run, kind: Kind) -> KnownConversation:
    """The conversation that it has moved to; LEFT with the one it began in where that cannot be
    told; nothing where there is no such log."""
    log = kind.typed_log
    first = _began_in(world, run, kind) if log and run.id else ""
    folder = _folder(world, agent, kind, first) if first else ""
    if log is None or not folder:
        return NOTHING_KNOWN
    path = os.path.normpath(os.path.join(folder, log.file))
    since = seconds_of(run.started_at) - EARLY
    try:
        typed = _typed(world, log, path, since)
        chats = _chats(world, agent, log, folder, since) if typed else []
    except BadConfig:  # a kind of another package cannot read them
        typed, chats = None, []
    if typed is None:
        return KnownConversation(first, LEFT, run.started_at)  # could not look
    found = follow(log, first, typed, chats)
    lost = _lost_at(world, log, path)
    if max(found.at, since) < lost:
        return KnownConversation(first, LEFT, world.moment(lost))
    if not found.at:
        return KnownConversation(first, GIVEN, run.started_at)
    source = NOTED if kind.is_id(found.id) else LEFT
    return KnownConversation(found.id or first, source, world.moment(found.at))


def _typed(world: World, log: TypedLog, path: str, since: float) -> list[TypedLine] | None:
    """Every line typed in that directory since then; None: could not look."""
    seen = world.disk.seen(path)
    if seen is not None and seen.what == "nothing":
        return []  # nothing was typed yet
    text = world.disk.tail(path) if seen is not None and seen.what == "file" else None
    lines = log.lines(text) if text is not None else None
    return None if lines is None else [line for line in lines if line.at >= since]


def _lost_at(world: World, log: TypedLog, path: str) -> float:
    """When the program last put a log aside that it could not read; 0 if it never did."""
    aside = world.disk.glob(path + log.aside) if log.aside else ()
    return max((world.disk.touched_at(one) or 0.0 for one in aside), default=0.0)


def _began_in(world: World, run: Run, kind: Kind) -> str:
    """The id that the program was started with; empty if none was given."""
    text = world.disk.head(os.path.join(world.rundir(run.id), BEGAN)) or b""
    first = text.decode("ascii", "replace").strip()
    return first if kind.is_id(first) else ""


def _folder(world: World, agent: Agent, kind: Kind, first: str) -> str:
    """The folder of the directory's conversations: where the first one is, or the one beside the
    file that names the directory; empty if there is none yet."""
    files = conversation_files(world, agent._replace(conversation=first), kind)
    if files:
        return os.path.dirname(files[0])
    cwd = world.disk.real(agent.cwd)
    below = os.path.dirname(kind.conversation[0])
    root = root_of(world, agent, kind)
    folders = world.disk.glob(os.path.join(root, below))
    return next((one for one in folders if project_above(world, kind, one) == cwd), "")


def _chats(world: World, agent: Agent, log: TypedLog, folder: str, since: float) -> list[Chat]:
    """The conversations that were written since, without those that are surely another's."""
    others = {
        one.conversation
        for one in world.store.runs.agents()
        if one.name != agent.name and recorded_conversation(one).sure
    }
    paths = world.disk.glob(f"{folder}/*")
    written = [(world.disk.touched_at(path) or 0.0, path) for path in paths]
    newest = sorted((one for one in written if one[0] >= since), reverse=True)[:MOST]
    files = (path for _, path in newest if (it := world.disk.seen(path)) and it.what == "file")
    chats = (log.chat(world.disk.head(one) or b"", world.disk.tail(one) or b"") for one in files)
    return [chat for chat in chats if chat is not None and chat.id not in others]
