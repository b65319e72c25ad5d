"""Finds the agent and the pane that a row of the registry file means."""

from collections.abc import Iterable
from itertools import chain, count

from knell.core.agent import Agent, first_free, proposed_name
from knell.core.conversation import given_conversation
from knell.core.errors import Ambiguous, NotResumable, PlaceFailed, RegistryFailed
from knell.core.ports.registry import ListedRow, Row
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Place, Run
from knell.life.registry.mirror import session_of, speaks_of
from knell.life.start.adopt import shown_program

OVER = ("stopped", "terminated")
ENDED = (*OVER, "archived")  # which was let go of, and may live
GUESSED = "conversation.guessed"
GUESSES_READ = 1000  # events of a session that are looked through
LONGEST_STEM = 56  # of a name that needs a number, so that it stays within 64


def registered_agent(world: World, name: str) -> tuple[Agent, Place | None] | None:
    """The agent of the row with this name; with its place if other tools started and ended it."""
    registry = world.registry(world.cwd)
    row = registry.row(name) if registry else None
    if row is None:
        return None
    known = known_agent(world, row)
    if known:
        return known, None
    if row.agent in programs_in(world, row).values():
        raise NotResumable(
            f"the session {row.name} still shows its {row.agent}",
            f"end it first: knell stop --session {row.name}",
        )
    return agent_of(world, row), Place("tmux", session=row.name)


def known_agent(world: World, row: Row) -> Agent | None:
    """The agent whose last run was in that session, if knell ever had charge of it."""
    run = newest_run_of(world, row)
    return world.store.runs.agent(run.agent) if run else None


def newest_run_of(world: World, row: Row) -> Run | None:
    newest = world.store.runs.newest().values()
    return next((run for run in newest if speaks_of(row, run)), None)


def name_for(world: World, row: Row) -> str:
    """The name of its agent: as before, else made from the session, cut and numbered if needed."""
    known = known_agent(world, row)
    if known:
        return known.name
    taken = {agent.name for agent in world.store.runs.agents()}
    name = proposed_name(row.name)
    numbered = (f"{name[:LONGEST_STEM]}-{number}" for number in count(2))
    return first_free(chain([name], numbered), taken)


def agent_of(world: World, row: Row) -> Agent:
    """The agent that the row describes, for a row that knell never ran."""
    kind = world.kind(row.agent or "command")
    words = row.start_words
    cwd = row.cwd or world.cwd
    agent = Agent(
        name=name_for(world, row),
        kind=kind.name,
        cwd=cwd,
        args=words[1:] if kind.program else words,
        place="tmux",
        server=row.tmux_server,
        role=proposed_name(row.role) if row.role else "",
        created_at=world.now(),
    )
    # Whoever keeps the file has named it, unless it is only what knell itself had found.
    named = row.conversation if not was_guessed(world, row) else ""
    return given_conversation(agent, named, world.now())


def was_guessed(world: World, row: Row) -> bool:
    """Whether knell wrote the row's id there as the nearest that it had found."""
    told = world.store.events.read(0, row.name, GUESSES_READ)
    ids = [event.data.get("conversation") for event in told if event.type == GUESSED]
    return row.conversation in ids


def note_guess(world: World, row: Row, conversation: str) -> None:
    """Records that knell guessed this id: a later verb must not take it for the file keeper's."""
    world.store.events.record(GUESSED, row.name, "", {"conversation": conversation})


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
    return {pane: world.kinds.recognise(world.processes.argv(pid)) for pane, pid in shown.items()}


def shows_agent(world: World, row: Row) -> bool:
    """Whether the row's own agent lives in its session; a shell that it left does not count."""
    try:
        if row.agent and row.agent != "command":
            return row.agent in programs_in(world, row).values()
        panes = world.sessions().panes(row.name, row.tmux_server)
    except PlaceFailed:
        return False
    return (row.pane_id, row.pane_pid) in panes


def sessions_on(world: World, server: str) -> set[str] | None:
    """The sessions of that tmux server; None if it does not answer: not seeing is not dying."""
    try:
        return set(world.sessions().names(server))
    except PlaceFailed:
        return None


def listed_rows(world: World, runs: Iterable[Run], *, with_ended: bool) -> list[ListedRow]:
    """The rows that none of these runs speaks of: other tools or people wrote them."""
    known = list(runs)
    try:
        registry = world.registry(world.cwd)
        rows = registry.rows() if registry else []
    except RegistryFailed:
        return []  # the next write, and knell doctor, report what is wrong with the file
    rows = [row for row in rows if not any(speaks_of(row, run) for run in known)]
    sessions = {server: sessions_on(world, server) for server in {row.tmux_server for row in rows}}
    listed = [
        _living(world, row)
        if session_of(row) in (sessions[row.tmux_server] or ())
        else ListedRow(row)
        for row in rows
    ]
    # One that knell let go of is an orphan on its record: status, kill and reap tell of it.
    orphans = [one.process for one in world.store.runs.orphans()] if listed else []
    let_go = {one.pid for one in orphans if not isinstance(world.processes.look(one), Gone)}
    return [one for one in listed if (with_ended or one.pid) and one.pid not in let_go]


def _living(world: World, row: Row) -> ListedRow:
    try:
        panes = dict(world.sessions().panes(row.name, row.tmux_server))
        pane = agents_pane(world, row)
    except (PlaceFailed, Ambiguous):
        return ListedRow(row)
    if row.status in ENDED and not shows_agent(world, row):
        return ListedRow(row)
    return ListedRow(row, pane, shown_program(world, panes[pane]) if pane else 0)
