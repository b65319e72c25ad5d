"""Brings back an agent that has ended: the same conversation in a new run."""

import os
from typing import NamedTuple

from quell.core.errors import NoSuchAgent, NotResumable, StillRunning
from quell.core.ports import World
from quell.life.choose import Crowd
from quell.life.settle import settle
from quell.life.spawn import Spawned, start


class Resumed(NamedTuple):
    spawned: Spawned
    warnings: tuple[str, ...]


class ResumeWish(NamedTuple):
    name: str
    place: str = ""
    server: str = ""
    session: str = ""
    cwd: str = ""
    args: tuple[str, ...] = ()
    conversation: str = ""


def resume(world: World, wish: ResumeWish) -> Resumed:
    """Same identity, directory, environment and place; refused while it still runs."""
    settle(world)
    crowd = Crowd(world)
    chosen = crowd.choose(wish.name).candidates[0]
    agent = crowd.agents.get(chosen.agent)
    if agent is None:
        raise NoSuchAgent(wish.name)
    if any(run.live for run in world.store.runs_of(agent.name)[:1]):
        raise StillRunning(agent.name, f"quell resume {agent.name}")
    kind = world.kind(agent.kind)
    warnings: tuple[str, ...] = ()
    cwd = os.path.abspath(wish.cwd) if wish.cwd else agent.cwd
    if not world.disk.is_directory(cwd):
        warnings = (f"its directory {cwd} is gone; started in {world.cwd}",)
        cwd = world.cwd
    conversation = wish.conversation or agent.conversation
    if kind.resume and not conversation:
        raise NotResumable(
            f"the conversation of '{agent.name}' is not known",
            f"give it with --conversation ID, or start afresh: quell spawn {kind.name}",
        )
    last = world.store.runs_of(agent.name)[0]
    place = wish.place or ("headless" if agent.place == "terminal" else agent.place)
    session = wish.session or (last.place.session if place == agent.place else "")
    agent = agent._replace(
        cwd=cwd,
        place=place,
        server=wish.server or (agent.server if place == agent.place else ""),
        conversation=conversation,
    )
    argv = kind.resume_argv(conversation, (*agent.args, *wish.args))
    spawned = start(world, agent, argv, session=session, grace=None)
    return Resumed(spawned, warnings)
