"""Starts an agent in a tmux session of its own that has a row in the registry file (`create`)."""

import os
from typing import NamedTuple

from knell.core.agent import Agent, derived_session_name
from knell.core.codes import Code
from knell.core.errors import BadRequest, Refused
from knell.core.ports.registry import Row
from knell.core.ports.world import World
from knell.core.redact import HIDDEN
from knell.life.base.take_in import take_in_journals
from knell.life.registry.agent_of_row import name_for, shows_agent
from knell.life.registry.mirror import speaks_of
from knell.life.start.spawn import Spawned, StartOptions, Wish, spawn


class CreateWish(NamedTuple):
    """What is not given is as in the row of the session, if it has one."""

    agent: str = ""  # its kind
    session: str = ""
    workspace: str = ""
    server: str = ""
    role: str = ""
    args: tuple[str, ...] = ()


def create(world: World, wish: CreateWish) -> Spawned:
    """Starts the agent of a row that has ended as the row says; refused while it still lives."""
    live = take_in_journals(world)
    folder = os.path.abspath(os.path.join(world.cwd, wish.workspace))
    if not wish.agent and not wish.session:
        why = "neither an agent nor a session is given"
        raise BadRequest(why, "knell create --agent claude, or --session NAME of a row")
    name = wish.session or derived_session_name(folder, wish.agent)
    registry = world.registry(folder, new=True)
    row = (registry.row(name) if registry else None) or Row(name, "unknown")
    if any(speaks_of(row, run) for run in live) or shows_agent(world, row):
        hint = f"end it first: knell stop --session {name} --mode hard"
        raise Refused(f"the agent of session {name} still runs", hint, code=Code.STILL_RUNNING)
    agent = agent_to_create(world, wish, row, folder)
    if registry:
        registry.make()
    return spawn(world, Wish(agent, options=StartOptions(session=name)))


def agent_to_create(world: World, wish: CreateWish, row: Row, folder: str) -> Agent:
    words = row.start_words
    if HIDDEN in row.start_command and not wish.args and not wish.agent:
        why = f"the row of session {row.name} does not have the whole command: it held a secret"
        raise BadRequest(why, "give the command again: knell create --agent KIND -- ARGUMENTS")
    kind = wish.agent or row.agent
    if not kind and not words:
        why = f"session {row.name} has no row that says which agent it is"
        raise BadRequest(why, "name it: knell create --agent claude")
    program = world.kind(kind or "command").program
    args = words[1:] if program and not wish.agent else words
    return Agent(
        name=name_for(world, row),
        kind=kind or "command",
        cwd=folder if wish.workspace else row.cwd or folder,
        args=wish.args or (() if wish.agent else args),
        place="tmux",
        server=wish.server or row.tmux_server or world.env.get("TMUX_SERVER_NAME", ""),
        role=wish.role or row.role,
    )
