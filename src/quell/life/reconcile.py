"""Brings the registry file, the store and reality together again.

Only live rows are touched: an end that somebody decided (stopped, archived, terminated) stays.
"""

from collections.abc import Mapping

from quell.core.errors import Ambiguous, PlaceFailed, RegistryFailed
from quell.core.lifecycle import Outcome, State
from quell.core.ports import Registry, Row, World
from quell.core.run import Place, Run
from quell.core.stopping import OWN_ID, row_end
from quell.core.watched import Drift
from quell.life.adopt import shown_program
from quell.life.capture import capture
from quell.life.conversation import find_conversation
from quell.life.listed import agent_of, agents_pane, programs_in
from quell.life.mirror import speaks_of
from quell.life.resurrection import Resurrected, resurrections
from quell.life.settle import settle

LIVE = ("running", "unknown")
SURE = ("live", "hook")


def reconcile(world: World, *, dry_run: bool = False) -> list[Drift]:
    """Looks once at everything and mends what is surely wrong; says what it could not see."""
    live = settle(world)
    drifts = [_told(one) for one in resurrections(world)]
    registry = world.registry(world.cwd)
    if registry is None:
        return drifts
    for row in registry.rows():
        if row.status in LIVE:
            drifts += _of_row(world, registry, row, live, dry_run=dry_run)
    return drifts + _unlisted(world, registry, live)


def _told(one: Resurrected) -> Drift:
    what = f"conversation {one.conversation} is alive again as PID {one.member.process.pid}"
    return Drift("resurrected", one.agent, what, "")


def _of_row(
    world: World, registry: Registry, row: Row, live: list[Run], *, dry_run: bool
) -> list[Drift]:
    run = next((r for r in live if speaks_of(row, r)), None)
    there = run is not None or _session_exists(world, row)
    if there is None:
        return [Drift("unseen", row.name, "tmux did not answer; the row was left as it is", "")]
    if not there:
        return [_dead(world, registry, row, dry_run=dry_run)]
    run = run or _stranger(world, row)
    return _new_conversation(world, registry, row, run, dry_run=dry_run) if run else []


def _stranger(world: World, row: Row) -> Run | None:
    """A session that something else started, as far as it can be looked at without a record."""
    try:
        panes = dict(world.sessions().panes(row.name, row.tmux_server))
        pane = agents_pane(world, row)
    except (PlaceFailed, Ambiguous):
        return None
    process = world.kernel.identify(shown_program(world, panes.get(pane, 0)))
    place = Place("tmux", pane, row.tmux_server, session=row.name)
    return Run("", row.name, world.host, State.RUNNING, place, "", process=process)


def _session_exists(world: World, row: Row) -> bool | None:
    """None when tmux does not answer: not seeing is not dying."""
    try:
        return world.sessions().has_session(row.name, row.tmux_server)
    except PlaceFailed:
        return None


def _dead(world: World, registry: Registry, row: Row, *, dry_run: bool) -> Drift:
    """A stop that could not be written at its time is written now; all else was terminated."""
    last = next((run for run in world.store.last_runs().values() if speaks_of(row, run)), None)
    outcome, ending = Outcome.TERMINATED, last.ending if last else None
    changes = row_end(outcome, "auto_detected", world.now(), graceful=False)
    changes["termination_mode"] = "auto-detected"
    asked = ending and ending.outcome is Outcome.STOPPED and ending.by != "terminal"
    if last and ending and asked:
        outcome = ending.outcome
        changes = row_end(outcome, ending.reason, last.ended_at, graceful=False)
    what = "the row says running, but its tmux session is dead"
    drift = Drift("dead", row.name, what, "" if dry_run else outcome.value)
    return drift if dry_run else _written(registry, row, changes, drift)


def _new_conversation(
    world: World, registry: Registry, row: Row, run: Run, *, dry_run: bool
) -> list[Drift]:
    agent = world.store.agent(run.agent) if run.id else None
    agent = agent or agent_of(world, row, None)._replace(conversation="")
    own = OWN_ID.get(agent.kind)
    if own is None:
        return []
    found = capture(world, agent, run, registry, row)
    if not found.conversation or found.conversation == row.conversation:
        return []
    if not run.id and found.found_by not in SURE:  # the newest file may be anybody's
        return []
    if find_conversation(world, agent._replace(conversation=found.conversation)).exists is False:
        return []  # nothing was said in it yet: the null of the row says so
    what = f"its conversation is {found.conversation}"
    if dry_run:
        return [Drift("conversation", row.name, what, "")]
    if run.id:
        world.store.set_conversation(agent.name, found.conversation)
    drift = Drift("conversation", row.name, what, "recorded")
    return [_written(registry, row, {own: found.conversation}, drift)]


def _written(registry: Registry, row: Row, changes: Mapping[str, object], drift: Drift) -> Drift:
    try:
        registry.update(row.name, changes)
    except RegistryFailed as error:
        return drift._replace(what=f"{drift.what}; not written: {error}", done="")
    return drift


def _unlisted(world: World, registry: Registry, live: list[Run]) -> list[Drift]:
    """Agents in tmux that the file does not know: ours anywhere, others' on the rows' servers."""
    rows = registry.rows()
    ours = [run for run in live if run.place.name == "tmux"]
    drifts = [
        Drift("unlisted", run.place.session, f"'{run.agent}' runs, but has no row", "")
        for run in ours
        if not any(speaks_of(row, run) for row in rows)
    ]
    for server in dict.fromkeys(row.tmux_server for row in rows):
        known = {row.name.replace(".", "_").replace(":", "_") for row in rows}
        known |= {run.place.session for run in ours}
        for name, kind in _agents_on(world, server):
            if name not in known:
                drifts.append(Drift("unlisted", name, f"a {kind} runs in it, but has no row", ""))
    return drifts


def _agents_on(world: World, server: str) -> list[tuple[str, str]]:
    try:
        names = world.sessions().names(server)
        shown = [(name, programs_in(world, Row(name, "", tmux_server=server))) for name in names]
    except PlaceFailed:
        return []  # said with the rows of that server
    return [(name, k) for name, panes in shown for k in panes.values() if k != "command"]
