"""Where an agent's conversation is, whether it is there, and the line that continues it."""

import os
import shlex

from quell.core.agent import Agent
from quell.core.kind import conversation_root
from quell.core.ports import World
from quell.core.receipt import Conversation


def find_conversation(world: World, agent: Agent) -> Conversation:
    """Looked up on disk; `exists` is None where this kind keeps none that we can see."""
    kind = world.kind(agent.kind)
    if not kind.resume:
        return Conversation(why=f"a {kind.name} keeps no conversation; resume starts it again")
    if not agent.conversation:
        return Conversation(why="its conversation id is not known")
    env = {**world.env, **dict(agent.env)}
    root = conversation_root(kind, env)
    found = [
        path
        for pattern in kind.conversation
        for path in world.glob(os.path.join(root, pattern.replace("{id}", agent.conversation)))
    ]
    resume = resume_line(world, agent)
    if kind.conversation and not found:
        return Conversation(agent.conversation, exists=False, why="no such file yet")
    return Conversation(agent.conversation, True if found else None, resume)


def resume_line(world: World, agent: Agent) -> str:
    """What a person could type without quell."""
    argv = world.kind(agent.kind).resume_argv(agent.conversation, ())
    return f"cd {shlex.quote(agent.cwd)} && {shlex.join(argv)}"
