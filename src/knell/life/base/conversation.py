"""Where an agent's conversation lies: its files, whether it is whole, the line that continues it.

Which conversation it is, known_conversation.py learns; candidates.py finds what it might be.
"""

import json
import os
from collections.abc import Mapping

from knell.core.agent import Agent
from knell.core.conversation import (
    LEFT,
    UNSURE,
    below_root,
    conversation_root,
    recorded_conversation,
)
from knell.core.errors import AskerError
from knell.core.kind import KEEPS_NONE, Kind
from knell.core.ports.world import World
from knell.core.receipt import Conversation


def find_conversation(world: World, agent: Agent) -> Conversation:
    """The conversation on record, looked up on disk: there, whole, and how to go on with it."""
    try:
        kind = world.kind(agent.kind)
    except AskerError as error:  # the kind is gone or broken; its id stays known
        return Conversation(agent.conversation, why=str(error))
    if not kind.resume:
        return Conversation(why=KEEPS_NONE.format(kind.name))
    known = recorded_conversation(agent)
    if not known.sure or not kind.is_id(known.id):
        return Conversation(source=UNSURE, why=_why_unsure(agent, kind))
    return _found(world, agent, kind, Conversation(known.id, None, None, "", *known[1:]))


def _why_unsure(agent: Agent, kind: Kind) -> str:
    if agent.conversation and not kind.is_id(agent.conversation):
        return f"unsure: what is on record is no conversation id of {kind.name}"
    if agent.conversation and agent.conversation_source == LEFT:
        return f"unsure: it was in {agent.conversation}, and may have left it for another"
    if agent.conversation:
        return f"unsure: {agent.conversation} is only what a search had found"
    return f"unsure: {kind.name} has not told which conversation it is in"


def _found(world: World, agent: Agent, kind: Kind, known: Conversation) -> Conversation:
    if not kind.conversation:
        return known._replace(resume=resume_line(world, agent))
    files = conversation_files(world, agent, kind)
    there = is_there(world, kind, files, agent.conversation)
    if there is not False and (why := _why_unreadable(world, kind, files, there=there)):
        return Conversation(source=UNSURE, why=why)
    # A directory that we may not read can hold the file, so this is not "nothing there".
    patterns = _patterns(world, agent, kind, kind.conversation)
    if there is None or (not there and any(map(world.disk.hides, patterns))):
        return known._replace(why=f"{kind.name}'s files could not be read")
    if not there:
        return known._replace(exists=False, why="it was never written to disk")
    whole = is_whole(world, kind, files[0])
    return known._replace(exists=True, complete=whole, resume=resume_line(world, agent))


def _why_unreadable(world: World, kind: Kind, files: list[str], *, there: bool | None) -> str:
    """Why this cannot be read: a version that knell does not know wrote it; empty if it can, or is
    only damaged."""
    from knell.life.base.versions import has_known_records, why_unreadable

    if there and (kind.database or has_known_records(kind, world.disk.head(files[0]))):
        return ""
    return why_unreadable(world, kind)


def conversation_files(world: World, agent: Agent, kind: Kind) -> list[str]:
    """The files of the conversation on record; for a database, the database.

    A link to nothing is none. Eight characters in a file's name may be those of two conversations:
    the whole id is in it."""
    found = files_below(world, agent, kind, kind.conversation)
    looks = [world.disk.seen(world.disk.real(path)) for path in found]
    files = [
        path
        for path, seen in zip(found, looks, strict=True)
        if seen is None or seen.what != "nothing"
    ]
    if not has_short_ids(kind):
        return files
    id = agent.conversation.encode()
    return [path for path in files if id in (world.disk.head(path) or id)]


def has_short_ids(kind: Kind) -> bool:
    """Whether the names of its files have no more than the beginning of an id."""
    return any("{id8}" in template for template in kind.conversation)


def unread_files(world: World, agent: Agent, kind: Kind) -> list[str]:
    """Those that are the conversation's by the beginning of its id alone: they may be another's."""
    files = conversation_files(world, agent, kind) if has_short_ids(kind) else []
    return [path for path in files if world.disk.head(path) is None]


def files_below(world: World, agent: Agent, kind: Kind, templates: tuple[str, ...]) -> list[str]:
    patterns = _patterns(world, agent, kind, templates)
    return list(dict.fromkeys(path for one in patterns for path in world.disk.glob(one)))


def _patterns(world: World, agent: Agent, kind: Kind, templates: tuple[str, ...]) -> list[str]:
    root, cwd = root_of(world, agent, kind), world.disk.real(agent.cwd)
    below = below_root(kind, templates, agent.conversation, cwd)
    return [os.path.join(root, one) for one in below]


def root_of(world: World, agent: Agent, kind: Kind) -> str:
    """The root with which the agent was started: the environment now may be another person's."""
    if agent.conversation_root:
        return agent.conversation_root
    return conversation_root(kind, {**world.env, **dict(agent.env)}, world.kinds.strip_env)


def root_in(world: World, agent: Agent, env: Mapping[str, str]) -> str:
    """Where an agent that is started in this environment keeps its conversations."""
    kind = world.kinds.kind_or_command(agent.kind)
    return conversation_root(kind, {**env, **dict(agent.env)}, world.kinds.strip_env)


def project_above(world: World, kind: Kind, folder: str) -> str | None:
    """The directory that the conversations in this folder are about, by the file above it; None
    if the kind has no such file, or it cannot be read."""
    file = os.path.join(os.path.dirname(folder), kind.project_file)
    text = world.disk.head(file) if kind.project_file else None
    return None if text is None else text.decode(errors="replace").strip()


def is_there(world: World, kind: Kind, files: list[str], conversation: str) -> bool | None:
    """None where a database would not answer: could not look is not nothing there."""
    if kind.database is None:
        return bool(files)
    answers = [world.disk.query(path, kind.database.has, {"id": conversation}) for path in files]
    if any(answers):
        return True
    return None if files and None in answers else False


def is_whole(world: World, kind: Kind, path: str) -> bool | None:
    """Whether the last record was written to its end. A program killed mid-write leaves half."""
    if kind.database is not None or not path.endswith(".jsonl"):
        return None
    text = world.disk.tail(path)
    if text is None:
        return None
    if not text.endswith(b"\n"):
        return False
    try:
        json.loads(text.rstrip(b"\n").rsplit(b"\n", 1)[-1])
    except (ValueError, RecursionError):
        return False
    return True


def resume_line(world: World, agent: Agent) -> str:
    """What a person could type without knell, with the flags that a resume repeats."""
    import shlex

    argv = world.kind(agent.kind).resume_argv(agent.conversation, agent.args)
    return f"cd {shlex.quote(agent.cwd)} && {shlex.join(argv)}"
