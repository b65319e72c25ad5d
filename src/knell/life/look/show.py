"""Shows everything about one agent, with its live processes, or the newest receipt of its end."""

from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.codes import Code
from knell.core.errors import KnellError, NoSuchAgent, Refused
from knell.core.ports.world import World
from knell.core.process import FoundProcess
from knell.core.receipt import Conversation, Receipt
from knell.core.run import Orphan, Run
from knell.life.base.conversation import find_conversation
from knell.life.base.known_conversation import learn_conversation
from knell.life.base.members import living_orphans, protected_now, target_of
from knell.life.base.take_in import take_in_journals
from knell.life.look.list import (
    AgentView,
    LastVerdict,
    agent_of_row,
    last_activity,
    view_of,
    view_of_row,
)
from knell.life.look.output import agent_and_run, lines_of


class Story(NamedTuple):
    view: AgentView
    agent: Agent
    runs: list[Run]
    members: list[FoundProcess]
    orphans: list[Orphan]
    receipt: Receipt | None
    conversation: Conversation


def show(world: World, name: str) -> Story:
    try:
        agent, run = agent_and_run(world, name)
    except NoSuchAgent:
        rows = world.steps.listed_rows((), with_ended=True)
        row = next((one for one in rows if one.row.name == name), None)
        if row is None:
            raise
        known = agent_of_row(row.row)
        found = find_conversation(world, known)
        return Story(view_of_row(world, row), known, [], [], [], None, found)
    agent = learn_conversation(world, agent, run)
    last = last_activity(world).get(run.id, LastVerdict())
    return Story(
        view=view_of(world, agent, run, last, leaving=world.store.runs.leaving()),
        agent=agent,
        runs=world.store.runs.of(agent.name),
        members=members(world, run),
        orphans=[o for o in living_orphans(world) if o.agent == agent.name],
        receipt=world.store.endings.receipt(run.id),
        conversation=find_conversation(world, agent),
    )


def members(world: World, run: Run) -> list[FoundProcess]:
    """The live processes of a run; none once it has ended."""
    if not run.live or run.host != world.host:
        return []
    return world.processes.members(target_of(world, run), protected_now(world))


def newest_receipt(world: World, name: str) -> Receipt:
    """By agent or by run id; an agent that has never ended has none."""
    take_in_journals(world)
    by_run = world.store.endings.receipt(name.removeprefix("id:"))
    if by_run is not None:
        return by_run
    agent = agent_and_run(world, name)[0].name
    found = world.store.endings.newest_receipt(agent)
    if found is None:
        why = f"'{agent}' has never ended, so there is no receipt"
        raise Refused(why, f"knell show {agent}", code=Code.NEVER_ENDED)
    return found


# -- one run, for a live view ----------------------------------------------------------------------


class CloseLook(NamedTuple):
    """What is known of one run. `trouble`: why something could not be looked at."""

    processes: tuple[FoundProcess, ...] = ()  # its keeper is not among them
    screen: tuple[str, ...] = ()
    trouble: str = ""


def look_closely(world: World, id: str) -> CloseLook:
    """By the run's id, so that no other agent is looked at for it."""
    run = world.store.runs.run(id)
    if run is None:
        return CloseLook(trouble="it is not on record")
    found = tuple(one for one in members(world, run) if one.via != "keeper")
    try:
        return CloseLook(found, tuple(lines_of(world, run, output=False)))
    except KnellError as error:
        return CloseLook(found, trouble=str(error))
