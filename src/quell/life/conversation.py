"""Where an agent's conversation is, what proves it whole, and the line that continues it."""

import os
from typing import TYPE_CHECKING

from quell.core.agent import Agent
from quell.core.kind import Kind, below_root, conversation_root
from quell.core.receipt import Conversation

if TYPE_CHECKING:
    from quell.core.ports import World


def find_conversation(world: "World", agent: Agent, found_by: str = "") -> Conversation:
    """The conversation on record, looked up on disk: there, whole, and how to go on with it."""
    kind = world.kind(agent.kind)
    if not kind.resume:
        return Conversation(why=f"a {kind.name} keeps no conversation; resume starts it again")
    if not agent.conversation:
        return Conversation(why="its conversation id is not known")
    known = Conversation(agent.conversation, found_by=found_by)
    if not kind.conversation:
        return known._replace(resume=resume_line(world, agent))
    files = conversation_files(world, agent, kind)
    there = is_there(world, kind, files, agent.conversation)
    if there is None:
        return known._replace(why=f"{kind.name}'s files could not be read")
    if not there:
        return known._replace(exists=False, why="it was never written to disk")
    whole = is_whole(world, kind, files[0])
    return known._replace(exists=True, complete=whole, resume=resume_line(world, agent))


def conversation_files(world: "World", agent: Agent, kind: Kind) -> list[str]:
    """The files of the conversation on record; for a database, the database."""
    return files_below(world, agent, kind, kind.conversation)


def files_below(world: "World", agent: Agent, kind: Kind, templates: tuple[str, ...]) -> list[str]:
    root = root_of(world, agent, kind)
    cwd = world.disk.real(agent.cwd)
    patterns = below_root(kind, templates, agent.conversation, cwd)
    found = [path for one in patterns for path in world.disk.glob(os.path.join(root, one))]
    return list(dict.fromkeys(found))


def root_of(world: "World", agent: Agent, kind: Kind) -> str:
    return conversation_root(kind, {**world.env, **dict(agent.env)})


def is_there(world: "World", kind: Kind, files: list[str], conversation: str) -> bool | None:
    """None where a database would not answer: could not look is not nothing there."""
    if kind.database is None:
        return bool(files)
    answers = [world.disk.query(path, kind.database.has, {"id": conversation}) for path in files]
    if any(answers):
        return True
    return None if files and None in answers else False


def is_whole(world: "World", kind: Kind, path: str) -> bool | None:
    """Whether the last record was written to its end. A program killed mid-write leaves half."""
    if kind.database is not None or not path.endswith(".jsonl"):
        return None
    import json

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


def resume_line(world: "World", agent: Agent) -> str:
    """What a person could type without quell."""
    import shlex

    argv = world.kind(agent.kind).resume_argv(agent.conversation, ())
    return f"cd {shlex.quote(agent.cwd)} && {shlex.join(argv)}"
