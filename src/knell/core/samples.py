"""What the watch saw of a run, half-minute by half-minute: 24 hours in a small file, as a ring.

Each half-minute of the day has its own slot, so that nothing says where the ring begins: whoever
reads it sorts by time, and drops what is older than a day.
"""

import struct
from typing import NamedTuple

from knell.core.stall.verdict import Activity

STEP = 30  # seconds
DAY = 86400
SLOTS = DAY // STEP
NAME = "samples"  # of the file in a run's directory
_RECORD = struct.Struct("<IHIB")  # seconds since 1970, percent, kilobytes, activity
SIZE = _RECORD.size * SLOTS  # 31,680 bytes
_NO_CPU, _NO_MEMORY = 0xFFFF, 0xFFFFFFFF
# The file has their places: a new one goes to the end.
_ACTIVITIES: tuple[str, ...] = tuple(one.value for one in Activity)
AHEAD = 60  # seconds that a sample may lie in the future: clocks are set


class Sample(NamedTuple):
    at: int  # seconds since 1970
    activity: str
    cpu_percent: float | None = None
    memory_mb: float | None = None


def place(at: int) -> int:
    """The offset of its slot in the file."""
    return at // STEP % SLOTS * _RECORD.size


def packed(sample: Sample) -> bytes:
    cpu, memory = sample.cpu_percent, sample.memory_mb
    return _RECORD.pack(
        sample.at,
        _NO_CPU if cpu is None else min(round(max(0.0, cpu)), _NO_CPU - 1),
        _NO_MEMORY if memory is None else min(round(max(0.0, memory) * 1024), _NO_MEMORY - 1),
        _ACTIVITIES.index(sample.activity),
    )


def unpacked(content: bytes, now: float) -> list[Sample]:
    """Those of the last 24 hours, the oldest first. An agent could have written the file: what
    cannot be is left out."""
    whole = content[: len(content) // _RECORD.size * _RECORD.size]
    found: list[Sample] = []
    records: list[tuple[int, int, int, int]] = list(_RECORD.iter_unpack(whole))
    for at, cpu, kilobytes, activity in records:
        if now - DAY <= at <= now + AHEAD and activity < len(_ACTIVITIES):
            percent = None if cpu == _NO_CPU else float(cpu)
            memory = None if kilobytes == _NO_MEMORY else round(kilobytes / 1024, 1)
            found.append(Sample(at, _ACTIVITIES[activity], percent, memory))
    return sorted(found)


# What a stretch of time counts as, if several were seen in it: the first of these.
_WORST = ("stalled", "unresponsive", "waiting", "working", "idle", "unknown")


class SampleLine(NamedTuple):
    """24 hours in equal stretches, each with the worst that was seen in it."""

    start: int  # of the first stretch, in seconds since 1970
    step: int  # seconds of one
    activity: list[str]  # empty: no watch looked
    cpu_percent: list[float | None]  # the mean
    memory_mb: list[float | None]  # the most


def sample_line(found: list[Sample], now: float, step: int) -> SampleLine:
    count = DAY // step
    start = (int(now) // step + 1 - count) * step
    parts: list[list[Sample]] = [[] for _ in range(count)]
    for one in found:
        if 0 <= (place := (one.at - start) // step) < count:
            parts[place].append(one)
    seen = [{one.activity for one in part} for part in parts]
    return SampleLine(
        start,
        step,
        [next((word for word in _WORST if word in words), "") for words in seen],
        [_mean([one.cpu_percent for one in part]) for part in parts],
        [max((one.memory_mb or 0.0 for one in part), default=None) for part in parts],
    )


def _mean(numbers: list[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return round(sum(known) / len(known), 1) if known else None
