"""Reads a conversation as a sign of life: which file it is, whether it grows, whose turn it is."""

import os
from datetime import UTC, datetime
from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.conversation import KnownConversation, below_root, recorded_conversation
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.run import Run
from knell.core.stall.signs import TICKS, Clock, Sign, SignRecord, Turn, start_time
from knell.core.stall.turns import turn_of
from knell.life.base.candidates import nearest
from knell.life.base.conversation import conversation_files, root_of
from knell.life.base.known_conversation import learn_conversation

AGAIN = 60.0  # seconds after which the conversation of an agent is searched for again
LONGEST_AGAIN = 600.0  # where none is found: a search costs more the more files there are
SHORT, LONG = 1 << 16, 1 << 20  # bytes of its end that are read to learn whose turn it is


class FoundConversation(NamedTuple):
    """Where a run's conversation was found, and until when that is believed."""

    conversation: str = ""
    path: str = ""
    beside: str = ""
    sure: bool = False
    since: Clock | None = None
    wait: float = AGAIN / 2


class ConversationReader:
    """Keeps between rounds what is expensive: the conversation's file, and what its end said."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[str, FoundConversation] = {}
        self._turns: dict[str, tuple[str, Turn]] = {}  # by run: for which mark, and whose turn

    def forget(self, living: set[str]) -> None:
        self._known = {run: known for run, known in self._known.items() if run in living}
        self._turns = {run: turn for run, turn in self._turns.items() if run in living}

    def read(self, run: Run, agent: Agent, kind: Kind, now: Clock) -> SignRecord:
        if not kind.conversation:
            return SignRecord()
        known = self._find(run, agent, kind, now)
        if not known.path or not known.sure:
            return SignRecord()  # what another agent in the directory writes is no sign of this one
        sign = self._sign(known, kind)
        if sign is None:
            return SignRecord(odd=("its conversation could not be looked at",), unseen=True)
        if not sign.mark:
            # Moved, deleted, or not begun: searched for again, but not in every round.
            self._known[run.id] = FoundConversation(since=now)
            return SignRecord()
        return SignRecord(sign, turn=self._turn(run, known, kind, sign, now))

    def _find(self, run: Run, agent: Agent, kind: Kind, now: Clock) -> FoundConversation:
        before = self._known.get(run.id) or FoundConversation()
        since = before.since
        if since and since.boot == now.boot and now.awake - since.awake < before.wait:
            return before
        found = before._replace(since=now)
        agent = learn_conversation(self._world, agent, run)
        known = recorded_conversation(agent)
        if not before.path or (known.sure and known.id != before.conversation):
            found = self._found(run, agent, kind, known)._replace(since=now)
        wait = AGAIN if found.path else min(before.wait * 2, LONGEST_AGAIN)
        self._known[run.id] = found._replace(wait=wait)
        return self._known[run.id]

    def _found(
        self, run: Run, agent: Agent, kind: Kind, known: KnownConversation
    ) -> FoundConversation:
        """The agent's own, or what may be it: that something is written there is a sign of life."""
        disk = self._world.disk
        agent = agent._replace(conversation=known.id or nearest(self._world, agent, run))
        files = conversation_files(self._world, agent, kind)
        path = max(files, key=lambda file: disk.touched_at(file) or 0.0, default="")
        path = disk.real(path) if path else ""
        globs = (kind.beside,) if kind.beside else ()
        below = below_root(kind, globs, agent.conversation, disk.real(agent.cwd))
        beside = os.path.join(root_of(self._world, agent, kind), below[0]) if below else ""
        return FoundConversation(agent.conversation, path, beside, known.sure)

    def _sign(self, known: FoundConversation, kind: Kind) -> Sign | None:
        """None: it could not be read. An empty mark: there is no conversation."""
        disk = self._world.disk
        if kind.database is not None:
            if not kind.database.touched:
                return Sign("")
            rows = disk.query(known.path, kind.database.touched, {"id": known.conversation})
            if rows is None:
                return None
            at = rows[0] if rows and rows[0].isdigit() else ""
            return Sign(at, int(at) / 1000) if at else Sign("")
        file = disk.seen(known.path)
        if file is None or file.what != "file":
            return None if file is None else Sign("")
        marks = [(file.at, file.size)]
        for path in disk.glob(known.beside) if known.beside else ():
            other = disk.seen(path)
            if other and other.what == "file":
                marks.append((other.at, other.size))
        at, size = max(marks)
        return Sign(f"{at} {size} {len(marks)}", at / 1e9)

    def _turn(self, run: Run, known: FoundConversation, kind: Kind, sign: Sign, now: Clock) -> Turn:
        mark, turn = self._turns.get(run.id, ("", Turn.UNKNOWN))
        if mark == f"{known.path} {sign.mark}" or kind.turn is None:
            return turn
        disk, since = self._world.disk, _begun(run, now)
        if kind.database is not None:
            rows = disk.query(known.path, kind.database.tail, {"id": known.conversation}) or []
            turn = turn_of(kind.turn, "\n".join(reversed(rows)).encode(), since)
        else:
            for limit in (SHORT, LONG):
                turn = turn_of(kind.turn, disk.tail(known.path, limit) or b"", since)
                if turn is not Turn.UNKNOWN:
                    break
        self._turns[run.id] = (f"{known.path} {sign.mark}", turn)
        return turn


def _begun(run: Run, now: Clock) -> str:
    """When its process began, as conversations write times; an adopted one is older than its run.

    If the clock was set since, some turns are not recognised, which ends no agent.
    """
    born = start_time(run)
    at = born.wall - 1.0
    if not born.wall and run.process is not None:
        at = now.booted + run.process.start / TICKS - 1.0
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S") if at > 0 else ""
