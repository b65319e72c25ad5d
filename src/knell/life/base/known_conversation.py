"""Learns which conversation an agent is in, from the program's own words about this one run.

Nothing here searches the disk for what might be the agent's: see candidates.py for that.
"""

import os
import re
from collections.abc import Iterator

from knell.core.agent import Agent
from knell.core.conversation import (
    HELD,
    LEFT,
    NOTED,
    NOTHING_KNOWN,
    PRINTED,
    TOLD,
    KnownConversation,
    in_conversation,
    latest,
    recorded_conversation,
)
from knell.core.errors import StoreFailed
from knell.core.json_lines import object_in
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Run
from knell.core.telling import LEFT as LEFT_WORD
from knell.core.telling import TAIL, told_lines
from knell.core.telling import TOLD as TOLD_FILE
from knell.life.base.conversation import conversation_files, root_of
from knell.life.base.held_conversation import held_conversation, is_side, may_have_left

IN_HOOK_LINE = re.compile(rb'"session_?[iI]d"\s*:\s*"([A-Za-z0-9_-]{6,80})"')
MOVED_ON = re.compile(rb'"source"\s*:\s*"(clear|resume|compact)"')


def learn_conversation(world: World, agent: Agent, run: Run) -> Agent:
    """The agent with what is surely known now, which is recorded if it is new."""
    known = known_conversation(world, agent, run)
    if known == recorded_conversation(agent) or not (known.sure or known.source == LEFT):
        return agent
    try:
        world.store.runs.set_conversation(agent.name, known)
    except StoreFailed:
        pass  # a verb that must write will say so
    return in_conversation(agent, known)


def known_conversation(world: World, agent: Agent, run: Run) -> KnownConversation:
    """The latest sure word: what is on record, or what the run has said since."""
    kind = world.kinds.kind_or_command(agent.kind)
    if not kind.resume:
        return NOTHING_KNOWN
    record = recorded_conversation(agent)
    record = record if kind.is_id(record.id) else NOTHING_KNOWN
    words = said_by_run(world, agent, run)
    if kind.typed_log is not None:
        from knell.life.base.followed import followed_conversation

        words.append(followed_conversation(world, agent, run, kind))
    if kind.lock:
        words += _last_seen(world, agent, run, record, words)
    sure = [word for word in words if word.sure]
    left = [word for word in words if word.source == LEFT]
    if left and all(word.since < left[-1].since for word in sure):
        return left[-1]
    return latest(record, sure)


def _last_seen(
    world: World,
    agent: Agent,
    run: Run,
    record: KnownConversation,
    words: list[KnownConversation],
) -> list[KnownConversation]:
    """Of a program that holds nothing any more: that it was seen to leave its conversation while it
    lived, or, if it has just crashed, that it may have."""
    if any(word.source in (HELD, LEFT) for word in words):
        return []
    if agent.conversation_source == LEFT:
        return [KnownConversation(agent.conversation, LEFT, agent.conversation_since)]
    gone = run.process and isinstance(world.processes.look(run.process), Gone)
    if not gone or not run.live or run.ending is not None:  # an ending looks while it lives
        return []
    known = latest(record, words)
    return may_have_left(world, agent, known, words, lambda: set(_told_of(world, agent)))


def _told_of(world: World, agent: Agent) -> Iterator[str]:
    """Every conversation that another agent of that kind is known to be in, or has told of."""
    for other in world.store.runs.agents():
        if other.kind == agent.kind and other.name != agent.name:
            yield recorded_conversation(other).id
            run = world.store.runs.newest_of(other.name)
            yield from (word.id for word in said_by_run(world, other, run)) if run else ()


def said_by_run(world: World, agent: Agent, run: Run) -> list[KnownConversation]:
    """Every word of this run itself, without the id that it was given."""
    kind = world.kinds.kind_or_command(agent.kind)
    words = [_noted(world, agent, run, kind), _told(world, agent, run, kind)]
    if kind.holds and run.live:
        words.append(held_conversation(world, agent, run, kind))
    if kind.printed:
        words.append(_printed(world, run, kind))
    return [word for word in words if kind.is_id(word.id)]  # the agent may have written it


def _noted(world: World, agent: Agent, run: Run, kind: Kind) -> KnownConversation:
    """Claude notes its current session by PID; /clear changes it."""
    if not kind.live_file or run.process is None:
        return NOTHING_KNOWN
    name = kind.live_file.replace("{pid}", str(run.process.pid))
    # By its name: the root itself may not be there yet, or may be a link.
    path = os.path.normpath(os.path.join(root_of(world, agent, kind), name))
    note = object_in(world.disk.head(path))
    same = str(note.get("procStart", run.process.start)) == str(run.process.start)
    id = str(note.get("sessionId") or "") if same else ""
    return KnownConversation(id, NOTED, world.moment(world.disk.touched_at(path) or 0.0))


# -- told ---------------------------------------------------------------------------------------


def _told(world: World, agent: Agent, run: Run, kind: Kind) -> KnownConversation:
    """The last conversation that the run was told, and that is there: side threads have no file."""
    path = os.path.join(world.rundir(run.id), TOLD_FILE) if run.id and kind.tell else ""
    lines = told_lines(world.disk.tail(path, TAIL) or b"") if path else []
    if lines and kind.forks(agent.args, lines[0].id):
        del lines[0]  # claude begins a copy with the name of what it copies
    if not lines:  # a program that tells by itself needs no hook, which a nested one shares
        tells = kind.tell is not None and kind.typed_log is None
        return NOTHING_KNOWN if tells else _hooked(world, run)
    asked: set[str] = set()
    for line in reversed(lines):
        if line.id in asked or not kind.is_id(line.id):
            continue
        asked.add(line.id)
        if not kind.holds or _is_own_thread(world, agent, kind, line.id):
            at = line.at or world.disk.touched_at(path) or 0.0
            source = LEFT if line.word == LEFT_WORD else TOLD
            return KnownConversation(line.id, source, world.moment(at))
    return NOTHING_KNOWN


def _hooked(world: World, run: Run) -> KnownConversation:
    """What the user's own session-start hook wrote, for a program that tells by nothing else.

    It is the first session, unless that was left for another: a nested agent writes here too."""
    path = os.path.join(world.rundir(run.id), "session-start") if run.id else ""
    current = ""
    for line in (world.disk.tail(path) or b"").splitlines() if path else ():
        found = IN_HOOK_LINE.search(line)
        if found and (not current or MOVED_ON.search(line)):
            current = found.group(1).decode()
    at = world.disk.touched_at(path) if current else 0.0
    return KnownConversation(current, TOLD, world.moment(at or 0.0)) if current else NOTHING_KNOWN


def _is_own_thread(world: World, agent: Agent, kind: Kind, id: str) -> bool:
    files = conversation_files(world, agent._replace(conversation=id), kind)
    return any(not is_side(world, kind, path) for path in files)


def _printed(world: World, run: Run, kind: Kind) -> KnownConversation:
    """The id that the program printed: on the screen that its keeper kept when it had left, or in
    what a headless one has printed first."""
    screen = os.path.join(world.rundir(run.id), "screen") if run.id else ""
    for path, read in ((screen, world.disk.tail), (run.place.log, world.disk.head)):
        text = (read(path) or b"").decode("utf-8", "replace") if path else ""
        for pattern in kind.printed if text else ():
            if found := re.search(pattern, text, re.MULTILINE):
                at = world.disk.touched_at(path) if path == screen else None
                since = world.moment(at) if at else run.started_at
                return KnownConversation(found.group(1), PRINTED, since)
    return NOTHING_KNOWN
