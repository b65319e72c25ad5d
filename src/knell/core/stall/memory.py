"""Remembers for how long each sign of life of a run has not changed.

Only time counts in which the machine was awake, a watcher looked and nothing held the agent: so a
suspended machine, a set clock, a paused watcher or an open question makes no agent look silent.
"""

import math
from typing import Any, NamedTuple

from knell.core.stall.signs import Clock, Connection, Look, Sign, StartTime, Turn, is_held, troubles

BUSY = 0.1  # of a core; what merely waits uses less
STREAM = 12.0  # bytes a second; what only keeps a connection alive is less, an answer is more
TRANSFER = 4096.0  # bytes a second either way: more than any question and its answer
ANSWER = 4  # an answer brings so many times more bytes than are sent meanwhile
MOST = 32  # connections that are compared from one look to the next
JUMP = 5.0  # seconds by which a clock may wander without having been set


class Trace(NamedTuple):
    mark: str
    quiet: float = 0.0  # seconds, awake, watched and not held, since the mark changed
    changed: bool = False  # it was seen to change, or a file says when it was given


class Memory(NamedTuple):
    """What looks so far have shown of one run."""

    at: Clock
    beat: Trace | None = None
    conversation: Trace | None = None
    output: Trace | None = None
    cpu: Trace | None = None
    stream: Trace | None = None
    tools: Trace | None = None
    trouble: Trace | None = None


def remembered(
    past: Memory | None, look: Look, start: StartTime, longest: float = math.inf
) -> Memory:
    """The memory after this look. No more than `longest` seconds are counted since the last look:
    a watcher that looks every 15 s and finds 10 minutes gone was stopped, and so may the agents be.
    """
    same = past is not None and past.at.boot == look.at.boot
    passed = min(max(0.0, look.at.awake - past.at.awake), longest) if past and same else 0.0
    if is_held(look):  # once released, it needs time again to give the next sign
        passed = 0.0

    def trace(name: str, sign: Sign | None) -> Trace | None:
        before: Trace | None = getattr(past, name, None)
        if name in look.unseen:
            return before or Trace("")
        if sign is None:
            return None
        if past is None:
            age = first_age(look.at, sign, start)
            return Trace(sign.mark, age or 0.0, changed=age is not None)
        return _aged(before, sign, passed)

    trouble = "; ".join(troubles(look))
    return Memory(
        at=look.at,
        beat=trace("beat", look.beat),
        conversation=trace("conversation", look.conversation),
        output=trace("output", look.output),
        cpu=_cpu(past.cpu if past else None, look.cpu, passed),
        stream=_stream(past.stream if past else None, look.traffic.connections, passed),
        tools=_tools(past.tools if past else None, look, passed),
        trouble=trace("trouble", Sign(trouble) if trouble else None),
    )


def _aged(before: Trace | None, sign: Sign, passed: float) -> Trace:
    if before is not None and sign.mark == before.mark:
        return before._replace(quiet=before.quiet + passed)
    unread = before is not None and not before.mark  # it may have stood there all the time
    return Trace(sign.mark, 0.0, changed=not unread)


def first_age(now: Clock, sign: Sign, start: StartTime) -> float | None:
    """The least age of a sign that was there at the first look; None if nothing tells when it was
    given, or the clocks cannot be trusted.

    All sleep since boot is taken off, because it is not known when the machine slept."""
    set_by = now.booted - (start.wall - start.up)
    if not sign.wall or abs(set_by) > JUMP:
        return None
    return max(0.0, now.wall - sign.wall - now.suspended)


def _cpu(before: Trace | None, used: float | None, passed: float) -> Trace | None:
    """A sign of life from a tenth of a core on; the sum falls when a process has ended."""
    if used is None:
        return None
    if before is None:
        return Trace(repr(used))
    spent = used - float(before.mark)
    busy = spent < 0 or (passed > 0 and spent / passed >= BUSY)
    if busy:
        return Trace(repr(used), 0.0, changed=True)
    return Trace(repr(used), before.quiet + passed, before.changed)


def _stream(
    before: Trace | None, connections: tuple[Connection, ...] | None, passed: float
) -> Trace | None:
    """A sign of life while an answer or a download arrives.

    An answer comes without another question: where as much is sent as received, the program asks
    again and again (telemetry, a poll), which tells nothing of its model. A connection that was
    not there at the last look tells nothing yet."""
    if connections is None:
        return before
    mark = " ".join(f"{one.id}:{one.received}:{one.sent}" for one in connections[:MOST])
    if before is None:
        return Trace(mark)
    known = _carried(before.mark)
    for one in connections:
        got, sent = known.get(one.id, (one.received, one.sent))
        came, went = one.received - got, one.sent - sent
        answer = came >= STREAM * passed and came > ANSWER * went
        if came > 0 and passed > 0 and (answer or came + went >= TRANSFER * passed):
            return Trace(mark, 0.0, changed=True)
    return Trace(mark, before.quiet + passed, before.changed)


def _tools(before: Trace | None, look: Look, passed: float) -> Trace | None:
    """A sign of life while it waits for a tool: the tool reads or writes. At other times what moves
    is a job in the background, or a server that it uses."""
    if look.turn is not Turn.TOOL or look.traffic.tools is None:
        return None
    mark = str(look.traffic.tools)
    return _aged(before, Sign(mark), passed) if before else Trace(mark)


def _carried(mark: str) -> dict[str, tuple[int, int]]:
    """What each connection had received and sent, from the mark of the look before."""
    parts = [word.split(":") for word in mark.split()]
    return {id: (int(received), int(sent)) for id, received, sent in parts}


# -- as text, for the store --------------------------------------------------------------------


def memory_parts(memory: Memory) -> dict[str, object]:
    """Plain values that JSON can hold."""
    return {key: value if value is None else list(value) for key, value in memory._asdict().items()}


def memory_from(parts: dict[str, Any]) -> Memory | None:
    """Reads what `memory_parts` wrote; None for anything else: then the first look is repeated."""
    try:
        wall, awake, up, boot = parts["at"]
        clock = Clock(_finite(wall), _finite(awake), _finite(up), str(boot))
        memory = Memory(clock, *(_trace(parts[name]) for name in Memory._fields[1:]))
        _carried(memory.stream.mark if memory.stream else "")
        return None if memory.cpu and not math.isfinite(float(memory.cpu.mark)) else memory
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _trace(value: Any) -> Trace | None:
    if value is None:
        return None
    mark, quiet, changed = value
    return Trace(str(mark), _finite(quiet), bool(changed))


def _finite(value: float) -> float:
    """A finite number: with a NaN as its silence, every agent would count as stalled."""
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(value)
    return number
