"""Keeps the registry file in step: each row's ending and its return, written back."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from quell.core.agent import Agent
from quell.core.errors import RegistryFailed
from quell.core.lifecycle import Outcome
from quell.core.receipt import Receipt
from quell.core.run import Ending, Run

if TYPE_CHECKING:
    from quell.core.ports import Registry, Row, World

Troubles = tuple[str, ...]
STATUS_LINES = 20
NOT_WRITTEN = "was not written"


class Mirrored(NamedTuple):
    """A run's row, and the file it stands in."""

    registry: "Registry"
    row: "Row"


def find_row(world: "World", agent: Agent, run: Run) -> tuple[Mirrored | None, Troubles]:
    """The row that speaks of this run, by session or by agent; usually there is none."""
    try:
        registry = world.registry(agent.cwd)
        if registry is None:
            return None, ()
        for row in registry.rows():
            if speaks_of(row, run):
                return Mirrored(registry, row), ()
    except RegistryFailed as error:
        return None, (f"the registry file was left as it is: {error}",)
    return None, ()


def speaks_of(row: "Row", run: Run) -> bool:
    """Whether the row is of this run: by its agent's name, or by its session's."""
    session = row.name.replace(".", "_").replace(":", "_")  # as tmux stores it
    return same_server(row, run) and (row.name == run.agent or session == run.place.session)


def same_server(row: "Row", run: Run) -> bool:
    """A session of that name on another tmux server is another session."""
    if not row.tmux_server or run.place.name != "tmux":
        return True
    return os.path.basename(run.place.server) == os.path.basename(row.tmux_server)


def announce(mirrored: Mirrored) -> Troubles:
    return publish(mirrored, "progress", "terminating", {})


def publish(mirrored: Mirrored, event: str, detail: str, data: Mapping[str, Any]) -> Troubles:
    """Tells the delegated job, if the row has one."""
    if not mirrored.row.delegate_job:
        return ()
    try:
        mirrored.registry.publish(mirrored.row.delegate_job, event, detail, data)
    except RegistryFailed as error:
        return (f"the delegated job was not told: {error}",)
    return ()


def write_end(mirrored: Mirrored, words: Ending, receipt: Receipt, *, capture_id: bool) -> Troubles:
    """The row's end state, with the documented fields; everything else in it stays."""
    from quell.core.stopping import OWN_ID, row_end

    graceful = any(rung.rung == "exit_keys" and rung.reached for rung in receipt.rungs)
    changes = row_end(words.outcome, words.reason, receipt.finished_at, graceful=graceful)
    changes |= visible(receipt.screen)
    own = OWN_ID.get(receipt.kind)
    if capture_id and own and receipt.conversation.id:
        resumable = receipt.conversation.exists is not False
        changes["resumable"] = resumable
        if resumable:  # an id that was never used is none: the null of the row says so
            changes[own] = receipt.conversation.id
    troubles = _update(mirrored, changes)
    if words.outcome is Outcome.ARCHIVED:
        return troubles  # the agent still runs: its job is not over
    outcome = "stopped" if words.outcome is Outcome.STOPPED else "terminated"
    return troubles + publish(mirrored, "completed", outcome, {"outcome": outcome})


def visible(screen: str) -> dict[str, Any]:
    lines = [line for line in screen.split("\n") if line.strip()]
    return {"last_visible_status": "\n".join(lines[-STATUS_LINES:])} if lines else {}


def note_purge(mirrored: Mirrored, at: str, paths: Troubles) -> Troubles:
    """Purging is no end state: the status stays, the conversation is gone."""
    return _update(
        mirrored, {"resumable": False, "purged_at": at[:19] + "Z", "purged_paths": ", ".join(paths)}
    )


def write_resumed(world: "World", agent: Agent, run: Run) -> Troubles:
    """The row is running again: end fields go, the conversation's id and the new pane come."""
    from quell.core.stopping import OWN_ID, RESUMED_DROPS

    mirrored, troubles = find_row(world, agent, run)
    if mirrored is None:
        return troubles
    changes: dict[str, Any] = {"status": "running"}
    own = OWN_ID.get(agent.kind)
    if own and agent.conversation:
        changes[own] = agent.conversation
    if run.process:
        changes["pane.pid"] = run.process.pid
    if run.place.pane:
        changes["pane.id"] = run.place.pane
    return troubles + _update(mirrored, changes, RESUMED_DROPS)


def _update(mirrored: Mirrored, changes: Mapping[str, Any], drop: Troubles = ()) -> Troubles:
    try:
        mirrored.registry.update(mirrored.row.name, changes, drop)
    except RegistryFailed as error:
        return (f"the row '{mirrored.row.name}' {NOT_WRITTEN}: {error}",)
    return ()
