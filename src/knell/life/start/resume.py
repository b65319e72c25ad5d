"""Brings back an agent that has ended: the same conversation in a new run."""

import os
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from knell.core.agent import Agent
from knell.core.arguments import prompt_of
from knell.core.authority import Deed
from knell.core.codes import Code, Notice
from knell.core.conversation import UNSURE, given_conversation, recorded_conversation
from knell.core.errors import (
    BadRequest,
    NoSuchAgent,
    NotResumable,
    StillRunning,
    UnsureConversation,
)
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.run import Place, Run, State
from knell.life.base.authority import check_agents, check_may_continue
from knell.life.base.caller import caller
from knell.life.base.candidates import candidates
from knell.life.base.conversation import (
    find_conversation,
    root_in,
)
from knell.life.base.conversation_copy import put_back_any
from knell.life.base.conversation_users import conversation_user
from knell.life.base.known_conversation import learn_conversation
from knell.life.base.members import living_of
from knell.life.base.take_in import take_in_journals
from knell.life.base.targets import Crowd, Picture
from knell.life.start.confirm import free_name
from knell.life.start.confirm_resume import Continuation, HowStarted, confirm_resume
from knell.life.start.spawn import (
    Spawned,
    StartOptions,
    last_tmux_server,
    new_run,
    start,
    start_here,
)
from knell.life.start.start_place import (
    TERMINAL,
    TMUX,
    Wanted,
    argv_to_resume,
    continues_headless,
    place_to_resume_in,
)

Troubles = tuple[Notice, ...]


class Resumed(NamedTuple):
    spawned: Spawned
    verdict: Continuation
    warnings: Troubles


class ResumeWish(NamedTuple):
    name: str
    place: str = ""
    server: str = ""
    session: str = ""
    cwd: str = ""
    args: tuple[str, ...] = ()
    conversation: str = ""
    # Set: the caller's terminal is free for what ran in one. Called just before that takes it.
    here: Callable[[], None] | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.place, self.args, bool(self.here), bool(self.server or self.session))


def resume(world: World, wish: ResumeWish) -> Resumed:
    """Same identity, directory and environment, where it was or where the person is; refused while
    it still runs. In the caller's own terminal this process becomes its keeper."""
    take_in_journals(world)
    free_name(world, wish.name)
    agent, last = find_ended_agent(world, wish.name)
    check_agents(world, caller(world), Deed.START, [agent.name])
    check_may_continue(world, agent, wish.conversation or agent.conversation)
    agent, warnings = agent_to_start(world, last_tmux_server(agent, last), wish)
    kind = world.kind(agent.kind)
    check_conversation(world, agent, kind)
    argv = argv_to_resume(agent, kind, wish.wanted)
    if agent.place == TERMINAL and wish.here:
        resume_here(world, agent, argv, wish.here)
    session = wish.session or (last.session if agent.place == last.name else "")
    spawned = start(world, agent, argv, StartOptions(session))
    prompt = prompt_of(kind, wish.args)
    how = HowStarted(continues_headless(agent, kind, wish.wanted), prompt)
    verdict, doubts = confirm_resume(world, spawned, kind, how)
    warnings += doubts
    now = world.store.runs.run(spawned.run.id)
    if now is not None and now.live:  # a headless one may have done its work
        warnings += world.steps.note_started(agent, spawned.run, session=wish.session)
    return Resumed(spawned, verdict, warnings)


def resume_here(
    world: World, agent: Agent, argv: tuple[str, ...], leave: Callable[[], None]
) -> NoReturn:
    """Becomes the keeper in this terminal; the person sees for himself what the program loads."""
    run = new_run(world, agent, world.here())
    world.steps.note_started(agent, run)
    leave()
    start_here(world, agent, argv, run)


def find_ended_agent(world: World, name: str) -> tuple[Agent, Place]:
    """An ended agent and where it was last; also one that only the registry file knows."""
    crowd = Crowd(Picture(world), targets=[name])
    try:
        agent = crowd.agents.get(crowd.only(name).agent)
    except NoSuchAgent:
        registered = world.steps.registered_agent(name)
        if registered is None:
            raise
        agent, place = registered
        if place is not None:
            return agent, place
    if agent is None:
        raise NoSuchAgent(name)
    last = world.store.runs.of(agent.name)[0]
    if last.live or living_of(world, last, "archived"):  # off the books, and its agent runs on
        raise StillRunning(agent.name, f"knell resume {agent.name}")
    return learn_conversation(world, agent, last), last.place  # a crash is recorded without a look


def agent_to_start(world: World, agent: Agent, wish: ResumeWish) -> tuple[Agent, Troubles]:
    """The agent as it will start: as before, but for what was asked otherwise or is gone."""
    warnings: Troubles = ()
    cwd = os.path.abspath(wish.cwd) if wish.cwd else agent.cwd
    if not world.disk.is_directory(cwd):
        if wish.cwd:
            raise BadRequest(f"{cwd} is not a directory", "give an existing one with --cwd")
        gone, cwd = cwd, world.cwd
        warnings = (Notice(Code.DIRECTORY_GONE, f"its directory {gone} is gone; started in {cwd}"),)
    place = place_to_resume_in(world, agent, wish.wanted)
    usual = world.settings.tmux_server if place == TMUX else ""
    server = wish.server or (agent.server if place == agent.place else usual)
    agent = agent._replace(cwd=cwd, place=place, server=server)
    id = wish.conversation or recorded_conversation(agent).id
    return (given_conversation(agent, id, world.now()) if id else agent), warnings


def check_conversation(world: World, agent: Agent, kind: Kind, *, copied: bool = False) -> None:
    """Refuses if the program would silently start a new conversation; unless it is only `copied`,
    also if an agent or person is in it: two would each overwrite what the other says."""
    if not kind.resume:
        return
    if agent.conversation_source:
        kind.with_id((), agent.conversation)  # refused if it is no id of this program
    found = find_conversation(world, agent)
    if found.source == UNSURE:
        last = world.store.runs.newest_of(agent.name)
        last = last or Run("", agent.name, world.host, State.ENDED, Place(agent.place), "")
        raise UnsureConversation(agent.name, found.why, candidates(world, agent, last))
    if not copied and (user := conversation_user(world, agent, kind)):
        why = f"conversation {agent.conversation} is in use by {user}"
        raise NotResumable(why, "end that one first", code=Code.CONVERSATION_IN_USE)
    root, now = agent.conversation_root, root_in(world, agent, world.env)
    if root and now != root:
        why = f"its conversation is below {root}, but {kind.name} would look below {now}"
        variables = " and ".join(name for name, _ in kind.root_env) or "HOME"
        raise NotResumable(why, f"set {variables} as they were when it was started")
    if found.exists is False and not put_back_any(world, agent):
        lost = f"its conversation {agent.conversation} is not on disk ({found.why})"
        why = f"'{agent.name}' cannot be resumed: {lost}"
        raise NotResumable(why, f"to start it without: knell restart {agent.name}")
