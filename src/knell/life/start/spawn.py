"""Starts an agent under a keeper: written down first, then started, then seen alive."""

import os
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from knell.core.agent import Agent, checked_name, checked_new_name, next_name
from knell.core.codes import Notice
from knell.core.conversation import given_conversation
from knell.core.environment import SESSION_DIR, SHARED, TOKEN, agent_environment, window_mark
from knell.core.errors import BadRequest, KnellError, StillRunning, TaskTaken
from knell.core.kind import Kind
from knell.core.ladder import check_waits
from knell.core.ports.git import Tree
from knell.core.ports.keepers import Order, PreparedRun
from knell.core.ports.store import WorktreeRow
from knell.core.ports.terminal import Launch
from knell.core.ports.world import World
from knell.core.run import Place, Run, State
from knell.core.serving import serving_of
from knell.life.base.authority import check_may_be_called, check_may_continue, check_may_start_in
from knell.life.base.caller import caller, give_token
from knell.life.base.conversation import root_in
from knell.life.base.members import helper_rules
from knell.life.base.restart_plans import forget_unneeded, kept_environment
from knell.life.base.take_in import take_in_journals
from knell.life.base.versions import check_installed
from knell.life.start.confirm import await_stay, confirm_birth, free_name, record_failure
from knell.life.start.telling import ask_to_tell

WORKTREE = "--worktree needs a repository: go to one, or name one with --cwd"
NO_TERMINAL = 10.0  # seconds in which a program that needs a terminal has ended without one


class StartOptions(NamedTuple):
    """What belongs to one start and not to the agent."""

    session: str = ""
    grace: float | None = None
    startup: float | None = None  # seconds until it must have been seen; None: as configured
    taker: str | None = None  # the orchestrator for which it takes its task; None: it takes none
    stay: float = 0.0  # seconds that it must stay up once it was seen


class Wish(NamedTuple):
    """What a person asked to be started."""

    agent: Agent  # as asked for: without a name it gets one, and its directory may be relative
    worktree: str = ""  # a branch: it works in a git worktree of its own, made for it
    shared: bool = False  # it uses one server with the other agents of its project
    options: StartOptions = StartOptions()


class Spawned(NamedTuple):
    agent: Agent
    run: Run
    warnings: tuple[Notice, ...] = ()


def spawn(world: World, wish: Wish) -> Spawned:
    """Starts it in a place of its own and returns once its process is seen; raises if it is not."""
    agent, argv = make_agent(world, wish)
    options = wish.options
    if options.stay and agent.place == "headless":
        from knell.core.arguments import needs_terminal

        doubtful = needs_terminal(world.kind(agent.kind), agent.args)
        options = options._replace(stay=max(options.stay, NO_TERMINAL)) if doubtful else options
    agent, run, _ = start(world, agent, argv, options)
    session = options.session
    return Spawned(agent, run, world.steps.note_started(agent, run, session=session, fresh=True))


def start(
    world: World,
    agent: Agent,
    argv: tuple[str, ...],
    options: StartOptions,
    after: Run | None = None,
) -> Spawned:
    """One new run of `agent`, perhaps in place of an ended one; written down before it begins."""
    place = Place(agent.place, session=options.session, server=agent.server)
    run = new_run(world, agent, place, after)
    env = kept_environment(world, after) if after else None
    try:
        return begin(world, agent, run, argv, options, world.env if env is None else env)
    except KnellError:
        world.steps.leave_backend(agent, caller(world).by)
        raise


def begin(
    world: World,
    agent: Agent,
    run: Run,
    argv: tuple[str, ...],
    options: StartOptions,
    env: Mapping[str, str],
) -> Spawned:
    """Writes the run down, starts it, and sees it alive."""
    terminal = world.place(agent.place, usable=True)
    agent = write_down(world, agent, run, argv, env)
    rundir = world.rundir(run.id)
    try:
        # Taken only now that there is a run whose end would give it back.
        takes = agent.task if options.taker is not None else ""
        if takes and not world.store.orchestrator.take_task(takes, agent.name, options.taker or ""):
            raise TaskTaken(takes)
        agent, birth = prepare_keeper(world, agent, run, argv, options.grace, env)
        place = terminal.open(
            Launch(
                run=run.id,
                name=agent.name,
                argv=world.keepers.keeper_argv(rundir, detach=not terminal.has_panes),
                cwd=agent.cwd,
                server=agent.server,
                session=run.place.session,
                rundir=rundir,
            )
        )
    except (KnellError, OSError) as error:
        raise record_failure(world, run, error) from error
    seconds = world.settings.spawn_timeout if options.startup is None else options.startup
    journal = await_stay(world, rundir, world.keepers.await_birth(birth, seconds), options.stay)
    run = confirm_birth(world, run._replace(place=place), journal)
    forget_unneeded(world)
    return Spawned(agent, run)


def run_here(world: World, wish: Wish, place: Place) -> NoReturn:
    """Becomes the keeper of a new run in this terminal."""
    wish = wish._replace(agent=wish.agent._replace(place=place.name))
    agent, argv = make_agent(world, wish)
    start_here(world, agent, argv, new_run(world, agent, place), wish.options.grace)


def start_here(
    world: World, agent: Agent, argv: tuple[str, ...], run: Run, grace: float | None = None
) -> NoReturn:
    """Becomes the keeper of that run of the agent."""
    agent = write_down(world, agent, run, argv, world.env)
    try:
        _, birth = prepare_keeper(world, agent, run, argv, grace, world.env)
    except (KnellError, OSError) as error:
        raise record_failure(world, run, error) from error
    forget_unneeded(world)
    os.close(birth.fifo)
    world.store.close()
    world.keepers.become_keeper(world.rundir(run.id))


# -- the agent ---------------------------------------------------------------------------------


def make_agent(world: World, wish: Wish) -> tuple[Agent, tuple[str, ...]]:
    """The agent of the wish, and its argv. Its worktree is made last: a refusal leaves none."""
    check_waits(wish.options.startup, wish.options.stay, wish.options.grace)
    take_in_journals(world)
    free_name(world, wish.agent.name)
    check_may_be_called(world, wish.agent.name)
    agent = checked_agent(world, wish.agent, shared=wish.shared)
    check_installed(world.kind(agent.kind), agent, world.env)
    if wish.worktree:
        agent = make_worktree(world, agent, wish.worktree)
    return agent, world.kind(agent.kind).start_argv(agent.conversation, agent.args)


def make_worktree(world: World, agent: Agent, branch: str) -> Agent:
    """The agent, in a worktree that is made for it on a new branch."""
    if any(run.agent == agent.name for run in world.store.runs.live()):
        raise StillRunning(agent.name, "start it again")
    tree = world.worktrees().describe(agent.cwd)
    if not isinstance(tree, Tree):
        raise BadRequest(f"{agent.cwd} is in no git repository", WORKTREE)
    folder = os.path.join(os.path.dirname(tree.common_dir), ".worktrees")
    path = os.path.join(folder, branch.replace("/", "-"))
    made = world.worktrees().create(agent.cwd, path, branch, "HEAD")
    world.disk.write_new(os.path.join(folder, ".gitignore"), "*\n")  # git need not show them
    row = WorktreeRow(agent.task, made.top, made.branch, commit=made.commit)
    world.store.orchestrator.add_worktree(row, caller(world).agent)
    return agent._replace(cwd=made.top)


def checked_agent(world: World, asked: Agent, *, shared: bool) -> Agent:
    """The agent as it will start: checked, and with what was left to knell."""
    kind = world.kind(asked.kind)
    if not kind.program and not asked.args:
        raise BadRequest("no command given", "knell spawn [options] KIND, or -- COMMAND ARGS…")
    cwd = os.path.normpath(os.path.join(world.cwd, asked.cwd))
    if not os.path.isabs(cwd):
        raise BadRequest("the directory you are in was deleted", "give an existing one with --cwd")
    if not world.disk.is_directory(cwd):
        raise BadRequest(f"{cwd} is not a directory", "give an existing one with --cwd")
    cwd = world.disk.real(cwd)  # a link may lead elsewhere by the time it is cleaned up
    if asked.name:
        checked_new_name(asked.name)
    for word in ("tag", "team", "role", "task"):
        if getattr(asked, word):
            checked_name(getattr(asked, word), word)
    if asked.team:
        check_may_start_in(world, asked.team)
    if shared:
        serving_of(kind)  # refused for a program that cannot be shared
    agent = asked._replace(
        name=asked.name or next_name(kind.name, world.store.runs.agent_names()),
        cwd=cwd,
        env=(*asked.env, (SHARED, "1")) if shared else asked.env,
        created_at=world.now(),
    )
    check_may_continue(world, agent, kind.picked(asked.args)[1])
    return given_conversation(agent, first_conversation(world, kind, asked.args), world.now())


def first_conversation(world: World, kind: Kind, args: tuple[str, ...]) -> str:
    """The id of its first run: named in the arguments, or chosen here where that can be."""
    picked, named = kind.picked(args)
    if picked or not kind.choose_id or kind.is_subcommand(args):
        return named
    return world.new_uuid()


def last_tmux_server(agent: Agent, last: Place) -> Agent:
    """The agent with the tmux server that it was in: a person who spawned it inside of a tmux did
    not name it, and may ask for it again from outside."""
    if agent.place == last.name == "tmux" and last.server:
        return agent._replace(server=last.server)
    return agent


def write_down(
    world: World, agent: Agent, run: Run, argv: tuple[str, ...], env: Mapping[str, str]
) -> Agent:
    """Records the run before it begins; the agent as it is on record."""
    words = (agent.cwd, *argv, *(text for pair in agent.env for text in pair))
    if any("\0" in word for word in words):  # it ends a word: what follows would be a variable
        raise BadRequest(f"an argument of '{agent.name}' holds a null byte", "leave it out")
    agent = agent._replace(conversation_root=root_in(world, agent, env))
    world.store.runs.add(agent, run)
    return agent


def new_run(world: World, agent: Agent, place: Place, after: Run | None = None) -> Run:
    who = caller(world)
    run = Run(
        id=world.new_id(),
        agent=agent.name,
        host=world.host,
        state=State.SPAWNING,
        place=place,
        started_at=world.now(),
        parent=who.run or who.elsewhere,
        owner=world.processes.me(),
        task=agent.task,
    )
    if after is None:
        return run
    return run._replace(restarted_from=after.id, attempt=after.attempt + 1, parent=after.parent)


def prepare_keeper(
    world: World,
    agent: Agent,
    run: Run,
    argv: tuple[str, ...],
    grace: float | None,
    env: Mapping[str, str],
) -> tuple[Agent, PreparedRun]:
    """Writes the order for the run's keeper; the agent as it will start, on a server perhaps."""
    agent, argv, env = world.steps.join_backend(agent, run, argv, env)
    kind = world.kind(agent.kind)
    argv, env = ask_to_tell(world, kind, (argv, {**env, **dict(agent.env)}), agent.cwd, run.id)
    seal, token = give_token(world, run)
    # Every descendant inherits these and is found by them; the token proves its run.
    stamp = {
        "KNELL_RUN": run.id,
        "WINDOWID": window_mark(run.id),
        "KNELL_AGENT": agent.name,
        "KNELL_HEARTBEAT": os.path.join(world.rundir(run.id), "heartbeat"),
        TOKEN: token,
    }
    if SESSION_DIR in dict(agent.env):  # asked for; each run gets its own
        from knell.life.end.cleanup import make_session_dir

        stamp[SESSION_DIR] = make_session_dir(world, run.id)
    stripped = (*world.kinds.strip_env(), *kind.strip_env)
    order = Order(
        argv=argv,
        cwd=agent.cwd,
        env=agent_environment(env, agent.env, stripped, stamp),
        grace=world.settings.children_grace if grace is None else grace,
        keep=(*world.settings.children_keep, *agent.keep),
        shared=helper_rules(kind),
        seal=seal,
        output_limit=world.settings.output_limit * 1024 * 1024,
        again=agent.restart > 0,
    )
    return agent, world.keepers.prepare(world.rundir(run.id), order)
