"""Conversations as signs of life: which file it is, whether it grows, and whose turn it is."""

import os
from datetime import UTC, datetime
from typing import NamedTuple

from quell.core.agent import Agent
from quell.core.kind import Kind, below_root
from quell.core.ports import World
from quell.core.run import Run
from quell.core.signs import Clock, Sign, Turn
from quell.core.turns import turn_of
from quell.life.capture import Captured, capture
from quell.life.conversation import conversation_files, root_of
from quell.life.looking.glance import Glance
from quell.life.looking.pulse import TICKS, born_of

AGAIN = 60.0  # seconds after which it is asked again which conversation an agent is in
LONGEST_AGAIN = 600.0  # where none is found, for a search costs more each time there is more
SHORT, LONG = 1 << 16, 1 << 20  # bytes of its end that are read to learn whose turn it is
SURE = ("live", "hook", "spawn")  # else it may be the conversation of a neighbour


class Known(NamedTuple):
    """Where a run's conversation was found, and until when that is believed."""

    conversation: str = ""
    path: str = ""
    beside: str = ""
    sure: bool = False
    since: Clock | None = None
    wait: float = AGAIN / 2


class Reader:
    """Keeps what is expensive: which file the conversation is, and what its end said."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[str, Known] = {}
        self._turns: dict[str, tuple[str, Turn]] = {}  # by run: for which mark, and whose turn

    def forget(self, living: set[str]) -> None:
        self._known = {run: known for run, known in self._known.items() if run in living}
        self._turns = {run: turn for run, turn in self._turns.items() if run in living}

    def read(self, run: Run, agent: Agent, kind: Kind, now: Clock) -> Glance:
        if not kind.conversation:
            return Glance()
        known = self._find(run, agent, kind, now)
        if not known.path:
            return Glance()
        sign = self._sign(known, kind)
        if sign is None:
            return Glance(odd=("its conversation could not be looked at",), unseen=True)
        if not sign.mark:
            # Moved, deleted, or not begun: searched for again, but not in every round.
            self._known[run.id] = Known(since=now)
            return Glance()
        turn = self._turn(run, known, kind, sign, now) if known.sure else Turn.UNKNOWN
        return Glance(sign, turn=turn)

    def _find(self, run: Run, agent: Agent, kind: Kind, now: Clock) -> Known:
        before = self._known.get(run.id) or Known()
        since = before.since
        if since and since.boot == now.boot and now.awake - since.awake < before.wait:
            return before
        found = before._replace(since=now)
        captured = capture(self._world, agent, run)
        surer = captured.found_by in SURE or not before.sure
        if not before.path or (surer and captured.conversation != before.conversation):
            found = self._found(run, agent, kind, captured)._replace(since=now)
        wait = AGAIN if found.path else min(before.wait * 2, LONGEST_AGAIN)
        self._known[run.id] = found._replace(wait=wait)
        return self._known[run.id]

    def _found(self, run: Run, agent: Agent, kind: Kind, captured: Captured) -> Known:
        agent = agent._replace(conversation=captured.conversation)
        path = self._newest(conversation_files(self._world, agent, kind))
        path = self._world.disk.real(path) if path else ""
        cwd = self._world.disk.real(agent.cwd)
        beside = below_root(kind, (kind.beside,), agent.conversation, cwd) if kind.beside else ()
        root = root_of(self._world, agent, kind)
        sure = captured.found_by in SURE
        return Known(
            captured.conversation,
            path,
            os.path.join(root, beside[0]) if beside else "",
            sure or (kind.database is None and self._is_held(run, path)),
        )

    def _is_held(self, run: Run, path: str) -> bool:
        """Whether a process of the run has this very file open; codex has."""
        kernel = self._world.kernel
        ours = {process.pid for process in (run.keeper, run.process) if process}
        held = kernel.holders((path,)).of(path) if path else ()
        pids = [one.member.process.pid for one in held]
        return any(ours.intersection((pid, *kernel.above(pid))) for pid in pids)

    def _newest(self, paths: list[str]) -> str:
        return max(paths, key=lambda path: self._world.disk.touched_at(path) or 0.0, default="")

    def _sign(self, known: Known, kind: Kind) -> Sign | None:
        """None: could not look. An empty mark: there is none."""
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

    def _turn(self, run: Run, known: Known, kind: Kind, sign: Sign, now: Clock) -> Turn:
        mark, turn = self._turns.get(run.id, ("", Turn.UNKNOWN))
        if mark == f"{known.path} {sign.mark}" or not kind.dialect:
            return turn
        disk, since = self._world.disk, _begun(run, now)
        if kind.database is not None:
            rows = disk.query(known.path, kind.database.tail, {"id": known.conversation}) or []
            turn = turn_of(kind.dialect, "\n".join(reversed(rows)).encode(), since)
        else:
            for limit in (SHORT, LONG):
                turn = turn_of(kind.dialect, disk.tail(known.path, limit) or b"", since)
                if turn is not Turn.UNKNOWN:
                    break
        self._turns[run.id] = (f"{known.path} {sign.mark}", turn)
        return turn


def _begun(run: Run, now: Clock) -> str:
    """When its process began, as conversations write times; an adopted one is older than its run.

    Should the clock have been set since, a turn counts for less than it could: nobody is harmed.
    """
    born = born_of(run)
    at = born.wall - 1.0
    if not born.wall and run.process is not None:
        at = now.wall - now.up + run.process.start / TICKS - 1.0
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S") if at > 0 else ""
