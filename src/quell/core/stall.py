"""Whether an agent still works, judged from its signs of life.

A verdict may abstain ("unknown"), and only "stalled" is ever ended.
"""

import math
from enum import StrEnum
from typing import NamedTuple

from quell.core.errors import BadRequest
from quell.core.ladder import LONGEST_WAIT
from quell.core.signs import Look, Memory, Trace, Turn, troubles

BEAT = 120.0  # seconds without a heartbeat after which an agent counts as stalled
TOOL = 900.0  # an open turn may be silent for longer: tools and thinking take their time


class Activity(StrEnum):
    WORKING = "working"
    IDLE = "idle"  # its turn is over; it waits to be told something
    WAITING = "waiting"  # for a person, a quota, or whoever stopped it
    STALLED = "stalled"
    UNKNOWN = "unknown"


class Patience(NamedTuple):
    beat: float = BEAT
    tool: float = TOOL


class Evidence(NamedTuple):
    speaks: str  # for life, against, neither, unseen
    what: str


class Verdict(NamedTuple):
    activity: Activity
    why: str
    quiet: float | None = None  # seconds since the last sign of life, if one was ever seen
    evidence: tuple[Evidence, ...] = ()


def judge(look: Look, memory: Memory, *, vowed: bool, patience: Patience) -> Verdict:
    """`vowed`: its heartbeat is its own promise, not a by-product of hooks that rest when it does.

    A plain command that beats has promised to go on beating; a program whose hooks beat at each
    step is silent while it thinks, and while nobody talks to it.
    """
    activity, why = _decided(look, memory, patience, vowed=vowed)
    return Verdict(activity, why, _last_sign(memory), _evidence(look, memory, patience))


def _decided(
    look: Look, memory: Memory, patience: Patience, *, vowed: bool
) -> tuple[Activity, str]:
    held = _held(look)
    if held:
        return held
    beat, grew = memory.beat, _fresh(memory.conversation, patience.beat)
    if (beat and beat.quiet <= patience.beat) or grew:
        if look.turn is Turn.DONE:
            return Activity.IDLE, "its turn is over"
        last = f"it beat {beat.quiet:.0f} s ago" if beat and not grew else "its conversation grows"
        return Activity.WORKING, last
    if look.turn is Turn.DONE:
        return Activity.IDLE, "its turn is over"
    if beat and vowed:
        return Activity.STALLED, f"no heartbeat for {beat.quiet:.0f} s"
    return _unpromised(look, memory, patience)


def _held(look: Look) -> tuple[Activity, str] | None:
    """What settles it before any clock is asked."""
    if look.alive is None:
        return Activity.UNKNOWN, "its process could not be looked at"
    if not look.alive:
        return Activity.UNKNOWN, "its process is gone"
    if look.asks:
        return Activity.WAITING, f"it asks: {look.asks}"
    if look.limited:
        return Activity.WAITING, f"its quota is spent: {look.limited}"
    if look.state in ("T", "t"):
        return Activity.WAITING, "somebody has stopped its process"
    return None


def _unpromised(look: Look, memory: Memory, patience: Patience) -> tuple[Activity, str]:
    """No promise was broken: only what surely cannot go on by itself is called stalled."""
    quiet = _stillness(memory)
    if quiet is None:
        return Activity.UNKNOWN, "nothing of it can be watched"
    if quiet <= patience.beat:
        return Activity.WORKING, f"its last sign of life is {quiet:.0f} s old"
    open_turn = look.turn in (Turn.OPEN, Turn.TOOL)
    if open_turn and quiet > patience.tool:
        return Activity.STALLED, f"its turn is open, and nothing has moved for {quiet:.0f} s"
    if _is_stuck(look, memory, patience):
        return Activity.STALLED, f"nothing has moved for {quiet:.0f} s: {'; '.join(troubles(look))}"
    if open_turn:
        return Activity.UNKNOWN, f"its turn is open; silent for {quiet:.0f} s, perhaps thinking"
    return Activity.UNKNOWN, f"silent for {quiet:.0f} s, and nothing says that it should not be"


def _is_stuck(look: Look, memory: Memory, patience: Patience) -> bool:
    """Whether what it waits for can no longer come: its tool is stopped, or its model has hung up.

    Only if that came after its last word: what was there before (a job that somebody put into the
    background, a closed connection in a pool) is not what it waits for."""
    waits_in_vain = bool(look.stopped if look.turn is Turn.TOOL else look.hung_up)
    trouble, word = memory.trouble, memory.conversation
    if look.turn not in (Turn.OPEN, Turn.TOOL) or not waits_in_vain or not trouble or not word:
        return False
    return patience.beat <= trouble.quiet <= word.quiet


def _fresh(trace: Trace | None, seconds: float) -> bool:
    return trace is not None and trace.quiet <= seconds


def _stillness(memory: Memory) -> float | None:
    """Since when nothing moved at all, heartbeats aside."""
    traces = (memory.conversation, memory.output, memory.cpu)
    return min((trace.quiet for trace in traces if trace), default=None)


def _last_sign(memory: Memory) -> float | None:
    if memory.beat:
        return memory.beat.quiet
    return _stillness(memory)


_WORDS = (
    ("beat", "heartbeat"),
    ("conversation", "conversation"),
    ("output", "output"),
    ("cpu", "CPU time"),
)
_TURNS = {
    Turn.OPEN: Evidence("for", "its conversation waits for the model"),
    Turn.TOOL: Evidence("for", "its conversation waits for a tool"),
    Turn.DONE: Evidence("neither", "its conversation waits for a person"),
}


def _evidence(look: Look, memory: Memory, patience: Patience) -> tuple[Evidence, ...]:
    """Every sign, and for what it speaks."""
    found: list[Evidence] = []
    for field, word in _WORDS:
        trace: Trace | None = getattr(memory, field)
        if field in look.unseen:
            found.append(Evidence("unseen", f"{word}: not looked at"))
        elif trace is None:
            never = "never seen" if field == "beat" else "nothing to watch"
            found.append(Evidence("neither", f"{word}: {never}"))
        else:
            speaks = "for" if trace.quiet <= patience.beat else "against"
            found.append(Evidence(speaks, f"{word}: unchanged for {trace.quiet:.0f} s"))
    if look.turn in _TURNS:
        found.append(_TURNS[look.turn])
    found += [Evidence("against", one) for one in troubles(look)]
    if look.asks:
        found.append(Evidence("neither", f"on its screen: {look.asks}"))
    if look.limited:
        found.append(Evidence("neither", f"on its screen: {look.limited}"))
    found += [Evidence("neither", one) for one in look.notes]
    found += [Evidence("unseen", one) for one in look.odd]
    return tuple(found)


def checked_patience(seconds: float, what: str = "a heartbeat timeout") -> float:
    """`seconds` if a person can mean it; with 0 everybody would be stalled."""
    if math.isnan(seconds) or not 1 <= seconds <= LONGEST_WAIT:
        raise BadRequest(
            f"{what} of {seconds} seconds is not between 1 and {LONGEST_WAIT:.0f}",
            "give it in seconds, for example 120",
        )
    return seconds
