"""Signs of life: what a look at a run can show, and for how long each sign has stood still.

Only time counts in which the machine was awake, somebody looked and nothing held the agent, so that
a suspended machine, a changed clock, a paused watcher or a question left open age nobody.
"""

import math
from enum import StrEnum
from typing import NamedTuple

BUSY = 0.1  # of a core; an idle screen program blinks with less
JUMP = 5.0  # seconds by which a clock may wander without having been set


class Turn(StrEnum):
    """Who must act next, as the end of its conversation tells."""

    OPEN = "open"  # the model
    TOOL = "tool"  # a tool that was called
    DONE = "done"  # a person
    UNKNOWN = ""


class Clock(NamedTuple):
    """One moment by every clock that matters."""

    wall: float  # can be set
    awake: float  # seconds since boot; stands still while the machine sleeps
    up: float  # seconds since boot, sleep included
    boot: str


class Sign(NamedTuple):
    """One sign of life as it is now: another mark is a new sign."""

    mark: str
    wall: float = 0.0  # when it was given, where files tell; else 0


class Look(NamedTuple):
    """What can be seen of a run. A sign is None where there is nothing that could show it."""

    at: Clock
    alive: bool | None = True  # its process; None: could not look
    state: str = "S"  # the kernel's letter
    beat: Sign | None = None
    conversation: Sign | None = None
    output: Sign | None = None  # its screen without what merely blinks, or its log
    cpu: float | None = None  # seconds used by all its processes so far
    stopped: tuple[str, ...] = ()  # its children in state T or D
    hung_up: int = 0  # connections that the other side has closed and it has not; it has no other
    turn: Turn = Turn.UNKNOWN
    asks: str = ""  # the question on its screen
    limited: str = ""  # the notice of a spent quota
    odd: tuple[str, ...] = ()  # what could not be looked at, or is not believed
    unseen: tuple[str, ...] = ()  # signs that could not be looked at: they do not age
    notes: tuple[str, ...] = ()  # what speaks neither for nor against it


class Trace(NamedTuple):
    mark: str
    quiet: float = 0.0  # seconds, awake, watched and not held, since the mark changed


class Memory(NamedTuple):
    """What looks so far have shown of one run."""

    at: Clock
    beat: Trace | None = None
    conversation: Trace | None = None
    output: Trace | None = None
    cpu: Trace | None = None
    trouble: Trace | None = None


class Born(NamedTuple):
    """When a run began, by the wall and by the machine: together they tell a set clock."""

    wall: float
    up: float


class Vital(NamedTuple):
    """What the kernel shows of a run."""

    alive: bool | None = None  # its own process; None: could not look
    state: str = "?"
    cpu: float | None = None  # seconds, of its keeper and all below it, the reaped among them
    stopped: tuple[str, ...] = ()
    hung_up: int = 0
    notes: tuple[str, ...] = ()


class FileSeen(NamedTuple):
    """What stands under a name, links not followed."""

    what: str  # file, directory, link, other, or nothing
    size: int = 0
    at: int = 0  # nanoseconds, by the wall


# -- memory ------------------------------------------------------------------------------------


def remembered(past: Memory | None, look: Look, born: Born, longest: float = math.inf) -> Memory:
    """The memory after this look. No more than `longest` seconds are counted since the last one:
    whoever looks every 15 s and finds 10 minutes gone was stopped, and so may everybody have been.
    """
    same = past is not None and past.at.boot == look.at.boot
    passed = min(max(0.0, look.at.awake - past.at.awake), longest) if past and same else 0.0
    if is_held(look):  # let go after an hour, it needs its time to give the next sign
        passed = 0.0

    def trace(name: str, sign: Sign | None) -> Trace | None:
        before: Trace | None = getattr(past, name, None)
        if name in look.unseen:
            return before or Trace("")
        if sign is None:
            return None
        if past is None or before is None:
            return Trace(sign.mark, first_age(look.at, sign, born) if past is None else 0.0)
        return Trace(sign.mark, before.quiet + passed if sign.mark == before.mark else 0.0)

    trouble = "; ".join(troubles(look))
    return Memory(
        at=look.at,
        beat=trace("beat", look.beat),
        conversation=trace("conversation", look.conversation),
        output=trace("output", look.output),
        cpu=_cpu(past.cpu if past else None, look.cpu, passed),
        trouble=trace("trouble", Sign(trouble) if trouble else None),
    )


def first_age(now: Clock, sign: Sign, born: Born) -> float:
    """How old a sign surely is that nobody saw being given; 0 where the clocks cannot be trusted.

    All sleep since boot is taken off, for nobody knows when it was slept."""
    set_by = (now.wall - now.up) - (born.wall - born.up)
    if not sign.wall or abs(set_by) > JUMP:
        return 0.0
    return max(0.0, now.wall - sign.wall - (now.up - now.awake))


def _cpu(before: Trace | None, used: float | None, passed: float) -> Trace | None:
    """Counts as a sign of life from a tenth of a core on; a falling sum means that one has left."""
    if used is None:
        return None
    if before is None:
        return Trace(repr(used))
    spent = used - float(before.mark)
    busy = spent < 0 or (passed > 0 and spent / passed >= BUSY)
    return Trace(repr(used), 0.0 if busy else before.quiet + passed)


def is_held(look: Look) -> bool:
    """Whether it waits for somebody else: its question, its quota, or who stopped its process."""
    return bool(look.asks or look.limited) or look.state in "Tt"


def troubles(look: Look) -> tuple[str, ...]:
    """What keeps an agent from going on by itself."""
    many = "a connection" if look.hung_up == 1 else f"{look.hung_up} connections"
    closed = f"{many} closed by the other side" if look.hung_up else ""
    return (*look.stopped, *((closed,) if closed else ()))


# -- as text, for the store --------------------------------------------------------------------


def memory_parts(memory: Memory) -> dict[str, object]:
    """Plain values that JSON can hold."""
    return {key: value if value is None else list(value) for key, value in memory._asdict().items()}


def memory_from(parts: dict[str, object]) -> Memory | None:
    """Reads what `memory_parts` wrote; None for anything else: then a run is looked at afresh."""
    try:
        clock, *traces = (parts[key] for key in Memory._fields)
        memory = Memory(
            _clock(clock),
            *(None if trace is None else _trace(trace) for trace in traces),
        )
        return None if memory.cpu and not math.isfinite(float(memory.cpu.mark)) else memory
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _clock(value: object) -> Clock:
    wall, awake, up, boot = value  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    return Clock(_finite(wall), _finite(awake), _finite(up), str(boot))  # pyright: ignore[reportUnknownArgumentType]


def _trace(value: object) -> Trace:
    mark, quiet = value  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    return Trace(str(mark), _finite(quiet))  # pyright: ignore[reportUnknownArgumentType]


def _finite(value: float) -> float:
    """A number that compares: with a NaN for its silence, anybody would count as stalled."""
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(value)
    return number
