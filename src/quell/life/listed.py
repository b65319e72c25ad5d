"""What a row of the registry file stands for: which agent of ours, and which pane."""

import shlex

from quell.core.agent import Agent, proposed_name
from quell.core.errors import Ambiguous
from quell.core.ports import Registry, Row, World
from quell.life.adopt import shown_program
from quell.life.mirror import speaks_of

LONGEST_STEM = 56  # of a name that needs a number, so that it stays within 64


def known_agent(world: World, row: Row) -> Agent | None:
    """The agent whose last run was in that session, if quell ever had charge of it."""
    for run in world.store.last_runs().values():
        if speaks_of(row, run):
            return world.store.agent(run.agent)
    return None


def name_for(world: World, row: Row) -> str:
    """What its agent is called: as before, else after the session, cut and numbered if need be."""
    known = known_agent(world, row)
    if known:
        return known.name
    taken = {agent.name for agent in world.store.agents()}
    name, number = proposed_name(row.name), 1
    while name in taken:
        number += 1
        name = f"{proposed_name(row.name)[:LONGEST_STEM]}-{number}"
    return name


def agent_of(world: World, row: Row, registry: Registry | None) -> Agent:
    """The agent that the row describes, as far as it does, for a row that quell never ran."""
    kind = world.kind(row.agent or "command")
    words = tuple(shlex.split(row.start_command)) if row.start_command else ()
    cwd = row.cwd or world.cwd
    conversation = row.conversation
    if not conversation and registry is not None:
        conversation = registry.cached_conversation(kind.name, cwd)
    return Agent(
        name=name_for(world, row),
        kind=kind.name,
        cwd=cwd,
        args=words[1:] if kind.program else words,
        place="tmux",
        server=row.tmux_server,
        role=proposed_name(row.role) if row.role else "",
        conversation=conversation,
        created_at=world.now(),
    )


def agents_pane(world: World, row: Row) -> str:
    """The pane of that very session that shows the row's agent; empty if the session is dead."""
    shows = programs_in(world, row)
    wanted = [pane for pane, kind in shows.items() if kind == (row.agent or kind) != "command"]
    if len(wanted) != 1:
        wanted = [pane for pane in (wanted or shows) if pane == row.pane_id or len(shows) == 1]
    if shows and len(wanted) != 1:
        raise Ambiguous(row.name, tuple(shows))
    return wanted[0] if wanted else ""


def programs_in(world: World, row: Row) -> dict[str, str]:
    """Which kind of agent each pane of the session shows; `command` for any other program."""
    panes = world.sessions().panes(row.name, row.tmux_server)
    shown = {pane: shown_program(world, pid) for pane, pid in panes}
    return {pane: world.recognise(world.kernel.argv(pid)) for pane, pid in shown.items()}
