"""Starts an agent under a keeper: written down first, then started, then seen alive."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from quell.core.agent import Agent, checked_name, next_name
from quell.core.climbing import Journal, Order
from quell.core.environment import agent_environment
from quell.core.errors import BadRequest, LaunchFailed, QuellError
from quell.core.kind import Kind
from quell.core.lifecycle import State
from quell.core.ports import Launch, World
from quell.core.run import Place, Run
from quell.life.caller import caller
from quell.life.settle import born, record_end, settle


class Wish(NamedTuple):
    """What a person asked to be started."""

    kind: str
    args: tuple[str, ...] = ()
    name: str = ""
    place: str = ""
    server: str = ""
    session: str = ""
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    team: str = ""
    tag: str = ""
    role: str = ""
    task: str = ""
    keep: tuple[str, ...] = ()
    grace: float | None = None


class Spawned(NamedTuple):
    agent: Agent
    run: Run


def spawn(world: World, wish: Wish) -> Spawned:
    """Starts it in a place of its own and returns once its process is seen; raises if it is not."""
    settle(world)
    agent = agent_of(world, wish)
    argv = world.kind(agent.kind).start_argv(agent.conversation, agent.args)
    return start(world, agent, argv, session=wish.session, grace=wish.grace)


def start(
    world: World, agent: Agent, argv: tuple[str, ...], *, session: str = "", grace: float | None
) -> Spawned:
    """One new run of `agent`; the record is there before the process is."""
    check_words(agent, argv)
    terminal = world.place(agent.place)
    run = new_run(world, agent, Place(agent.place, session=session, server=agent.server))
    world.store.add_run(agent, run)
    rundir = world.rundir(run.id)
    try:
        cradle = world.kernel.prepare(rundir, order(world, agent, run, argv, grace))
        place = terminal.open(
            Launch(
                run=run.id,
                name=agent.name,
                argv=world.kernel.keeper_argv(rundir, detach=not terminal.has_panes),
                cwd=agent.cwd,
                server=agent.server,
                session=session,
                rundir=rundir,
            )
        )
    except (QuellError, OSError) as error:
        raise never_began(world, run, error) from error
    journal = world.kernel.await_birth(cradle, world.settings.spawn_timeout)
    return Spawned(agent, seen_born(world, run._replace(place=place), journal))


def never_began(world: World, run: Run, error: QuellError | OSError) -> QuellError:
    """Ends the run on record; returns what to raise."""
    world.kernel.discard(world.rundir(run.id))
    record_end(world, run, Journal(failure=str(error), ended=True, proven=True))
    if isinstance(error, QuellError):
        return error
    return LaunchFailed(
        f"cannot start '{run.agent}': {error.strerror}", f"quell receipt {run.agent} has the record"
    )


def seen_born(world: World, run: Run, journal: Journal) -> Run:
    """The run as it lives now; an error, and an ended run, if it never did."""
    if journal.process is None:
        rundir = world.rundir(run.id)
        world.kernel.cancel(rundir)
        world.kernel.discard(rundir)
        why = journal.failure or "its keeper did not report in time"
        record_end(world, run, journal._replace(failure=why, ended=True))
        raise LaunchFailed(
            f"'{run.agent}' did not start: {why}", f"quell receipt {run.agent} has the record"
        )
    run = born(run, journal)
    world.store.born(run)
    return world.store.run(run.id) or run


def run_here(world: World, wish: Wish, place: Place) -> None:
    """Becomes the keeper of a new run in this very terminal. Returns never."""
    settle(world)
    agent = agent_of(world, wish._replace(place=place.name))
    argv = world.kind(agent.kind).start_argv(agent.conversation, agent.args)
    check_words(agent, argv)
    run = new_run(world, agent, place)
    world.store.add_run(agent, run)
    rundir = world.rundir(run.id)
    try:
        cradle = world.kernel.prepare(rundir, order(world, agent, run, argv, wish.grace))
    except OSError as error:
        raise never_began(world, run, error) from error
    os.close(cradle.fifo)
    world.store.close()
    world.kernel.become_keeper(rundir)


def agent_of(world: World, wish: Wish) -> Agent:
    """The agent that the wish describes, checked and complete."""
    known = {agent.name for agent in world.store.agents()}
    if wish.kind not in world.kind_names():
        raise BadRequest(
            f"'{wish.kind}' is no kind of agent",
            f"use one of {', '.join(world.kind_names())}, or -- COMMAND for any program",
        )
    kind = world.kind(wish.kind)
    if not kind.program and not wish.args:
        raise BadRequest("no command given", "quell spawn [options] KIND, or -- COMMAND ARGS…")
    cwd = os.path.normpath(os.path.join(world.cwd, wish.cwd))
    if not os.path.isabs(cwd):
        raise BadRequest("the directory you are in was deleted", "give an existing one with --cwd")
    if not world.disk.is_directory(cwd):
        raise BadRequest(f"{cwd} is not a directory", "give an existing one with --cwd")
    for word in ("tag", "team", "role", "task"):
        if getattr(wish, word):
            checked_name(getattr(wish, word), word)
    return Agent(
        name=checked_name(wish.name) if wish.name else next_name(kind.name, frozenset(known)),
        kind=kind.name,
        cwd=cwd,
        args=wish.args,
        env=wish.env,
        place=wish.place or "headless",
        server=wish.server,
        team=wish.team,
        tag=wish.tag,
        role=wish.role,
        task=wish.task,
        keep=wish.keep,
        conversation=first_conversation(world, kind, wish.args),
        created_at=world.now(),
    )


def first_conversation(world: World, kind: Kind, args: tuple[str, ...]) -> str:
    """The id of its first run: named in the arguments, or chosen here where that can be."""
    picked, named = kind.picked(args)
    if picked or not kind.choose_id or kind.is_subcommand(args):
        return named
    return world.new_uuid()


def check_words(agent: Agent, argv: tuple[str, ...]) -> None:
    """A null byte ends a word, and what follows would pass for a variable."""
    words = (agent.cwd, *argv, *(text for pair in agent.env for text in pair))
    if any("\0" in word for word in words):
        raise BadRequest(f"a word for '{agent.name}' holds a null byte", "leave it out")


def new_run(world: World, agent: Agent, place: Place) -> Run:
    return Run(
        id=world.new_id(),
        agent=agent.name,
        host=world.host,
        state=State.SPAWNING,
        place=place,
        started_at=world.now(),
        parent=caller(world).run,
        owner=world.kernel.me(),
    )


def order(
    world: World, agent: Agent, run: Run, argv: tuple[str, ...], grace: float | None
) -> Order:
    kind = world.kind(agent.kind)
    return Order(
        argv=argv,
        cwd=agent.cwd,
        env=agent_environment(world.env, agent.env, kind.strip_env, stamp(world, agent, run)),
        grace=world.settings.children_grace if grace is None else grace,
        keep=(*world.settings.children_keep, *agent.keep),
        shared=tuple((helper.pattern, ",".join(helper.serves)) for helper in kind.helpers),
    )


def stamp(world: World, agent: Agent, run: Run) -> Mapping[str, str]:
    """What every descendant inherits, and is found by."""
    return {
        "QUELL_RUN": run.id,
        "QUELL_AGENT": agent.name,
        "QUELL_HEARTBEAT": os.path.join(world.rundir(run.id), "heartbeat"),
    }
