"""Shows on a terminal's stderr what takes longer than half a second; a pipe gets nothing of it."""

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress

from knell.faces.text.terminal import columns, cut, printable, span

PATIENCE = 0.5  # seconds without a word
EVERY = 0.2  # seconds between two pictures
MOST_LINES = 12
Picture = Callable[[], list[str]]


@contextmanager
def show_endings(limits: Mapping[str, float]) -> Generator[None]:
    """Shows a line for each run while it is ended: `nova  TERM 1.4/2 s  3 of 5 gone`.

    `limits`: how long each rung may take."""
    from knell.api import Knell
    from knell.faces.text.endings import progress_words

    knell = Knell()  # a store of its own: this one is read in another thread

    def picture() -> list[str]:
        underway = knell.endings_underway()
        return [f"{one.agent}  {progress_words(one, limits)}" for one in underway]

    with _showing(picture):
        yield


@contextmanager
def show_wait(what: str) -> Generator[None]:
    """Shows what takes its time, and for how long."""
    began = time.monotonic()
    with _showing(lambda: [f"{what}  {span(time.monotonic() - began)}"]):
        yield


@contextmanager
def _showing(picture: Picture) -> Generator[None]:
    """Shows the picture, if stderr is a terminal that can move its cursor."""
    if not sys.stderr.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_show, args=(picture, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _show(picture: Picture, over: threading.Event) -> None:
    """Draws until it is over, and then leaves no trace."""
    drawn = 0
    over.wait(PATIENCE)
    while not over.is_set():
        lines: list[str] = []
        with suppress(Exception):  # a picture that fails must not stop an ending
            lines = picture()
        drawn = _draw(lines, drawn)
        over.wait(EVERY)
    _draw([], drawn)


def _draw(lines: list[str], before: int) -> int:
    """Replaces the lines that were drawn before; how many there are now."""
    width, height = os.get_terminal_size(sys.stderr.fileno())
    width, height = width or 80, height or 24  # a terminal that does not know its size
    most = max(1, min(MOST_LINES, height - 2))
    if len(lines) > most:
        lines = [*lines[: most - 1], f"… and {len(lines) - most + 1} more"]
    name = max([columns(line.partition("  ")[0]) for line in lines], default=0)
    texts = [_aligned(printable(line), min(name, width // 2)) for line in lines]
    up = f"\x1b[{before}A" if before else ""
    shown = "".join(f"\x1b[2K{cut(text, width - 1)}\n" for text in texts)
    sys.stderr.write(f"{up}\r{shown}\x1b[J")
    sys.stderr.flush()
    return len(texts)


def _aligned(line: str, width: int) -> str:
    name, gap, rest = line.partition("  ")
    return f"{name:<{width}}{gap}{rest}"
