"""What runs print: logs and screens, looked at only where nothing cheaper tells of life."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quell.core.errors import PlaceFailed
from quell.core.kind import Kind
from quell.core.ports import World
from quell.core.run import Place, Run
from quell.core.screens import asked, fingerprint, noticed, shows
from quell.core.signs import Clock, Sign
from quell.life.looking.glance import Glance

AGAIN = 30.0  # seconds between two looks at one screen
GRAIN = 2.0  # tmux tells activity in whole seconds: what was just drawn may not be all of it


class Shown(NamedTuple):
    """What a screen said when it was last looked at."""

    at: Clock
    stir: str
    says: Glance


class Shows:
    """Keeps what screens said between rounds."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._shown: dict[str, Shown] = {}

    def forget(self, living: set[str]) -> None:
        self._shown = {run: shown for run, shown in self._shown.items() if run in living}

    def look(
        self, runs: Sequence[Run], kinds: Mapping[str, Kind], calm: set[str], now: Clock
    ) -> dict[str, Glance]:
        """What each has printed; of those that are not calm, who live anyway, no screen is read.

        A server that does not answer is asked no more in this round: it costs its time-out once.
        """
        servers: dict[tuple[str, str, str], list[Run]] = {}
        for run in runs:
            servers.setdefault((run.place.name, run.place.server, run.place.log), []).append(run)
        seen: dict[str, Glance] = {}
        for (name, _, _), together in servers.items():
            failure, stirred = self._stirred(name, together)
            for run in together:
                if not failure:
                    stir = stirred.get(run.place)
                    seen[run.id], failure = self._glance(
                        run, kinds[run.id], stir, now, calm=run.id in calm
                    )
                else:
                    seen[run.id] = self._unseen(run, failure)
        return seen

    def _stirred(self, name: str, runs: Sequence[Run]) -> tuple[str, dict[Place, Sign]]:
        try:
            return "", self._world.place(name).stirred([run.place for run in runs])
        except PlaceFailed as error:
            return str(error), {}

    def _unseen(self, run: Run, why: str) -> Glance:
        """What it said last still holds, for nobody knows better."""
        shown = self._shown.get(run.id)
        says = shown.says if shown else Glance()
        return says._replace(sign=None, odd=(why,), unseen=True)

    def _glance(
        self, run: Run, kind: Kind, stir: Sign | None, now: Clock, *, calm: bool
    ) -> tuple[Glance, str]:
        """What it shows, and why its place did not answer."""
        if stir is None or not calm:
            self._shown.pop(run.id, None)  # whatever it asked has been answered
            return _without_screen(run, stir), ""
        shown = self._shown.get(run.id)
        if shown is None or _is_due(shown, stir, now):
            try:
                screen = self._world.place(run.place.name).screen(run.place)
            except PlaceFailed as error:
                return self._unseen(run, str(error)), str(error)
            shown = Shown(now, stir.mark, _read(screen, kind, stir))
            self._shown[run.id] = shown
        # A log that grows is output; a screen that is drawn again may be the same.
        return (shown.says._replace(sign=stir) if run.place.log else shown.says), ""


def _read(screen: str, kind: Kind, stir: Sign) -> Glance:
    limited = noticed(screen, kind.limited)
    return Glance(
        Sign(fingerprint(screen), stir.wall),
        asks="" if limited else asked(screen, kind.asks),
        limited=limited,
        busy=shows(screen, kind.busy) if kind.busy and screen else None,
    )


def _without_screen(run: Run, stir: Sign | None) -> Glance:
    if stir is None:
        gone = f"its {run.place.name} pane {run.place.pane} is gone"
        return Glance(odd=(gone,) if run.place.pane else ())
    return Glance(stir) if run.place.log else Glance(unseen=True)


def _is_due(shown: Shown, stir: Sign, now: Clock) -> bool:
    if now.boot != shown.at.boot:
        return True
    if stir.mark and stir.mark == shown.stir and shown.at.wall >= stir.wall + GRAIN:
        return False
    return now.awake - shown.at.awake >= AGAIN
