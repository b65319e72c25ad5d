"""Decides from an agent's signs of life whether it still works.

A verdict may be "unknown"; only agents that are "stalled" are ever ended.
"""

from enum import StrEnum
from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.ladder import LONGEST_WAIT, checked_seconds
from knell.core.run import Run
from knell.core.stall.memory import Memory, Trace
from knell.core.stall.signs import TICKS, Look, Turn, troubles

BEAT = 120.0  # seconds without a heartbeat after which an agent counts as stalled
LATE = 60.0  # seconds, two beats of 30, after which an agent that promised to beat is unresponsive
TOOL = 900.0  # an open turn may be silent for longer: tools and thinking take their time


# What counts besides a missing heartbeat in the orchestrator's commands.
SPARING, HEARTBEAT = "all", "heartbeat"


class Activity(StrEnum):
    WORKING = "working"
    IDLE = "idle"  # its turn is over; it waits for its next prompt
    UNRESPONSIVE = "unresponsive"  # it has missed two heartbeats; not stalled yet
    WAITING = "waiting"  # for an answer, a quota, or to be continued after a stop
    STALLED = "stalled"
    UNKNOWN = "unknown"


class StallLimits(NamedTuple):
    """Seconds of silence after which an agent counts as stalled."""

    beat: float = BEAT
    tool: float = TOOL
    late: float = LATE  # seconds without a promised heartbeat after which it is unresponsive
    evidence: str = ""  # the orchestrator's rule of heartbeats holds: SPARING, or HEARTBEAT alone


class SignEvidence(NamedTuple):
    speaks: str  # for life, against, neither, unseen
    what: str


class Verdict(NamedTuple):
    activity: Activity
    why: str
    quiet: float | None = None  # seconds since the last sign of life, if one was ever seen
    evidence: tuple[SignEvidence, ...] = ()
    spared: str = ""  # why the rule of heartbeats alone would have called it stalled


class Judgement(NamedTuple):
    """A run, the verdict on it, and what the verdict was made from."""

    run: Run
    agent: Agent
    verdict: Verdict
    look: Look
    memory: Memory
    reported: str = ""  # the activity that the watch last reported


def judge(look: Look, memory: Memory, *, promised: bool, limits: StallLimits) -> Verdict:
    """`promised`: the agent's own program beats, and so has promised to go on beating.

    A program whose hooks beat at each step has promised nothing: it is silent while it thinks, and
    while it waits for a prompt.
    """
    activity, why = _decided(look, memory, limits, promised=promised)
    last_sign = memory.beat.quiet if memory.beat else _stillness(memory)
    if activity is Activity.WORKING and not memory.beat:
        last_sign = _last_sign(memory, limits)
    return Verdict(activity, why, last_sign, _evidence(look, memory, limits))


def _decided(
    look: Look, memory: Memory, limits: StallLimits, *, promised: bool
) -> tuple[Activity, str]:
    if held := _held(look):
        return held
    if look.turn is Turn.DONE:
        return Activity.IDLE, "its turn is over"
    if _moved(memory.conversation, limits):
        return Activity.WORKING, "its conversation grows"
    return _by_beat(memory.beat, limits, promised=promised) or _unpromised(look, memory, limits)


def _by_beat(
    beat: Trace | None, limits: StallLimits, *, promised: bool
) -> tuple[Activity, str] | None:
    """What the heartbeat alone decides; nothing once it is old and was never promised."""
    if beat is None or (beat.quiet > limits.beat and not promised):
        return None
    silent = f"no heartbeat for {beat.quiet:.0f} s"
    if beat.quiet > limits.beat:
        return Activity.STALLED, silent
    if promised and beat.quiet > limits.late:
        return Activity.UNRESPONSIVE, silent
    return Activity.WORKING, f"it beat {beat.quiet:.0f} s ago"


def by_heartbeat(
    verdict: Verdict, one: Judgement, limits: StallLimits, *, launched: bool
) -> Verdict:
    """The verdict by the orchestrator's rule: stalled is an agent that has not beaten for too long,
    or since its start if the orchestrator launched it and it never beat. Other evidence that it
    lives spares it, unless `limits.evidence` leaves none but the heartbeat."""
    look, memory, process = one.look, one.memory, one.run.process
    if memory.beat:
        silent, since = memory.beat.quiet, ""
    elif launched and process:
        silent, since = look.at.up - process.start / TICKS, ", since its start"
    else:
        return verdict
    if not look.alive or silent <= limits.beat:
        return verdict
    why = f"no heartbeat for {silent:.0f} s{since}"
    if limits.evidence == SPARING and _shows_life(verdict, memory, limits):
        return verdict._replace(spared=why)
    return verdict._replace(activity=Activity.STALLED, why=why, quiet=silent)


def _shows_life(verdict: Verdict, memory: Memory, limits: StallLimits) -> bool:
    """Whether a sign was seen to change, or whether its silence is explained."""
    if verdict.activity is not Activity.WORKING:
        return verdict.activity in (Activity.IDLE, Activity.WAITING)
    return any(_moved(one, limits) for one in _traces(memory))


def _moved(trace: Trace | None, limits: StallLimits) -> bool:
    """Whether it was seen to change, or a file says when it did, and not too long ago. What merely
    stood there at the first look is no sign of life."""
    return bool(trace and trace.changed and trace.quiet <= limits.beat)


def _last_sign(memory: Memory, limits: StallLimits) -> float | None:
    """Seconds since the newest sign that was seen to change, heartbeats aside."""
    moved = (one.quiet for one in _traces(memory) if one and _moved(one, limits))
    return min(moved, default=None)


def _traces(memory: Memory) -> tuple[Trace | None, ...]:
    """Every sign of life but the heartbeat."""
    return (memory.conversation, memory.output, memory.cpu, memory.stream, memory.tools)


def _held(look: Look) -> tuple[Activity, str] | None:
    """The verdicts that do not depend on how long the agent was silent."""
    if look.alive is None:
        return Activity.UNKNOWN, "its process could not be looked at"
    if not look.alive:
        return Activity.UNKNOWN, "its process is gone"
    reasons = {
        f"it asks: {look.asks}": look.asks,
        f"its quota is spent: {look.limited}": look.limited,
        f"it tries its model again by itself: {look.retries}": look.retries,
        "its process is stopped (SIGSTOP or Ctrl-Z)": look.state in ("T", "t"),
    }
    why = next((why for why, holds in reasons.items() if holds), "")
    return (Activity.WAITING, why) if why else None


def _unpromised(look: Look, memory: Memory, limits: StallLimits) -> tuple[Activity, str]:
    """No promise was broken: only an agent that surely cannot continue by itself is stalled."""
    quiet = _stillness(memory)
    if quiet is None:
        return Activity.UNKNOWN, "nothing of it can be watched"
    if quiet <= limits.beat:
        last_sign = _last_sign(memory, limits)
        if last_sign is not None:
            return Activity.WORKING, f"its last sign of life is {last_sign:.0f} s old"
        return Activity.UNKNOWN, f"nothing has moved in the {quiet:.0f} s that it was watched"
    open_turn = look.turn in (Turn.OPEN, Turn.TOOL)
    if open_turn and quiet > limits.tool:
        return Activity.STALLED, f"its turn is open, and nothing has moved for {quiet:.0f} s"
    if _is_stuck(look, memory, limits):
        return Activity.STALLED, f"nothing has moved for {quiet:.0f} s: {'; '.join(troubles(look))}"
    thinks = f"its turn is open; silent for {quiet:.0f} s, perhaps thinking"
    rests = f"silent for {quiet:.0f} s, which may be normal for it"
    return Activity.UNKNOWN, thinks if open_turn else rests


def _is_stuck(look: Look, memory: Memory, limits: StallLimits) -> bool:
    """Whether what it waits for can no longer come: its tool is stopped, or its model has hung up.

    Only if that happened after its last word: what was there before (a job in the background, a
    closed connection in a pool) is not what it waits for."""
    waits_in_vain = bool(look.stopped if look.turn is Turn.TOOL else look.hung_up)
    trouble, word = memory.trouble, memory.conversation
    if look.turn not in (Turn.OPEN, Turn.TOOL) or not waits_in_vain or not trouble or not word:
        return False
    return limits.beat <= trouble.quiet <= word.quiet


def _stillness(memory: Memory) -> float | None:
    """Seconds since anything changed, heartbeats aside."""
    return min((trace.quiet for trace in _traces(memory) if trace), default=None)


_WORDS = {
    "beat": "heartbeat",
    "conversation": "conversation",
    "output": "output",
    "cpu": "CPU time",
    "stream": "connections",
    "tools": "its tools' files and pipes",
}
_TURNS = {
    Turn.OPEN: SignEvidence("for", "its conversation waits for the model"),
    Turn.TOOL: SignEvidence("for", "its conversation waits for a tool"),
    Turn.DONE: SignEvidence("neither", "its conversation waits for a person"),
}


def _evidence(look: Look, memory: Memory, limits: StallLimits) -> tuple[SignEvidence, ...]:
    """Every sign, and whether it speaks for or against the agent being at work."""
    found: list[SignEvidence] = []
    for field, word in _WORDS.items():
        trace: Trace | None = getattr(memory, field)
        if field in look.unseen:
            found.append(SignEvidence("unseen", f"{word}: not looked at"))
        elif trace is None:
            never = "never seen" if field == "beat" else "nothing to watch"
            found.append(SignEvidence("neither", f"{word}: {never}"))
        elif trace.quiet > limits.beat:
            found.append(SignEvidence("against", f"{word}: unchanged for {trace.quiet:.0f} s"))
        elif trace.changed:
            found.append(SignEvidence("for", f"{word}: changed {trace.quiet:.0f} s ago"))
        else:  # watched for too short a time to say anything
            watched = f"unchanged in the {trace.quiet:.0f} s that it was watched"
            found.append(SignEvidence("neither", f"{word}: {watched}"))
    if look.turn in _TURNS:
        found.append(_TURNS[look.turn])
    found += [SignEvidence("against", one) for one in troubles(look)]
    shown = [f"on its screen: {text}" for text in (look.asks, look.limited, look.retries) if text]
    found += [SignEvidence("neither", one) for one in (*shown, *look.notes)]
    found += [SignEvidence("unseen", one) for one in look.odd]
    return tuple(found)


def checked_patience(seconds: float) -> float:
    """`seconds` if it makes sense; with 0 every agent would be stalled."""
    hint = "give it in seconds, for example 120"
    return checked_seconds("a heartbeat timeout", seconds, (1, LONGEST_WAIT), hint)
