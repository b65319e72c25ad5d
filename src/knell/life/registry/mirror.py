"""Keeps the registry file in step: each row's ending and its return, written back."""

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from knell.core.agent import Agent
from knell.core.codes import Code, Notice
from knell.core.ending_steps import Case, RegistryRow
from knell.core.errors import RegistryFailed
from knell.core.ports.registry import Row, words_of
from knell.core.ports.world import World
from knell.core.receipt import Receipt
from knell.core.redact import redacted
from knell.core.run import Ending, Outcome, Run

Troubles = tuple[Notice, ...]
STATUS_LINES = 20


def announce_endings(world: World, cases: list[Case]) -> list[Case]:
    """Finds each run's row while the agent lives, and announces the ending to its delegated job."""
    found: list[Case] = []
    for case in cases:
        row, troubles = find_row(world, case.agent, case.run)
        troubles += announce(row) if row else ()
        found.append(case._replace(row=row).warn(*troubles))
    return found


def write_endings(_: World, cases: list[Case]) -> list[Case]:
    return [
        case.warn(*write_end(case.row, case.asked, case.receipt, capture_id=case.way.capture_id))
        if case.row and case.receipt
        else case
        for case in cases
    ]


def find_row(world: World, agent: Agent, run: Run) -> tuple[RegistryRow | None, Troubles]:
    """The row that speaks of this run, by session or by agent; usually there is none."""
    try:
        registry = world.registry(agent.cwd)
        if registry is None:
            return None, ()
        rows = sorted(registry.rows(), key=lambda row: row.name != run.agent)
        row = next((row for row in rows if speaks_of(row, run)), None)
        return RegistryRow(registry, row) if row else None, ()
    except RegistryFailed as error:
        why = f"the registry file was left as it is: {error}"
        return None, (Notice(Code.REGISTRY_FAILED, why),)


def speaks_of(row: Row, run: Run) -> bool:
    """Whether the row is of this run: by its agent's name, or by its session's.

    A session of that name on another tmux server is another session."""
    if row.tmux_server and run.place.name == "tmux":
        server, other = os.path.basename(run.place.server), os.path.basename(row.tmux_server)
        if server != other:
            return False
    return row.name == run.agent or session_of(row) == run.place.session


def session_of(row: Row) -> str:
    """The row's session, as tmux stores its name."""
    return row.name.replace(".", "_").replace(":", "_")


def announce(mirrored: RegistryRow) -> Troubles:
    return publish(mirrored, "progress", "terminating", {})


def publish(mirrored: RegistryRow, event: str, detail: str, data: Mapping[str, Any]) -> Troubles:
    """Updates the delegated job, if the row has one."""
    if not mirrored.row.delegate_job:
        return ()
    try:
        mirrored.registry.publish(mirrored.row.delegate_job, event, detail, data)
    except RegistryFailed as error:
        return (Notice(Code.JOB_NOT_UPDATED, f"the delegated job was not updated: {error}"),)
    return ()


def write_end(
    mirrored: RegistryRow, words: Ending, receipt: Receipt, *, capture_id: bool
) -> Troubles:
    """Writes the row's end state, with the documented fields; everything else in it stays."""
    from knell.core.stop_plan import row_end

    graceful = any(rung.rung == "exit_keys" and rung.reached for rung in receipt.rungs)
    changes: dict[str, Any] = {}
    if screen := [line for line in receipt.screen.split("\n") if line.strip()]:
        # First: as the last field of the row it could not be spread over lines.
        changes["last_visible_status"] = "\n".join(screen[-STATUS_LINES:])
    changes |= row_end(words.outcome, words.reason, receipt.finished_at, graceful=graceful)
    own = mirrored.registry.id_field(receipt.kind)
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


def note_end(world: World, agent: Agent, run: Run, receipt: Receipt) -> None:
    """Writes an end that was asked for, if the process that ended the run died before it could: an
    agent that stops itself, or leaves as it was asked to, ends that process too. What cannot be
    written now, the monitor writes and reports."""
    row, _ = find_row(world, agent, run)
    if row and run.ending and row.row.status == "running":
        stopped = run.ending.outcome is Outcome.STOPPED
        write_end(row, run.ending, receipt, capture_id=stopped)


def note_purge(world: World, receipt: Receipt, at: str, paths: Sequence[str]) -> Troubles:
    """Writes the purge into the row; its status stays, because a purge ends nothing."""
    run, agent = world.store.runs.run(receipt.run), world.store.runs.agent(receipt.agent)
    row, troubles = find_row(world, agent, run) if run and agent else (None, ())
    return troubles + write_purge(world, agent, row, at, paths) if agent and row else ()


def write_purge(
    world: World, agent: Agent, row: RegistryRow, at: str, paths: Sequence[str]
) -> Troubles:
    """Writes the purge, unless the row names another conversation, which can still be resumed."""
    if other := _named_still(world, agent, row):
        why = f"its row names {other}, which is still there"
        return (Notice(Code.CONVERSATION_NOT_DELETED, why),)
    fields = {"resumable": False, "purged_at": at[:19] + "Z", "purged_paths": ", ".join(paths)}
    return _update(row, fields)


def _named_still(world: World, agent: Agent, mirrored: RegistryRow) -> str:
    """The conversation that the row names now, if it is not the agent's own and is there."""
    from knell.life.base.conversation import conversation_files

    row = mirrored.row
    with suppress(RegistryFailed):  # the next write reports what is wrong with the file
        row = mirrored.registry.row(row.name) or row  # --capture-id may have named another
    kind, other = world.kind(agent.kind), agent._replace(conversation=row.conversation)
    if other == agent or not kind.is_id(row.conversation):
        return ""
    return row.conversation if conversation_files(world, other, kind) else ""


def write_started(world: World, agent: Agent, run: Run, *, session: str, fresh: bool) -> Troubles:
    """Writes that the agent runs: into its row, without the end fields, or into a new one."""
    try:
        registry = world.registry(agent.cwd)
        rows = registry.rows() if registry else []
        if registry is None:
            return ()
        own = registry.id_field(agent.kind)
        row = own_row(world, rows, run)
        if row:
            return mark_running(RegistryRow(registry, row), world, agent, run, fresh=fresh)
        if run.place.name == "tmux":
            taken = any(row.name == session for row in rows)
            fields = {"status": "running", "tmux_server": server_name(run.place.server)}
            fields |= start_fields(world, agent, run)
            name = agent.name if taken or not session else session
            registry.add(name, fields | ({own: None} if own else {"agent": agent.kind}))
    except RegistryFailed as error:
        return (
            Notice(Code.ROW_NOT_WRITTEN, f"the row of '{agent.name}' was not written: {error}"),
        )
    return ()


def own_row(world: World, rows: Sequence[Row], run: Run) -> Row | None:
    """The row that speaks of this run, but not the one of a session that others live in too."""
    others = [one for one in world.store.runs.live() if one.agent != run.agent]
    for row in rows:
        shared = row.name != run.agent and any(speaks_of(row, one) for one in others)
        if speaks_of(row, run) and not shared:
            return row
    return None


def mark_running(
    mirrored: RegistryRow, world: World, agent: Agent, run: Run, *, fresh: bool = False
) -> Troubles:
    """Writes the run's pane and its conversation into a row, and takes the end fields out of it."""
    from knell.core.stop_plan import RESUMED_DROPS

    changes: dict[str, Any] = {"status": "running"}
    own = mirrored.registry.id_field(agent.kind)
    if own and (fresh or agent.conversation):
        changes[own] = None if fresh else agent.conversation  # null until something was said
    if run.process:
        changes["pane.pid"] = run.process.pid
    if run.place.pane:
        changes["pane.id"] = run.place.pane
    if fresh and mirrored.row.start_words != words_of(start_line(world, agent)):
        changes["start_command"] = start_line(world, agent)
    return _update(mirrored, changes, RESUMED_DROPS)


def start_fields(world: World, agent: Agent, run: Run) -> dict[str, Any]:
    words = start_words(world, agent)
    pane = {"id": run.place.pane, "pid": run.pid}
    pane |= {"cmd": os.path.basename(words[0]) if words else "", "cwd": agent.cwd}
    fields: dict[str, Any] = {"start_command": start_line(world, agent), "pane": pane}
    if agent.role:
        fields["role"] = agent.role
    return fields | {"mcp_attachments": []}


def start_words(world: World, agent: Agent) -> tuple[str, ...]:
    """The command that starts such an agent again, without the id of one conversation."""
    program = world.kind(agent.kind).program
    return (program, *agent.args) if program else agent.args


def start_line(world: World, agent: Agent) -> str:
    """The same as one line without secrets: others may read the file, or take it into git."""
    return redacted(shlex.join(start_words(world, agent)))


def server_name(socket: str) -> str:
    """As `tmux -L` takes it; a socket elsewhere by its path."""
    folder, name = os.path.split(socket)
    return name if os.path.basename(folder).startswith("tmux-") else socket


def _update(
    mirrored: RegistryRow, changes: Mapping[str, Any], drop: Sequence[str] = ()
) -> Troubles:
    try:
        mirrored.registry.update(mirrored.row.name, changes, drop)
    except RegistryFailed as error:
        why = f"the row '{mirrored.row.name}' was not written: {error}"
        return (Notice(Code.ROW_NOT_WRITTEN, why),)
    return ()
