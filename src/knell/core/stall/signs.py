"""Signs of life: what a look at a run can show."""

from enum import StrEnum
from typing import NamedTuple

from knell.core.run import Run
from knell.core.times import seconds_since_1970

TICKS = 100.0  # a second, the unit in which the kernel gives start times


class Turn(StrEnum):
    """Who must act next, by the end of the conversation."""

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

    @property
    def booted(self) -> float:
        """When this boot began by the wall clock; it changes only when that clock is set."""
        return self.wall - self.up

    @property
    def suspended(self) -> float:
        """Seconds of sleep since boot."""
        return self.up - self.awake


class Sign(NamedTuple):
    """One sign of life as it is now: another mark is a new sign."""

    mark: str
    wall: float = 0.0  # when it was given, where files tell; else 0


class Connection(NamedTuple):
    """One connection of a run to others, and how many bytes it has carried."""

    id: str
    received: int
    sent: int


class Traffic(NamedTuple):
    """What a run exchanges with others, and what its tools read and write."""

    connections: tuple[Connection, ...] | None = None  # to others; None: could not look
    tools: int | None = None  # bytes that its tools have read and written so far


class SignRecord(NamedTuple):
    """The sign, or why there is none; `unseen` if there may be one but it could not be read."""

    sign: Sign | None = None
    odd: tuple[str, ...] = ()
    unseen: bool = False
    turn: Turn = Turn.UNKNOWN
    asks: str = ""
    limited: str = ""
    retries: str = ""
    busy: bool | None = None  # whether the screen shows a running turn; None: it shows neither
    rests: bool = False  # whether the screen shows that it waits for a prompt


class Look(NamedTuple):
    """What can be seen of a run. A sign is None where there is nothing that could show it."""

    at: Clock
    alive: bool | None = True  # its process; None: could not look
    state: str = "S"  # the kernel's letter
    beat: Sign | None = None
    conversation: Sign | None = None
    output: Sign | None = None  # its screen without what merely blinks, or its log
    cpu: float | None = None  # seconds used by its processes so far, a drawing program's own not
    traffic: Traffic = Traffic()  # empty where it was not looked at
    stopped: tuple[str, ...] = ()  # its children in state T or D
    hung_up: int = 0  # connections that the other side has closed and it has not; it has no other
    turn: Turn = Turn.UNKNOWN
    asks: str = ""  # the question on its screen
    limited: str = ""  # the notice of a spent quota
    retries: str = ""  # the notice that it tries its model again by itself
    odd: tuple[str, ...] = ()  # what could not be read, or is not believed
    unseen: tuple[str, ...] = ()  # signs that could not be read: their age does not grow
    notes: tuple[str, ...] = ()  # what speaks neither for nor against it
    cpu_total: float | None = None  # seconds of all its processes; this and the next two are shown
    memory_mb: float | None = None  # of all its processes together; no verdict uses it
    processes: int | None = None  # how many it has, its keeper not counted


class StartTime(NamedTuple):
    """When a run began, by the wall and by the machine: they differ if the clock was set."""

    wall: float
    up: float


def start_time(run: Run) -> StartTime:
    """When the run began by both clocks; zeros for an adopted one, which is older than its run."""
    at = seconds_since_1970(run.started_at)
    if at is None or run.process is None or run.keeper is None:
        return StartTime(0.0, 0.0)
    return StartTime(at, run.process.start / TICKS)


class Vital(NamedTuple):
    """What the kernel shows of a run."""

    alive: bool | None = None  # its own process; None: could not look
    state: str = "?"
    # Seconds, of its keeper and all below it, the reaped among them; without what a program that
    # draws has used itself.
    cpu: float | None = None
    stopped: tuple[str, ...] = ()
    hung_up: int = 0
    notes: tuple[str, ...] = ()
    cpu_total: float | None = None
    memory_mb: float | None = None
    processes: int | None = None


class FileSeen(NamedTuple):
    """What stands under a name, links not followed."""

    what: str  # file, directory, link, other, or nothing
    size: int = 0
    at: int = 0  # nanoseconds, by the wall


def is_held(look: Look) -> bool:
    """Whether it waits for an answer, its quota, its next try, or to be continued after a stop."""
    return bool(look.asks or look.limited or look.retries) or look.state in "Tt"


def troubles(look: Look) -> tuple[str, ...]:
    """What keeps an agent from continuing by itself."""
    many = "a connection" if look.hung_up == 1 else f"{look.hung_up} connections"
    closed = f"{many} closed by the other side" if look.hung_up else ""
    return (*look.stopped, *((closed,) if closed else ()))
