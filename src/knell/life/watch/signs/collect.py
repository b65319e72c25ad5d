"""Collects the signs of life of many runs at once, from the kernel, files and screens.

A sign that could not be read is reported as unread, and makes no run look older.
"""

import os
from collections.abc import Mapping, Sequence

from knell.core.agent import Agent
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.run import Place, Run
from knell.core.stall.memory import Memory
from knell.core.stall.signs import (
    Clock,
    Look,
    Sign,
    SignRecord,
    Traffic,
    Turn,
    start_time,
)
from knell.core.times import seconds_since_1970
from knell.life.watch.signs.conversation import ConversationReader
from knell.life.watch.signs.screen import ScreenReader

CALM = 20.0  # seconds without heartbeat and conversation: only then is a screen worth reading
AHEAD = 5.0  # seconds by which a heartbeat may be ahead of our clock before it is not believed
ECHO = 1.0  # seconds: the store repeats the file's time, which the watch copied there


_WAITS = (Turn.OPEN, Turn.TOOL)  # for a model that may be heard, or a tool that may be seen


class SignCollector:
    """Keeps between rounds what is expensive to find out; a new one finds the same, more slowly."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._reader = ConversationReader(world)
        self._screens = ScreenReader(world)

    def collect(
        self, runs: Sequence[Run], agents: Mapping[str, Agent], past: Mapping[str, Memory]
    ) -> dict[str, Look]:
        """The signs of each run of this host, by run; `agents` has the agent of each run."""
        world = self._world
        here = [run for run in runs if run.host == world.host]
        self._reader.forget({run.id for run in here})
        at = world.clock()
        beats = {run.id: read_heartbeat(world, run, past.get(run.id), at) for run in here}
        kinds = {run: world.kinds.kind_or_command(agent.kind) for run, agent in agents.items()}
        programs = {run: kind.runs_in for run, kind in kinds.items() if kind.program}
        vitals = world.processes.vitals(here, programs)
        talks = {run.id: self._reader.read(run, agents[run.id], kinds[run.id], at) for run in here}
        calm = {
            run: before.output.mark if before and before.output else ""
            for run in beats
            if _is_calm(before := past.get(run), at, beats[run], talks[run])
        }
        shows = self._screens.read(here, kinds, calm, at)
        silent = [run for run in here if run.id in calm and talks[run.id].turn in _WAITS]
        moved = world.processes.traffic(silent, programs) if silent else {}
        found: dict[str, Look] = {}
        for run in here:
            show = shows[run.id]
            records = {"beat": beats[run.id], "conversation": talks[run.id], "output": show}
            found[run.id] = Look(
                at=at,
                **{name: record.sign for name, record in records.items()},
                turn=turn_shown(talks[run.id].turn, kinds[run.id], run.place, show),
                asks=show.asks,
                limited=show.limited,
                retries=show.retries,
                traffic=moved.get(run.id, Traffic()),
                odd=tuple(why for record in records.values() for why in record.odd),
                unseen=tuple(name for name, record in records.items() if record.unseen),
                **vitals[run.id]._asdict(),
            )
        return found


def _is_calm(past: Memory | None, now: Clock, beat: SignRecord, talk: SignRecord) -> bool:
    """Whether neither has changed for a while; a run that was never seen before is calm."""
    if past is None or past.at.boot != now.boot:
        return True
    passed = now.awake - past.at.awake
    for record, trace in ((beat, past.beat), (talk, past.conversation)):
        sign = record.sign
        if sign and (trace is None or trace.mark != sign.mark or trace.quiet + passed < CALM):
            return False
    return True


def turn_shown(by_file: Turn, kind: Kind, place: Place, show: SignRecord) -> Turn:
    """Whose turn the file says it is, unless the screen contradicts it.

    A running tool shows on the screen; without a screen, an open question may hold the tool."""
    if show.asks or show.limited or show.retries or place.log:
        return by_file
    if show.busy is None:
        return Turn.UNKNOWN if by_file is Turn.TOOL and not show.unseen else by_file
    if show.busy:
        return Turn.UNKNOWN if by_file is Turn.DONE else by_file
    if by_file is Turn.OPEN and not kind.busy_in_answers and not show.rests:
        return by_file
    if by_file in _WAITS:
        return Turn.UNKNOWN
    return Turn.DONE if show.rests else by_file


def read_heartbeat(world: World, run: Run, past: Memory | None, now: Clock) -> SignRecord:
    """The last beat. Anything but a plain file counts as no beat, and the record says so."""
    file = world.disk.seen(os.path.join(world.rundir(run.id), "heartbeat"))
    if file is None:
        return SignRecord(odd=("its heartbeat file could not be looked at",), unseen=True)
    odd: list[str] = []
    if file.what not in ("file", "nothing"):
        odd.append(f"its heartbeat file is not believed: no file but a {file.what}")
    touched = file.at if file.what == "file" else 0
    stored = seconds_since_1970(run.heartbeat) if run.heartbeat else None
    if run.heartbeat and stored is None:
        odd.append("its heartbeat in the store is not believed: no time")
    if not touched and stored is None:
        return SignRecord(odd=tuple(odd))
    wall = max(touched / 1e9, stored or 0.0)
    if wall > now.wall + AHEAD:
        odd.append("its heartbeat lies in the future; only a change of it counts")
        wall = 0.0
    elif wall < start_time(run).wall - AHEAD:
        odd.append("its heartbeat lies before its start; only a change of it counts")
        wall = 0.0
    mark = _mark(touched, stored, past.beat.mark if past and past.beat else "")
    return SignRecord(Sign(mark, wall), tuple(odd))


def _mark(touched: int, stored: float | None, before: str) -> str:
    """Changes with either time, but not when one merely repeats the other."""
    second = "" if stored is None else f"{stored:.3f}"
    if touched and stored is not None and abs(stored - touched / 1e9) < ECHO:
        second = before.partition(" ")[2]
    return f"{touched} {second}"
