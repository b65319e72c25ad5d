"""Keeps strangers from filling the audit trail."""

import threading
import time

from knell.faces.mcp.callers import STRANGER, ServerOptions, knell_for, note_refusal

MOST_NOTED = 20  # refusals a minute in the audit trail; the others are counted
MINUTE = 60.0


class RefusalTrail:
    """Writes into the audit trail that a stranger was refused; in a flood, how often."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._minute = -MINUTE
        self._noted = 0
        self._left_out = 0

    def note(self, why: str) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._minute >= MINUTE:
                self._minute, self._noted = now, 0
            self._noted += 1
            if self._noted > MOST_NOTED:
                self._left_out += 1
                return
            more, self._left_out = self._left_out, 0
        self._write(f"{why}; {more} refusals before it were not noted" if more else why)

    def tell_rest(self) -> None:
        """Writes down how many refusals were left out since the last note."""
        if self._left_out:
            self._write(f"{self._left_out} refusals were not noted")
            self._left_out = 0

    def _write(self, why: str) -> None:
        with knell_for(self._options, STRANGER) as knell:
            note_refusal(knell, why)
