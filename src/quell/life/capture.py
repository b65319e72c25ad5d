"""Learns the id of the conversation that an agent is in, from the surest source first.

live   the program's own note about this very process (claude keeps one)
hook   what its session-start hook wrote into the run's directory
spawn  the id that quell chose or was told at the start
row    the id in the registry file, if its conversation is there
scan   the newest conversation of this workspace that was written since the run began
cache  the registry file's last known id for this directory
"""

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from quell.core.agent import Agent
from quell.core.kind import Kind
from quell.core.run import Run
from quell.life.conversation import conversation_files, is_there, root_of

if TYPE_CHECKING:
    from quell.core.ports import Registry, Row, World

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
IN_TEXT = re.compile(rb'"session_?[iI]d"\s*:\s*"([A-Za-z0-9_-]{6,80})"')

MOVED_ON = re.compile(rb'"source"\s*:\s*"(clear|resume|compact)"')


class Captured(NamedTuple):
    conversation: str
    found_by: str


def capture(
    world: "World",
    agent: Agent,
    run: Run,
    registry: "Registry | None" = None,
    row: "Row | None" = None,
) -> Captured:
    """The conversation's id and how it was learnt; both empty when nobody knows."""
    kind = world.kind(agent.kind)
    if not kind.resume:
        return Captured("", "")
    for found in _sources(world, agent, run, kind, (registry, row)):
        if found.conversation:
            return found
    return Captured("", "")


def _sources(
    world: "World",
    agent: Agent,
    run: Run,
    kind: Kind,
    file: "tuple[Registry | None, Row | None]",
) -> Iterator[Captured]:
    registry, row = file
    yield Captured(_live(world, agent, run, kind), "live")
    yield Captured(_hook(world, run), "hook")
    yield Captured(agent.conversation, "spawn")
    if row is not None and row.conversation:
        asked = agent._replace(conversation=row.conversation)
        files = conversation_files(world, asked, kind)
        if is_there(world, kind, files, row.conversation) is not False:
            yield Captured(row.conversation, "row")
    yield Captured(_scan(world, agent, run, kind), "scan")
    if registry is not None:
        yield Captured(registry.cached_conversation(kind.name, agent.cwd), "cache")


def _live(world: "World", agent: Agent, run: Run, kind: Kind) -> str:
    """Claude notes its current session by PID; /clear changes it, so this beats the spawn's."""
    if not kind.live_file or run.process is None:
        return ""
    name = kind.live_file.replace("{pid}", str(run.process.pid))
    # By its name: the root itself may not be there yet, or may be a link.
    text = world.disk.head(os.path.normpath(os.path.join(root_of(world, agent, kind), name)))
    try:
        told = json.loads(text or b"{}")
        same = str(told.get("procStart", run.process.start)) == str(run.process.start)
        return str(told.get("sessionId") or "") if same else ""
    except (ValueError, AttributeError, RecursionError):
        return ""


def _hook(world: "World", run: Run) -> str:
    """The first session, unless it was left for another: a nested agent writes here as well."""
    text = world.disk.tail(os.path.join(world.rundir(run.id), "session-start")) or b""
    current = ""
    for line in text.splitlines():
        found = IN_TEXT.search(line)
        if found and (not current or MOVED_ON.search(line)):
            current = found.group(1).decode()
    return current


def _scan(world: "World", agent: Agent, run: Run, kind: Kind) -> str:
    cwd = world.disk.real(agent.cwd)
    root = root_of(world, agent, kind)
    if kind.database is not None:
        paths = [path for one in kind.conversation for path in world.disk.glob(f"{root}/{one}")]
        answers = [world.disk.query(path, kind.database.newest, {"cwd": cwd}) for path in paths]
        return next((answer[0] for answer in answers if answer), "")
    since = _seconds(run.started_at) if run.keeper else 0.0  # an adopted one is older than its run
    last = _last_of_directory(world, kind, root, cwd)
    others = {a.conversation for a in world.store.agents() if a.name != agent.name}
    newest: list[tuple[float, str]] = []
    for template in kind.conversation[:1]:
        key = kind.cwd_key(cwd) if kind.cwd_key else ""
        pattern = template.replace("{cwd_key}", key).replace("{id8}", "*").replace("{id}", "*")
        for path in world.disk.glob(os.path.join(root, pattern)):
            at = world.disk.touched_at(path) or 0.0
            if at < since:
                continue  # unread: there may be thousands
            found = _id_of(world, path)
            here = found == last if last else _of_workspace(world, kind, path, cwd)
            if found and found not in others and here:
                newest.append((at, found))
    return max(newest)[1] if newest else ""


def _last_of_directory(world: "World", kind: Kind, root: str, cwd: str) -> str:
    """What the program itself notes as the latest conversation of a directory; agy does."""
    if not kind.last_file:
        return ""
    try:
        told = json.loads(world.disk.tail(os.path.join(root, kind.last_file)) or b"{}")
        return str(told.get(cwd) or "")
    except (ValueError, AttributeError, RecursionError):
        return ""


def _seconds(iso: str) -> float:
    """One second of mercy: file times are coarser than ours."""
    return datetime.fromisoformat(iso).timestamp() - 1.0 if iso else 0.0


def _of_workspace(world: "World", kind: Kind, path: str, cwd: str) -> bool:
    """Whether the file is this directory's: by its folder, or because it says so itself."""
    if kind.cwd_key is not None:
        return True
    told = world.disk.head(os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root"))
    if told is not None:
        return told.decode(errors="replace").strip() == cwd
    return json.dumps(cwd).encode() in (world.disk.head(path) or b"")


def _id_of(world: "World", path: str) -> str:
    in_name = UUID.findall(os.path.basename(path))
    if in_name:
        return in_name[-1]
    found = IN_TEXT.search(world.disk.head(path) or b"")
    if found:
        return found.group(1).decode()
    return os.path.basename(path).split(".")[0] if path.endswith(".db") else ""
