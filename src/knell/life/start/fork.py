"""New agents that go on from a conversation: a copy of an agent's, or one that no agent has."""

import os
from collections.abc import Sequence
from itertools import chain, count
from typing import Any, cast

from knell.core.agent import Agent, first_free
from knell.core.arguments import resumed_in_terminal
from knell.core.authority import Deed
from knell.core.conversation import given_conversation
from knell.core.errors import NoSuchAgent, NotResumable
from knell.core.json_lines import records_of
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.life.base.authority import check_agents, check_may_continue
from knell.life.base.caller import caller
from knell.life.base.conversation import conversation_files, is_there, project_above
from knell.life.base.known_conversation import learn_conversation
from knell.life.look.output import agent_and_run
from knell.life.start.resume import check_conversation


def prepare_fork(world: World, name: str, added: Sequence[str] = ()) -> Agent:
    """An agent to spawn that begins with all that the conversation of another has, which may run
    on. It gets the tag of that agent, but neither its seat in a team nor its task."""
    agent, run = agent_and_run(world, name)
    check_agents(world, caller(world), Deed.START, [agent.name])
    agent = learn_conversation(world, agent, run)
    kind = world.kind(agent.kind)
    if not kind.fork:
        why = f"knell knows no way to fork a conversation of {kind.name}"
        raise NotResumable(why, "to start another agent with no conversation: knell spawn")
    check_conversation(world, agent, kind, copied=True)
    args = (
        *kind.with_id(kind.fork, agent.conversation),
        *resumed_in_terminal(kind, agent.args, tuple(added)),
    )
    free = free_fork_name(agent.name, world.store.runs.agent_names())
    return Agent(free, kind.name, agent.cwd, args, agent.env, tag=agent.tag)


def free_fork_name(name: str, taken: frozenset[str]) -> str:
    """`luna-fork`, then `luna-fork-2`: the first that no agent ever had."""
    first = f"{name[:50]}-fork"
    return first_free(chain([first], (f"{first}-{number}" for number in count(2))), taken)


def found_conversation(world: World, id: str, cwd: str = "", added: Sequence[str] = ()) -> Agent:
    """An agent to spawn that continues a conversation which some program on this machine has."""
    found: dict[str, Agent] = {}
    for kind in world.kinds.everything()[0]:
        if not kind.resume or not kind.conversation or not kind.is_id(id):
            continue
        asked = Agent("", kind.name, os.path.abspath(cwd) if cwd else world.cwd)
        asked = given_conversation(asked, id, world.now())
        files = conversation_files(world, asked, kind)
        if is_there(world, kind, files, id):
            check_may_continue(world, asked, id)
            asked = asked._replace(cwd=cwd or directory_of(world, kind, files[0]) or world.cwd)
            check_conversation(world, asked, kind)
            args = (*kind.with_id(kind.resume, id), *resumed_in_terminal(kind, (), tuple(added)))
            found[kind.name] = asked._replace(args=args)
    if not found:
        raise NoSuchAgent(id)
    if len(found) > 1:
        why = f"{' and '.join(found)} each have a conversation {id}"
        raise NotResumable(why, "start it yourself: knell spawn KIND and its own option to resume")
    return next(iter(found.values()))


def directory_of(world: World, kind: Kind, path: str) -> str:
    """Where the conversation was held, as the program wrote it down; empty if it did not, or if
    that directory is gone."""
    if kind.project_file:
        said = [project_above(world, kind, os.path.dirname(path)) or ""]
    else:
        text = world.disk.head(path) if kind.database is None else b""
        said = [found for one in records_of(text or b"") for found in _directories(one)]
    return next((one for one in said if os.path.isabs(one) and world.disk.is_directory(one)), "")


def _directories(record: dict[str, Any]) -> list[str]:
    """`cwd` of a record, or of what it carries."""
    inside = record.get("payload")
    places = [record, cast("dict[str, Any]", inside)] if isinstance(inside, dict) else [record]
    found = [one.get("cwd") for one in places]
    return [text for text in found if isinstance(text, str) and "\0" not in text]
