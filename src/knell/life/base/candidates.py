"""Finds conversations that may be an agent's, for a person to choose from. No verb acts on them."""

import json
import os
import re
from collections.abc import Iterator

from knell.core.agent import Agent
from knell.core.conversation import (
    CACHE,
    NOTHING_KNOWN,
    ROW,
    SCAN,
    ConversationCandidate,
    in_conversation,
)
from knell.core.json_lines import object_in, records_of
from knell.core.kind import Kind
from knell.core.ports.registry import Registry, Row
from knell.core.ports.world import World
from knell.core.receipt import Conversation
from knell.core.run import Run
from knell.core.times import seconds_of
from knell.life.base.conversation import (
    conversation_files,
    find_conversation,
    is_there,
    project_above,
    root_of,
)
from knell.life.base.known_conversation import IN_HOOK_LINE

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNSAFE = re.compile(r"[^ -~\u00a1-\ud7ff\ue000-\uffff]+")  # control characters, and what may be one
LONGEST = 60  # characters of the words that are shown
MOST = 10  # candidates that are shown


def guessed_conversation(
    world: World, agent: Agent, run: Run, registry: Registry, row: Row
) -> Conversation:
    """The first candidate, marked as unsure. Only for the id field of the registry file, whose
    readers expect the nearest one; it is not recorded as the agent's, and has no resume line."""
    kind = world.kinds.kind_or_command(agent.kind)
    first = next(_found(world, agent, run, (registry, row)), None)
    if first is None:
        return find_conversation(world, in_conversation(agent, NOTHING_KNOWN))
    asked = agent._replace(conversation=first.id)
    there = is_there(world, kind, conversation_files(world, asked, kind), first.id)
    why = "unsure: it is only what a search has found"
    return Conversation(first.id, exists=there, source=first.found_in, why=why)


def nearest(world: World, agent: Agent, run: Run) -> str:
    """The id of the likeliest candidate, for callers that only read its file; empty: none."""
    first = next(_found(world, agent, run, (None, None)), None)
    return first.id if first else ""


def candidates(world: World, agent: Agent, run: Run) -> list[ConversationCandidate]:
    """The likeliest first, each with its first and last words; ten at most."""
    registry = world.registry(agent.cwd) if run.place.name == "tmux" else None
    row = registry.row(run.place.session) if registry and run.place.session else None
    kind = world.kinds.kind_or_command(agent.kind)
    found: dict[str, ConversationCandidate] = {}
    for one in _found(world, agent, run, (registry, row)):
        if one.id not in found:
            found[one.id] = with_words(world, agent, kind, one)
        if len(found) == MOST:
            break
    return list(found.values())


def _found(
    world: World, agent: Agent, run: Run, file: tuple[Registry | None, Row | None]
) -> Iterator[ConversationCandidate]:
    registry, row = file
    kind = world.kinds.kind_or_command(agent.kind)
    if not kind.resume:
        return
    if row is not None and kind.is_id(row.conversation):
        asked = agent._replace(conversation=row.conversation)
        files = conversation_files(world, asked, kind)
        if is_there(world, kind, files, row.conversation) is not False:
            yield ConversationCandidate(row.conversation, ROW)
    if kind.is_id(agent.conversation):  # what an earlier knell had found
        yield ConversationCandidate(agent.conversation, SCAN)
    yield from (
        ConversationCandidate(id, SCAN)
        for id in _scanned(world, agent, run, kind)
        if kind.is_id(id)
    )
    cached = registry.cached_conversation(kind.name, agent.cwd) if registry is not None else ""
    if kind.is_id(cached):
        yield ConversationCandidate(cached, CACHE)


def _scanned(world: World, agent: Agent, run: Run, kind: Kind) -> list[str]:
    """The conversations of this workspace that were written since the run began, the latest first,
    without those that are surely another agent's."""
    cwd = world.disk.real(agent.cwd)
    root = root_of(world, agent, kind)
    others = {
        one.conversation
        for one in world.store.runs.agents()
        if one.name != agent.name and one.conversation_source
    }
    if kind.database is not None:
        paths = [path for one in kind.conversation for path in world.disk.glob(f"{root}/{one}")]
        answers = [world.disk.query(path, kind.database.newest, {"cwd": cwd}) for path in paths]
        return [id for answer in answers for id in answer or () if id not in others]
    # One second earlier, because file times are coarser; and an adopted one is older than its run.
    since = seconds_of(run.started_at) - 1.0 if run.keeper else 0.0
    last = _last_of_directory(world, kind, root, cwd)
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
    return [id for _, id in sorted(newest, reverse=True)]


def _last_of_directory(world: World, kind: Kind, root: str, cwd: str) -> str:
    """What the program itself notes as the latest conversation of a directory; agy does."""
    file = os.path.join(root, kind.last_file)
    return str(object_in(world.disk.tail(file)).get(cwd) or "") if kind.last_file else ""


def _of_workspace(world: World, kind: Kind, path: str, cwd: str) -> bool:
    """Whether the file is this directory's: by its folder, or because it says so itself."""
    if kind.cwd_key is not None:
        return True
    project = project_above(world, kind, os.path.dirname(path))
    if project is not None:
        return project == cwd
    return json.dumps(cwd).encode() in (world.disk.head(path) or b"")


def _id_of(world: World, path: str) -> str:
    in_name = UUID.findall(os.path.basename(path))
    if in_name:
        return in_name[-1]
    found = IN_HOOK_LINE.search(world.disk.head(path) or b"")
    if found:
        return found.group(1).decode()
    return os.path.basename(path).split(".")[0] if path.endswith(".db") else ""


# -- what a person recognises it by -------------------------------------------------------------


def with_words(
    world: World, agent: Agent, kind: Kind, one: ConversationCandidate
) -> ConversationCandidate:
    """The candidate with when it last changed, and the first and last words in it."""
    if kind.database is not None:
        return one._replace(cwd=agent.cwd)
    files = conversation_files(world, agent._replace(conversation=one.id), kind)
    if not files:
        return one
    at = world.disk.touched_at(files[0])
    shown = one._replace(at=world.moment(at) if at else "", cwd=agent.cwd)
    if kind.said is None:
        return shown
    first = _words(kind, world.disk.head(files[0]))
    last = _words(kind, world.disk.tail(files[0]))
    return shown._replace(first=first[0] if first else "", last=last[-1] if last else "")


def _words(kind: Kind, text: bytes | None) -> list[str]:
    """What the person says in these records: the beginning of each, safe to print on a terminal."""
    said = kind.said
    words = [said(record) for record in records_of(text or b"")] if said else []
    plain = [" ".join(UNSAFE.sub(" ", one[: LONGEST * 8]).split()) for one in words if one.strip()]
    return [one if len(one) <= LONGEST else one[: LONGEST - 1] + "…" for one in plain]
