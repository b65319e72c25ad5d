"""Looks at many runs at once: what the kernel, their files and their screens show of them.

Not seeing is not dying: what could not be looked at is said, and ages nobody.
"""

from collections.abc import Mapping, Sequence

from quell.core.agent import Agent
from quell.core.kind import Kind
from quell.core.ports import World
from quell.core.run import Place, Run
from quell.core.signs import Clock, Look, Memory, Turn, Vital
from quell.life.looking.glance import Glance
from quell.life.looking.pulse import beat_of, born_of
from quell.life.looking.reading import Reader
from quell.life.looking.showing import Shows

__all__ = ["Eyes", "born_of"]

CALM = 20.0  # seconds without heartbeat and conversation: only then a screen is worth its price


class Eyes:
    """Keeps between rounds what is expensive to find out; a fresh pair sees the same, dearer."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._reader = Reader(world)
        self._shows = Shows(world)

    def look(self, runs: Sequence[Run], past: Mapping[str, Memory]) -> dict[str, Look]:
        """What can be seen of each run of this host; `past` is what earlier looks have shown."""
        world = self._world
        here = [run for run in runs if run.host == world.host]
        self._forget({run.id for run in here})
        at = world.clock()
        beats = {run.id: beat_of(world, run, past.get(run.id), at) for run in here}
        vitals = world.kernel.vitals(here)
        known = {agent.name: agent for agent in world.store.agents()}
        agents = {run.id: known.get(run.agent) or Agent(run.agent, "command", "/") for run in here}
        kinds = {run: world.kind(agent.kind) for run, agent in agents.items()}
        talks = {run.id: self._reader.read(run, agents[run.id], kinds[run.id], at) for run in here}
        calm = {run for run in beats if _is_calm(past.get(run), at, beats[run], talks[run])}
        shows = self._shows.look(here, kinds, calm, at)
        found: dict[str, Look] = {}
        for run in here:
            show = shows[run.id]
            glances = {"beat": beats[run.id], "conversation": talks[run.id], "output": show}
            turn = _turn(talks[run.id].turn, kinds[run.id], run.place, show)
            found[run.id] = _composed(at, turn, vitals[run.id], glances)
        return found

    def _forget(self, living: set[str]) -> None:
        self._reader.forget(living)
        self._shows.forget(living)


def _is_calm(past: Memory | None, now: Clock, beat: Glance, talk: Glance) -> bool:
    """Whether neither has moved for a while; a run that was never seen before counts as calm."""
    if past is None or past.at.boot != now.boot:
        return True
    passed = now.awake - past.at.awake
    for glance, trace in ((beat, past.beat), (talk, past.conversation)):
        sign = glance.sign
        if sign and (trace is None or trace.mark != sign.mark or trace.quiet + passed < CALM):
            return False
    return True


def _composed(at: Clock, turn: Turn, vital: Vital, glances: Mapping[str, Glance]) -> Look:
    show = glances["output"]
    return Look(
        at=at,
        alive=vital.alive,
        state=vital.state,
        beat=glances["beat"].sign,
        conversation=glances["conversation"].sign,
        output=show.sign,
        cpu=vital.cpu,
        stopped=vital.stopped,
        hung_up=vital.hung_up,
        turn=turn,
        asks=show.asks,
        limited=show.limited,
        odd=tuple(why for glance in glances.values() for why in glance.odd),
        unseen=tuple(name for name, glance in glances.items() if glance.unseen),
        notes=vital.notes,
    )


def _turn(told: Turn, kind: Kind, place: Place, show: Glance) -> Turn:
    """What the file says, if the screen does not gainsay it: a tool that runs can be seen to, and
    where no screen can be read, it may be a question that keeps the tool from running."""
    if show.asks or show.limited or place.log:
        return told
    if show.busy is None:
        return Turn.UNKNOWN if told is Turn.TOOL and not show.unseen else told
    if show.busy or (told is Turn.OPEN and not kind.busy_in_answers):
        return told
    if told in (Turn.OPEN, Turn.TOOL):
        return Turn.UNKNOWN
    return Turn.DONE if kind.busy_in_answers else told
