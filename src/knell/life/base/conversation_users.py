"""Finds who else is in a conversation: another agent of knell's, or any process of the machine."""

import os
from collections.abc import Iterator

from knell.core.agent import Agent
from knell.core.conversation import recorded_conversation
from knell.core.json_lines import object_in
from knell.core.kind import Kind
from knell.core.ports.processes import OpenFile
from knell.core.ports.world import World
from knell.core.process import FoundProcess, Gone
from knell.life.base.conversation import conversation_files, root_of
from knell.life.base.known_conversation import known_conversation


def conversation_user(world: World, agent: Agent, kind: Kind) -> str:
    """In words, the first that is found in the conversation on the agent's record; empty: none."""
    return (
        _another_agent(world, agent)
        or _process_that_holds(world, agent, kind)
        or _process_that_notes(world, agent, kind)
    )


def same_conversation(
    world: World, kind: str, conversation: str, processes: list[FoundProcess] | None = None
) -> FoundProcess | None:
    """A live process of that kind whose own command line names that conversation as its own."""
    program = world.kinds.kind_or_command(kind)
    for member in world.processes.all_processes() if processes is None else processes:
        if conversation in member.command:
            argv = world.processes.argv(member.process.pid)
            named = conversation in argv and not program.forks(argv, conversation)
            if named and program.runs_in(argv):
                return member
    return None


def namesakes(world: World, agent: Agent, conversation: str) -> list[str]:
    """Other agents, ended ones too, that come back to that conversation."""
    meant = (agent.kind, conversation)
    known = (one for one in world.store.runs.agents() if one.name != agent.name)
    return [one.name for one in known if (one.kind, recorded_conversation(one).id) == meant]


def _another_agent(world: World, agent: Agent) -> str:
    live = {run.agent: run for run in world.store.runs.live()}
    for other in world.store.runs.live_agents():
        if other.name == agent.name or other.kind != agent.kind or other.name not in live:
            continue
        known = known_conversation(world, other, live[other.name])
        if agent.conversation in (known.id, recorded_conversation(other).id):
            return f"the agent '{other.name}'"
    return ""


def _own_pids(world: World, agent: Agent) -> set[int]:
    runs = [run for run in world.store.runs.live() if run.agent == agent.name]
    return {process.pid for run in runs for process in run.processes}


def _process_that_holds(world: World, agent: Agent, kind: Kind) -> str:
    own = _own_pids(world, agent)
    for member in _holders(world, agent, kind):
        pid = member.process.pid
        if own.isdisjoint((pid, *world.processes.ancestors_of(pid))):
            return f"process {pid} ({member.command.split(' ')[0]})"
    return ""


def _holders(world: World, agent: Agent, kind: Kind) -> Iterator[FoundProcess]:
    """Processes that have its file open for writing, or whose own command line names it."""
    files = () if kind.database else conversation_files(world, agent, kind)
    for one in world.processes.open_files(tuple(files)).files if files else ():
        if not _only_reads(world, one):
            yield one.member
    if member := same_conversation(world, agent.kind, agent.conversation):
        yield member


def _only_reads(world: World, one: OpenFile) -> bool:
    """As it starts, gemini reads every conversation of its directory, and is in none of them."""
    folder = os.path.dirname(one.file)
    written = world.processes.written_files(one.member.process, folder, lambda _: True)
    return one.how == "open file" and written is not None and one.file not in written


def _process_that_notes(world: World, agent: Agent, kind: Kind) -> str:
    """A live process of the program's whose own note names the conversation; claude keeps one."""
    if not kind.live_file:
        return ""
    name = kind.live_file.replace("{pid}", "*")
    own = _own_pids(world, agent)
    for path in world.disk.glob(os.path.normpath(os.path.join(root_of(world, agent, kind), name))):
        pid = os.path.basename(path).partition(".")[0]
        if not pid.isdecimal() or int(pid) in own:
            continue
        note = object_in(world.disk.head(path))
        named, start = note.get("sessionId") == agent.conversation, str(note.get("procStart"))
        process = world.processes.identify(int(pid)) if named else None
        lives = process and not isinstance(world.processes.look(process), Gone)
        if process and lives and start in (str(process.start), "None"):
            return f"process {pid} ({world.processes.command(int(pid)).split(' ')[0]})"
    return ""
