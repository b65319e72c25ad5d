"""Learns which conversation an agent is in, from the program's own words about this one run.

Nothing here searches the disk for what might be the agent's: see candidates.py for that.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

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
from knell.core.json_lines import object_in, records_of
from knell.core.kind import SAFE_ID, Kind, program_word
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Run
from knell.core.telling import LEFT as LEFT_WORD
from knell.core.telling import TAIL, told_lines
from knell.core.telling import TOLD as TOLD_FILE
from knell.life.base.conversation import conversation_files, root_of

IN_HOOK_LINE = re.compile(rb'"session_?[iI]d"\s*:\s*"([A-Za-z0-9_-]{6,80})"')
MOVED_ON = re.compile(rb'"source"\s*:\s*"(clear|resume|compact)"')


def learn_conversation(world: World, agent: Agent, run: Run) -> Agent:
    """The agent with what is surely known now, which is recorded if it is new."""
    known = known_conversation(world, agent, run)
    if known == recorded_conversation(agent) or not (known.sure or known.source == LEFT):
        return agent
    with suppress(StoreFailed):  # a verb that must write will say so
        world.store.runs.set_conversation(agent.name, known)
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
    """For a program that has no file open any more: that it was seen to leave its conversation
    while it lived, or that it may have left it, if it has just crashed."""
    if any(word.source in (HELD, LEFT) for word in words):
        return []
    if agent.conversation_source == LEFT:
        return [KnownConversation(agent.conversation, LEFT, agent.conversation_since)]
    gone = run.process and isinstance(world.processes.look(run.process), Gone)
    if not gone or not run.live or run.ending is not None:  # an ending looks while it lives
        return []
    return _may_have_left(world, agent, latest(record, words), words)


def _told_of(world: World, agent: Agent) -> Iterator[str]:
    """Every conversation that another agent of that kind is known to be in, or has told of."""
    for other in world.store.runs.agents():
        if other.kind == agent.kind and other.name != agent.name:
            yield recorded_conversation(other).id
            run = world.store.runs.newest_of(other.name)
            yield from (word.id for word in said_by_run(world, other, run)) if run else ()


def said_by_run(world: World, agent: Agent, run: Run) -> list[KnownConversation]:
    """Everything that the run itself says about its conversation, but not the id it was given."""
    kind = world.kinds.kind_or_command(agent.kind)
    words = [_noted(world, agent, run, kind), _told(world, agent, run, kind)]
    if kind.holds and run.live:
        words.append(_held(world, agent, run, kind))
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
                return KnownConversation(found.group(1) or "", PRINTED, since)
    return NOTHING_KNOWN


# -- held ---------------------------------------------------------------------------------------


def _held(world: World, agent: Agent, run: Run, kind: Kind) -> KnownConversation:
    """The conversation that it has entered last; the last written, of a program without locks."""
    if run.process is None or run.host != world.host:
        return NOTHING_KNOWN
    root = world.disk.real(root_of(world, agent, kind))

    def is_program(argv: Any) -> bool:
        return kind.runs_in(argv) and program_word(argv) == argv[0]

    paths = world.processes.written_files(run.process, root, is_program) or ()
    locks = [_word_of(world, path, id) for path in paths if (id := _lock_id(kind, root, path))]
    if locks:
        return _entered_last(world, agent, kind, locks)
    words = [
        _word_of(world, path, id)
        for path in paths
        if (id := id_in_path(kind, root, path)) and not _is_side(world, kind, path)
    ]
    return max(words, key=lambda word: word.since, default=NOTHING_KNOWN)


def _word_of(world: World, path: str, id: str) -> KnownConversation:
    return KnownConversation(id, HELD, world.moment(world.disk.touched_at(path) or 0.0))


def _entered_last(
    world: World, agent: Agent, kind: Kind, locks: list[KnownConversation]
) -> KnownConversation:
    """By its locks: each is made as the program enters that conversation. LEFT where it has entered
    one that nothing was said in yet, with the one before; nothing where there is none before."""
    empty = ""
    for lock in sorted(locks, key=lambda word: word.since, reverse=True):
        own = _is_own_thread(world, agent, kind, lock.id)
        if own:
            return lock._replace(source=LEFT, since=empty) if empty else lock
        if own is None:
            empty = empty or lock.since
    if empty and kind.is_id(agent.conversation):
        return KnownConversation(agent.conversation, LEFT, empty)
    return NOTHING_KNOWN


def _lock_id(kind: Kind, root: str, path: str) -> str:
    """The id of the conversation that this file locks; empty if it is no lock of this kind's."""
    return _id_by(kind, root, path, kind.lock) if kind.lock else ""


def id_in_path(kind: Kind, root: str, path: str) -> str:
    """The id of the conversation whose file this is; empty if it is none of this kind's."""
    ids = (_id_by(kind, root, path, template) for template in kind.conversation)
    return next(filter(None, ids), "")


def _id_by(kind: Kind, root: str, path: str, template: str) -> str:
    parts = re.split(r"(\{id\}|\*|\{\w+\})", template)
    words = {"{id}": f"({kind.id_pattern or SAFE_ID})"}
    regex = "".join(
        words.get(part, "[^/]*") if at % 2 else re.escape(part) for at, part in enumerate(parts)
    )
    found = re.fullmatch(re.escape(f"{root}/") + regex, path)
    return found.group(1) if found else ""


def _is_own_thread(world: World, agent: Agent, kind: Kind, id: str) -> bool | None:
    """Whether a person talks to that conversation; None where it has no file yet."""
    files = conversation_files(world, agent._replace(conversation=id), kind)
    return any(not _is_side(world, kind, path) for path in files) if files else None


def _is_side(world: World, kind: Kind, path: str) -> bool:
    """Whether the file is that of a side thread, which no person talks to."""
    if kind.side is None:
        return False
    first = next(records_of(world.disk.head(path) or b""), None)
    return first is not None and kind.side(first)


# -- after a crash ---------------------------------------------------------------------------------

# A program removes its locks as it leaves. One that died suddenly leaves them, and a lock that was
# made after its last word may be its own: then the person had gone on to that conversation, and had
# said nothing there.


def _may_have_left(
    world: World, agent: Agent, known: KnownConversation, words: list[KnownConversation]
) -> list[KnownConversation]:
    """That it may have left the conversation that is known; nothing if no lock speaks for it, as
    those do not of which another agent has told, that a process holds, or of a side thread."""
    if not known.sure:
        return []
    kind = world.kinds.kind_or_command(agent.kind)
    root = world.disk.real(root_of(world, agent, kind))
    paths = world.disk.glob(os.path.join(root, kind.lock.replace("{id}", "*")))
    ids = {path: id for path in paths if (id := _lock_id(kind, root, path))}
    locks = {path: _word_of(world, path, id) for path, id in ids.items()}  # each since when
    own = max(word.since for word in (known, *words, *locks.values()) if word.id == known.id)
    later = {path: lock for path, lock in locks.items() if lock.since > own}
    told = set(_told_of(world, agent)) if later else set[str]()
    later = {path: lock for path, lock in later.items() if lock.id not in told}
    held = {one.path for one in world.processes.open_files(tuple(later)).files} if later else ()
    return [
        KnownConversation(known.id, LEFT, lock.since)
        for path, lock in later.items()
        if path not in held and _is_own_thread(world, agent, kind, lock.id) is not False
    ]
