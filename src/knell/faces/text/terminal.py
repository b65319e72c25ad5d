"""How wide the terminal is, whether it shows colour, and how times and texts are written for it."""

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

GREEN, DIM, YELLOW, RED, BOLD = "32", "2", "33", "1;31", "1"
OF_ACTIVITY = {
    "working": GREEN, "idle": DIM, "waiting": YELLOW, "unresponsive": YELLOW, "stalled": RED,
}  # fmt: skip
OF_STATE = {"stopping": YELLOW, "spawning": YELLOW, "ended": DIM}
Paint = Callable[[str], str]  # the text of a cell → its colour, empty for none


class Sheet(NamedTuple):
    """What the reader of stdout can be shown."""

    width: int | None = None  # columns; None: no terminal, so that nothing need fit
    colour: bool = False


class _Choice:
    utc = False  # --utc was given


def show_utc() -> None:
    """From now on all times are written in UTC and in full."""
    _Choice.utc = True


def sheet() -> Sheet:
    """What stdout is: a terminal of some width, or a file or pipe, which gets plain text."""
    stream = sys.stdout
    try:
        is_terminal = stream.isatty()
        width = os.get_terminal_size(stream.fileno()).columns if is_terminal else None
    except (OSError, ValueError, AttributeError):  # closed, or no file at all
        is_terminal, width = False, None
    return Sheet(width or None, has_colour(os.environ.get, is_terminal=is_terminal))


def has_colour(env: Callable[[str], str | None], *, is_terminal: bool) -> bool:
    """NO_COLOR forbids it to everybody; FORCE_COLOR gives it also to a pipe."""
    if env("NO_COLOR"):
        return False
    if (env("FORCE_COLOR") or "0") != "0":
        return True
    return is_terminal and env("TERM") not in (None, "", "dumb")


def painted(text: str, colour: str, on: Sheet) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if colour and on.colour and text else text


# -- texts from outside --------------------------------------------------------------------------


def printable(text: str) -> str:
    """The text on one line that cannot move the cursor: names and paths come from outside."""
    if text.isascii() and text.isprintable():  # as nearly always
        return text
    text = "".join(c if c.isprintable() else "?" for c in text)
    return f"\u2068{text}\u2069" if _runs_backwards(text) and sheet().width else text


def _runs_backwards(text: str) -> bool:
    """Whether it has letters that a terminal may write from right to left. Then it is isolated, so
    that what stands beside it keeps its place."""
    if text.isascii():
        return False
    from unicodedata import bidirectional

    return any(bidirectional(c) in ("R", "AL", "AN") for c in text)


def columns(text: str) -> int:
    """How many columns a terminal needs for it."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    zero = "\u2068\u2069\u200b\u200d\ufe0f"
    wide = sum(east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(c in zero or combining(c) > 0 for c in text)


def cut(text: str, width: int) -> str:
    """The text in at most that many columns, with … where something is left out."""
    if columns(text) <= width:
        return text
    if width <= 0:
        return ""
    kept = text[: width - 1]
    while columns(kept) > width - 1:
        kept = kept[:-1]
    return kept + ("\u2069" if "\u2068" in kept else "") + "…"


def fitted(line: str) -> str:
    """The line as far as it fits the terminal; whole in a file or pipe."""
    width = sheet().width
    return cut(line, width) if width else line


# -- times ---------------------------------------------------------------------------------------


def _parsed(iso: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(iso)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def clock(iso: str) -> str:
    """A time for people: of today only the hour, in their own zone; with --utc in full."""
    at = _parsed(iso) if iso else None
    if at is None:
        return iso
    if _Choice.utc:
        return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
    here, now = at.astimezone(), datetime.now().astimezone()
    return f"{here:%H:%M:%S}" if here.date() == now.date() else f"{here:%Y-%m-%d %H:%M:%S}"


def in_full(iso: str) -> str:
    """Date and time in UTC, for what is read elsewhere and later."""
    at = _parsed(iso) if iso else None
    return iso if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def since(iso: str) -> str:
    """How long ago, in one word and `ago`; with --utc the time itself."""
    at = _parsed(iso) if iso else None
    if at is None or _Choice.utc:
        return clock(iso)
    return f"{span(max(0.0, time.time() - at.timestamp()))} ago"


def span(seconds: float) -> str:
    """A length of time in its largest unit: 5s, 3m, 2h, 4d."""
    minute, hour, day = 60, 3600, 86400
    if seconds < minute:
        return f"{seconds:.0f}s"
    if seconds < hour:
        return f"{seconds // minute:.0f}m"
    return f"{seconds // hour:.0f}h" if seconds < 2 * day else f"{seconds // day:.0f}d"


def size(megabytes: float | None) -> str:
    """Memory or disk: 410M, 1.2G."""
    if megabytes is None:
        return ""
    widest = 1000  # four digits would widen the column
    return f"{megabytes:.0f}M" if megabytes < widest else f"{megabytes / 1024:.1f}G"
