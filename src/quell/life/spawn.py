"""Starts an agent under a keeper: written down first, then started, then seen alive."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from quell.core.agent import Agent, checked_name, next_name
from quell.core.climbing import Order
from quell.core.environment import SESSION_DIR, agent_environment
from quell.core.errors import BadRequest, QuellError, StillRunning, TaskTaken
from quell.core.kind import Kind
from quell.core.lifecycle import State
from quell.core.panes import Launch
from quell.core.ports import World
from quell.core.run import Place, Run
from quell.core.store import WorktreeRow
from quell.core.worktree import Tree
from quell.life.backends.sharing import left_server, on_server, sharing_env
from quell.life.birth import free_name, never_began, seen_born
from quell.life.caller import caller, given_token
from quell.life.environment import forget_environment, kept_environment
from quell.life.settle import settle


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
    restart: int = 0  # how often the watch may start it again after an unplanned end
    worktree: str = ""  # a branch: it works in a git worktree of its own, made for it
    shared: bool = False  # it uses one server with the other agents of its project
    taker: str | None = None  # it takes its task, for this orchestrator; else somebody else has


class How(NamedTuple):
    """What is said of a start and not of the agent."""

    session: str = ""
    grace: float | None = None
    taker: str | None = None


class Spawned(NamedTuple):
    agent: Agent
    run: Run


def spawn(world: World, wish: Wish) -> Spawned:
    """Starts it in a place of its own and returns once its process is seen; raises if it is not."""
    settle(world)
    free_name(world, wish.name)
    agent = with_worktree(world, agent_of(world, wish), wish.worktree)
    argv = world.kind(agent.kind).start_argv(agent.conversation, agent.args)
    return start(world, agent, argv, How(wish.session, wish.grace, wish.taker))


def start(
    world: World,
    agent: Agent,
    argv: tuple[str, ...],
    how: How,
    after: Run | None = None,
) -> Spawned:
    """One new run of `agent`, perhaps in place of an ended one; written down before it begins."""
    place = Place(agent.place, session=how.session, server=agent.server)
    run = new_run(world, agent, place, after)
    env = kept_environment(world, after) if after else None
    try:
        return begin(world, agent, run, argv, how, world.env if env is None else env)
    except QuellError:
        left_server(world, agent, caller(world).by)
        raise


def begin(
    world: World,
    agent: Agent,
    run: Run,
    argv: tuple[str, ...],
    how: How,
    env: Mapping[str, str],
) -> Spawned:
    """Writes the run down, starts it, and sees it alive."""
    check_words(agent, argv)
    replaced = world.store.runs_of(agent.name)[:1]
    terminal = world.place(agent.place)
    world.store.add_run(agent, run)
    rundir = world.rundir(run.id)
    try:
        # Taken only now that there is a run whose end would give it back.
        takes = agent.task if how.taker is not None else ""
        if takes and not world.store.take_task(takes, agent.name, how.taker or ""):
            raise TaskTaken(takes)
        agent, argv, env = on_server(world, agent, run, argv, env)
        cradle = world.kernel.prepare(rundir, order(world, agent, run, argv, how.grace, env))
        place = terminal.open(
            Launch(
                run=run.id,
                name=agent.name,
                argv=world.kernel.keeper_argv(rundir, detach=not terminal.has_panes),
                cwd=agent.cwd,
                server=agent.server,
                session=run.place.session,
                rundir=rundir,
            )
        )
    except (QuellError, OSError) as error:
        raise never_began(world, run, error) from error
    journal = world.kernel.await_birth(cradle, world.settings.spawn_timeout)
    run = seen_born(world, run._replace(place=place), journal)
    for last in replaced:
        forget_environment(world, last)
    return Spawned(agent, run)


def run_here(world: World, wish: Wish, place: Place) -> None:
    """Becomes the keeper of a new run in this very terminal. Returns never."""
    settle(world)
    free_name(world, wish.name)
    agent = agent_of(world, wish._replace(place=place.name))
    agent = with_worktree(world, agent, wish.worktree)
    argv = world.kind(agent.kind).start_argv(agent.conversation, agent.args)
    check_words(agent, argv)
    run = new_run(world, agent, place)
    world.store.add_run(agent, run)
    rundir = world.rundir(run.id)
    try:
        agent, argv, env = on_server(world, agent, run, argv, world.env)
        wanted = order(world, agent, run, argv, wish.grace, env)
        cradle = world.kernel.prepare(rundir, wanted)
    except (QuellError, OSError) as error:
        raise never_began(world, run, error) from error
    os.close(cradle.fifo)
    world.store.close()
    world.kernel.become_keeper(rundir)


def with_worktree(world: World, agent: Agent, branch: str) -> Agent:
    """The agent, in a worktree that is made for it on a new branch, if one was asked for.

    Made last: nothing that is refused leaves one behind."""
    if not branch:
        return agent
    if any(run.agent == agent.name for run in world.store.live_runs()):
        raise StillRunning(agent.name, "start it again")
    tree = world.worktrees().describe(agent.cwd)
    if not isinstance(tree, Tree):
        raise BadRequest(f"{agent.cwd} is in no git repository", "--worktree needs one: cd there")
    folder = os.path.join(os.path.dirname(tree.common_dir), ".worktrees")
    path = os.path.join(folder, branch.replace("/", "-"))
    made = world.worktrees().create(agent.cwd, path, branch, "HEAD")
    world.disk.write_new(os.path.join(folder, ".gitignore"), "*\n")  # git need not show them
    world.store.add_worktree(WorktreeRow(agent.task, made.top, made.branch, commit=made.commit))
    return agent._replace(cwd=made.top)


def agent_of(world: World, wish: Wish) -> Agent:
    """The agent that the wish describes, checked and complete."""
    known = world.store.names()
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
    if wish.team:
        from quell.life.together.team import check_takes_in

        check_takes_in(world, wish.team)
    return Agent(
        name=checked_name(wish.name) if wish.name else next_name(kind.name, known),
        kind=kind.name,
        cwd=cwd,
        args=wish.args,
        env=sharing_env(kind, wish.env) if wish.shared else wish.env,
        place=wish.place or "headless",
        server=wish.server,
        team=wish.team,
        tag=wish.tag,
        role=wish.role,
        task=wish.task,
        keep=wish.keep,
        conversation=first_conversation(world, kind, wish.args),
        created_at=world.now(),
        restart=wish.restart,
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


def new_run(world: World, agent: Agent, place: Place, after: Run | None = None) -> Run:
    run = Run(
        id=world.new_id(),
        agent=agent.name,
        host=world.host,
        state=State.SPAWNING,
        place=place,
        started_at=world.now(),
        parent=caller(world).run,
        owner=world.kernel.me(),
        task=agent.task,
    )
    if after is None:
        return run
    return run._replace(restarted_from=after.id, attempt=after.attempt + 1, parent=after.parent)


def order(
    world: World,
    agent: Agent,
    run: Run,
    argv: tuple[str, ...],
    grace: float | None,
    env: Mapping[str, str],
) -> Order:
    kind = world.kind(agent.kind)
    return Order(
        argv=argv,
        cwd=agent.cwd,
        env=agent_environment(env, agent.env, kind.strip_env, stamp(world, agent, run)),
        grace=world.settings.children_grace if grace is None else grace,
        keep=(*world.settings.children_keep, *agent.keep),
        shared=tuple((helper.pattern, ",".join(helper.serves)) for helper in kind.helpers),
        again=agent.restart > 0,
    )


def stamp(world: World, agent: Agent, run: Run) -> Mapping[str, str]:
    """What every descendant inherits, and is found by; the token proves to whom it belongs."""
    told = {
        "QUELL_RUN": run.id,
        "QUELL_AGENT": agent.name,
        "QUELL_HEARTBEAT": os.path.join(world.rundir(run.id), "heartbeat"),
        "QUELL_TOKEN": given_token(world, run),
    }
    if SESSION_DIR in dict(agent.env):  # asked for; each run gets its own
        from quell.life.cleanup import make_session_dir

        told[SESSION_DIR] = make_session_dir(world, run.id)
    return told
