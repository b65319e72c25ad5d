"""R6: what knell says of each living program while its model answers, hangs, refuses and asks.

The same situations are recorded for `make test` (tests/life/watch/recorded). Here the programs
live, so that a new version which draws or writes something else is noticed.
"""

import time
from collections.abc import Collection

from e2e.home import Home
from house import pause
from knell.core.stall.verdict import StallLimits, Verdict
from knell.life.watch.signs.collect import SignCollector
from knell.life.watch.stalled import assess

LIMITS = StallLimits(beat=15.0, tool=40.0)  # seconds; the stand-in hangs up after 120
ROUND = 4.0  # seconds between two looks
LONGEST = 300.0  # seconds for one verdict, on a busy machine
SILENT = ("gemini",)  # tries again without a word


class Watcher:
    """Somebody who looks at the only agent of a home every few seconds."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.world = home.house.knell.world
        self.collector = SignCollector(self.world)

    def look(self) -> Verdict:
        [judged] = assess(self.world, self.collector, self.world.store.runs.live(), LIMITS)
        return judged.verdict

    def comes_to(
        self, wanted: Collection[str], never: Collection[str], settle: float = 0
    ) -> Verdict:
        """Looks until the verdict is a wanted one; after `settle` seconds some must never come."""
        began = time.monotonic()
        while True:
            found, passed = self.look(), time.monotonic() - began
            if passed > settle:
                wrong = found.activity in never or passed > LONGEST
                assert not wrong, f"{wanted} are wanted: {found}\n{self.home.screen()}"
                if found.activity in wanted:
                    return found
            pause(ROUND)


# Seconds after which the screen was read, which is done after 20 of silence, and that is long ago.
SETTLED = 20.0 + LIMITS.beat + 15.0


def test_R6_idle_slow_asking_and_hung(any_home: Home) -> None:
    """Idle is idle, a slow answer is work, a question waits, and a hung model is a stall."""
    home = any_home
    home.spawn()
    watcher = Watcher(home)
    home.ask("amber")
    watcher.comes_to({"idle"}, {"stalled", "waiting", "working"}, SETTLED)
    home.model.pace = 1.0
    home.enter("slow 900")
    watcher.comes_to({"working"}, {"stalled", "waiting", "idle"}, SETTLED)
    interrupt(home)
    home.say("run touch proof", home.program.question)
    asks = watcher.comes_to({"waiting"}, {"stalled", "idle"}, SETTLED)
    assert "asks" in asks.why
    interrupt(home)
    home.enter("hang on")
    watcher.comes_to({"unknown", "stalled"}, {"waiting", "idle", "working"}, SETTLED)
    watcher.comes_to({"stalled"}, {"waiting", "idle", "working"})
    home.knell("kill", "luna")


def test_R6_refused_and_dropped(any_home: Home) -> None:
    """A model that refuses or hangs up is tried again: no stall, and no spent quota."""
    home = any_home
    home.model.retry_after = 60
    home.spawn()
    watcher = Watcher(home)
    home.ask("amber")
    for word in ("limit", "drop"):
        home.enter(f"{word} it")
        silent = home.program.name in SILENT
        right = {"unknown", "idle"} if silent else {"waiting", "idle"}
        found = watcher.comes_to(right, {"stalled", "working"}, SETTLED)
        assert "quota" not in found.why
        interrupt(home)
    home.knell("kill", "luna")


def interrupt(home: Home) -> None:
    """The turn is over, whatever it was at, and the prompt is empty: some put the words back."""
    for _ in range(20):
        if home.is_ready() and "esc again" not in home.screen().lower():
            return
        home.press("Escape")
        pause(0.5)
        home.press("C-u")
        pause(1.0)
    raise AssertionError(f"it cannot be interrupted:\n{home.screen()}")
