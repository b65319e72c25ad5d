"""Brings back an agent that has ended: the same conversation in a new run."""

import os
from enum import StrEnum
from typing import NamedTuple

from quell.core.agent import Agent
from quell.core.errors import NoSuchAgent, NotResumable, PlaceFailed, StillRunning
from quell.core.kind import Kind
from quell.core.ports import Registry, Row, World
from quell.core.process import Gone
from quell.core.run import Orphan, Place, Run
from quell.life.birth import free_name
from quell.life.capture import capture
from quell.life.choose import Crowd
from quell.life.conversation import find_conversation
from quell.life.listed import agent_of, known_agent, programs_in
from quell.life.mirror import Troubles, write_resumed
from quell.life.settle import settle
from quell.life.spawn import How, Spawned, start

WATCH = 10.0  # seconds in which a program shows whether it found its conversation
GLANCE = 0.1
CALM = 1.5  # a program without a note of its own: this long without a complaint is all we can see


class Verdict(StrEnum):
    RESUMED = "resumed"  # the program itself names this conversation
    STARTED = "started"  # it came up and did not complain; it tells no more
    FRESH = "fresh"  # it came up with another conversation
    RESTARTED = "restarted"  # a kind without conversations


class Resumed(NamedTuple):
    spawned: Spawned
    verdict: Verdict
    warnings: Troubles


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
    free_name(world, wish.name)
    agent, last = whom(world, wish.name)
    agent, warnings = where_it_was(world, agent, wish)
    kind = world.kind(agent.kind)
    check_conversation(world, agent, kind)
    session = wish.session or (last.session if agent.place == last.name else "")
    argv = kind.resume_argv(agent.conversation, (*agent.args, *wish.args))
    spawned = start(world, agent, argv, How(session))
    verdict = came_up(world, spawned, kind)
    if verdict is Verdict.FRESH:
        warnings += ("it came up with another conversation than the one on record",)
    return Resumed(spawned, verdict, warnings + write_resumed(world, agent, spawned.run))


def whom(world: World, name: str) -> tuple[Agent, Place]:
    """An ended agent and where it was last; also one that only the registry file knows."""
    crowd = Crowd(world, targets=[name])
    try:
        agent = crowd.agents.get(crowd.only(name).agent)
    except NoSuchAgent:
        registry = world.registry(world.cwd)
        row = registry.row(name) if registry else None
        if row is None:
            raise
        agent = known_agent(world, row)
        if agent is None:
            return from_row(world, row, registry)
    if agent is None:
        raise NoSuchAgent(name)
    last = world.store.runs_of(agent.name)[0]
    if last.live or any(orphan.run == last.id for orphan in let_go(world)):
        raise StillRunning(agent.name, f"quell resume {agent.name}")
    found = capture(world, agent, last).conversation  # nobody looked when it crashed
    return agent._replace(conversation=found or agent.conversation), last.place


def from_row(world: World, row: Row, registry: Registry | None) -> tuple[Agent, Place]:
    """An agent that other tools started and ended, and quell never had charge of."""
    if row.agent in programs_in(world, row).values():
        raise NotResumable(
            f"the session {row.name} still shows its {row.agent}",
            f"end it first: quell stop --session {row.name}",
        )
    return agent_of(world, row, registry), Place("tmux", session=row.name)


def let_go(world: World) -> list[Orphan]:
    """Agents that were taken off the books and run on."""
    return [
        orphan
        for orphan in world.store.orphans()
        if orphan.why == "archived" and not isinstance(world.kernel.look(orphan.process), Gone)
    ]


def where_it_was(world: World, agent: Agent, wish: ResumeWish) -> tuple[Agent, Troubles]:
    """The agent as it will start: as before, but for what was asked otherwise or is gone."""
    warnings: Troubles = ()
    cwd = os.path.abspath(wish.cwd) if wish.cwd else agent.cwd
    if not world.disk.is_directory(cwd):
        warnings = (f"its directory {cwd} is gone; started in {world.cwd}",)
        cwd = world.cwd
    place = wish.place or ("headless" if agent.place == "terminal" else agent.place)
    server = wish.server or (agent.server if place == agent.place else "")
    conversation = wish.conversation or agent.conversation
    return agent._replace(cwd=cwd, place=place, server=server, conversation=conversation), warnings


def check_conversation(world: World, agent: Agent, kind: Kind) -> None:
    """Refused when the program would start afresh in silence."""
    if not kind.resume:
        return
    if not agent.conversation:
        raise NotResumable(
            f"the conversation of '{agent.name}' is not known",
            f"give it with --conversation ID, or start afresh: quell spawn {kind.name}",
        )
    found = find_conversation(world, agent)
    if found.exists is False:
        raise NotResumable(
            f"conversation {agent.conversation} of '{agent.name}' is not on disk: {found.why}",
            f"start afresh: quell spawn {kind.name}",
        )


def came_up(world: World, spawned: Spawned, kind: Kind) -> Verdict:
    """Watches until the program shows which conversation it is in, or complains, or time is up."""
    agent, run = spawned
    if not kind.resume:
        return Verdict.RESTARTED
    waited = 0.0
    while waited < WATCH and run.process is not None:
        told = capture(world, agent._replace(conversation=""), run)
        if told.found_by in ("live", "hook") and told.conversation:
            same = told.conversation == agent.conversation
            return Verdict.RESUMED if same else Verdict.FRESH
        screen = _screen(world, run)
        complaint = next((text for text in kind.lost if text in screen), "")
        gone = isinstance(world.kernel.look(run.process), Gone)
        if complaint or gone:
            settle(world)
            raise NotResumable(
                f"'{agent.name}' did not come back: {complaint or 'it exited at once'}",
                f"quell receipt {agent.name} --screen shows its last words",
            )
        if waited >= CALM and not kind.live_file:
            return Verdict.STARTED
        world.kernel.wait([run.process], GLANCE)
        waited += GLANCE
    return Verdict.STARTED


def _screen(world: World, run: Run) -> str:
    try:
        return world.place(run.place.name).screen(run.place)
    except PlaceFailed:
        return ""
