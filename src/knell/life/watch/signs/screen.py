"""Reads what runs print, logs and screens, but only where no cheaper sign shows life."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from knell.core.errors import PlaceFailed
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.run import Run
from knell.core.stall.screens import asked, fingerprint, noticed, shows
from knell.core.stall.signs import Clock, Sign, SignRecord

AGAIN = 30.0  # seconds between two looks at one screen
REDRAWN = 0.05  # seconds in which a program that clears its screen has drawn it again
GRAIN = 2.0  # tmux reports activity in whole seconds: what was just drawn may not be all of it


class LastScreen(NamedTuple):
    at: Clock
    stir: str
    says: SignRecord


class ScreenReader:
    """Keeps between rounds what screens said."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._shown: dict[str, LastScreen] = {}

    def read(
        self, runs: Sequence[Run], kinds: Mapping[str, Kind], calm: Mapping[str, str], now: Clock
    ) -> dict[str, SignRecord]:
        """What each run has printed. A run that is not calm is alive: its screen is not read.
        `calm` has the last mark of each screen that is.

        A server that does not answer is not asked again in this round: its time-out is paid once.
        """
        servers: dict[tuple[str, str, str], list[Run]] = {}
        self._shown = {run.id: self._shown[run.id] for run in runs if run.id in self._shown}
        for run in runs:
            servers.setdefault((run.place.name, run.place.server, run.place.log), []).append(run)
        seen: dict[str, SignRecord] = {}
        for (name, _, _), together in servers.items():
            try:
                stirred = self._world.place(name).stirred([run.place for run in together])
                for run in together:
                    stir = stirred.get(run.place)
                    seen[run.id] = self._glance(run, kinds[run.id], stir, now, calm.get(run.id))
            except PlaceFailed as error:
                for run in together:
                    seen.setdefault(run.id, self._unseen(run, str(error)))
        return seen

    def _unseen(self, run: Run, why: str) -> SignRecord:
        """What the screen said last still counts, because nothing newer is known."""
        shown = self._shown.get(run.id)
        says = shown.says if shown else SignRecord()
        return says._replace(sign=None, odd=(why,), unseen=True)

    def _glance(
        self, run: Run, kind: Kind, stir: Sign | None, now: Clock, mark: str | None
    ) -> SignRecord:
        """What the run shows; PlaceFailed if its place did not answer."""
        if stir is None or mark is None:
            self._shown.pop(run.id, None)  # what it asked has been answered
            return _without_screen(run, stir)
        shown = self._shown.get(run.id)
        if shown is None or _is_due(shown, stir, now):
            says = self._whole_screen(run, kind, stir, mark)
            shown = LastScreen(now, stir.mark, says)
            self._shown[run.id] = shown
        # A log that grows is output; a screen that is drawn again may be the same.
        return shown.says._replace(sign=stir) if run.place.log else shown.says

    def _whole_screen(self, run: Run, kind: Kind, stir: Sign, mark: str) -> SignRecord:
        """What it says. A program is sometimes caught while it draws: what seems to be new must
        still be there when it has drawn."""
        place = self._world.place(run.place.name)
        says = read_screen(place.screen(run.place), kind, stir)
        if kind.program and mark and says.sign and says.sign.mark != mark:
            self._world.wait([], REDRAWN)
            says = read_screen(place.screen(run.place), kind, stir)
        return says


def read_screen(screen: str, kind: Kind, stir: Sign) -> SignRecord:
    """What the screen of this kind says; `stir`: when it was last drawn."""
    rests = kind.rests or (kind.prompt_shown if kind.busy_in_answers else "")
    limited, retries = noticed(screen, kind.limited), noticed(screen, kind.retries)
    return SignRecord(
        # When it was last drawn says nothing of a program that draws as long as it runs.
        Sign(fingerprint(screen, kind.blinks), 0.0 if kind.program else stir.wall),
        asks="" if limited or retries else asked(screen, kind.asks),
        limited=limited,
        retries="" if limited else retries,
        busy=shows(screen, kind.busy) if kind.busy and screen else None,
        rests=bool(rests) and shows(screen, rests),
    )


def _without_screen(run: Run, stir: Sign | None) -> SignRecord:
    if stir is None:
        gone = f"its {run.place.name} pane {run.place.pane} is gone"
        return SignRecord(odd=(gone,) if run.place.pane else ())
    return SignRecord(stir) if run.place.log else SignRecord(unseen=True)


def _is_due(shown: LastScreen, stir: Sign, now: Clock) -> bool:
    if now.boot != shown.at.boot:
        return True
    if stir.mark and stir.mark == shown.stir and shown.at.wall >= stir.wall + GRAIN:
        return False
    return now.awake - shown.at.awake >= AGAIN
