"""One round of the watch: brings the registry file, the store and reality together again.

Only live rows are touched: an end that somebody decided (stopped, archived, terminated) stays.
"""

from collections.abc import Mapping
from typing import NamedTuple

from quell.core.errors import PlaceFailed, RegistryFailed
from quell.core.lifecycle import Outcome
from quell.core.ports import Registry, Row, World
from quell.core.run import Run
from quell.core.stopping import OWN_ID, row_end
from quell.life.capture import capture
from quell.life.mirror import speaks_of
from quell.life.resurrection import Resurrected, resurrections
from quell.life.settle import settle

LIVE = ("running", "unknown")


class Drift(NamedTuple):
    """One place where the file, the store and the machine disagreed."""

    kind: str  # dead, unlisted, conversation, resurrected, store
    session: str
    what: str
    done: str  # what was done about it; empty: nothing


def watch_once(world: World, *, dry_run: bool = False) -> list[Drift]:
    """Looks once at everything and mends what is surely wrong; says what it could not see."""
    live = settle(world)
    drifts = [_told(one) for one in resurrections(world)]
    registry = world.registry(world.cwd)
    if registry is None:
        return drifts
    for row in registry.rows():
        if row.status in LIVE:
            drifts += _of_row(world, registry, row, live, dry_run=dry_run)
    return drifts + _unlisted(registry, live)


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
    return _new_conversation(world, registry, row, run, dry_run=dry_run) if run else []


def _session_exists(world: World, row: Row) -> bool | None:
    """None when tmux does not answer: not seeing is not dying."""
    try:
        return world.sessions().has_session(row.name, row.tmux_server)
    except PlaceFailed:
        return None


def _dead(world: World, registry: Registry, row: Row, *, dry_run: bool) -> Drift:
    changes = row_end(Outcome.TERMINATED, "auto_detected", world.now(), graceful=False)
    changes["termination_mode"] = "auto-detected"
    what = "the row says running, but its tmux session is dead"
    drift = Drift("dead", row.name, what, "" if dry_run else "terminated")
    return drift if dry_run else _written(registry, row, changes, drift)


def _new_conversation(
    world: World, registry: Registry, row: Row, run: Run, *, dry_run: bool
) -> list[Drift]:
    agent = world.store.agent(run.agent)
    own = OWN_ID.get(agent.kind) if agent else None
    if agent is None or own is None:
        return []
    found = capture(world, agent, run, registry, row)
    if not found.conversation or found.conversation == row.conversation:
        return []
    what = f"its conversation is {found.conversation}"
    if dry_run:
        return [Drift("conversation", row.name, what, "")]
    world.store.set_conversation(agent.name, found.conversation)
    drift = Drift("conversation", row.name, what, "recorded")
    return [_written(registry, row, {own: found.conversation}, drift)]


def _written(registry: Registry, row: Row, changes: Mapping[str, object], drift: Drift) -> Drift:
    try:
        registry.update(row.name, changes)
    except RegistryFailed as error:
        return drift._replace(what=f"{drift.what}; not written: {error}", done="")
    return drift


def _unlisted(registry: Registry, live: list[Run]) -> list[Drift]:
    rows = registry.rows()
    return [
        Drift("unlisted", run.place.session, f"'{run.agent}' runs, but has no row", "")
        for run in live
        if run.place.name == "tmux" and not any(speaks_of(row, run) for row in rows)
    ]
