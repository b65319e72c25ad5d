"""Climbs the ladders of many runs side by side in one poll loop.

The time of ending a hundred runs is that of the slowest, not the sum. Each run is climbed by its
keeper (climb_kept.py) or, without one, from outside (climb_outside.py); both look alike from here.
"""

from __future__ import annotations  # most runs have a keeper, and nobody else is looked at

import select
import time
from typing import TYPE_CHECKING

from quell.core.ladder import Rung
from quell.processes.climb_kept import NO_LAST_WORD, KeptClimb
from quell.processes.journal import read_journal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from quell.core.climbing import Fall, Target
    from quell.core.process import ProcessId
    from quell.processes.climb_outside import OutsideClimb
    from quell.processes.table import Table

    Climb = KeptClimb | OutsideClimb
    Record = Callable[[Sequence[tuple[str, str]]], None]
    Ask = Callable[[str], str]

TYPISTS = 32


class Scans:
    """One scan of the machine per turn of the loop, however many runs want it."""

    def __init__(self, protected: Sequence[ProcessId]) -> None:
        self.protected = protected
        self._table: Table | None = None

    def table(self) -> Table:
        if self._table is None:
            from quell.processes.table import Table

            self._table = Table()
        return self._table

    def forget(self) -> None:
        self._table = None


def climb(
    targets: Sequence[Target], protected: Sequence[ProcessId], record: Record, ask: Ask
) -> dict[str, Fall]:
    """Ends every target, as far as the kernel lets us, and says what proves it.

    Each rung is given to `record` before it is climbed; `ask` types exit keys for one run.
    """
    _allow_many_files(len(targets))
    scans = Scans(protected)
    pending: dict[str, Climb] = {target.run: _start(target, scans) for target in targets}
    fallen: dict[str, Fall] = {}
    watch = Watch()
    while pending:
        scans.forget()
        unsaid: list[tuple[str, str]] = []
        for run, one in [each for each in pending.items() if not watch.is_quiet(each[1])]:
            successor = one.turn()
            if successor is not None:
                pending[run] = successor
            elif one.fall is not None:
                fallen[run] = one.fall
                unsaid += _by_the_keeper(one, one.fall)
                one.close()
                del pending[run]
        record(unsaid)
        _climb_due(pending, record, ask)
        watch.wait(pending.values())
    return fallen


def _by_the_keeper(one: Climb, fall: Fall) -> list[tuple[str, str]]:
    """Rungs that it climbed a moment before we would have: its journal had them in time."""
    ours = {rung.rung for rung in one.schedule.rungs}
    return [(fall.run, rung.rung) for rung in fall.rungs if rung.reached and rung.rung not in ours]


def _start(target: Target, scans: Scans) -> Climb:
    kept = KeptClimb.begin(target, scans)
    if kept is not None:
        return kept
    from quell.processes.climb_outside import OutsideClimb

    silent = target.keeper and not read_journal(target.rundir).ended
    return OutsideClimb(target, scans, warning=NO_LAST_WORD if silent else "")


def _climb_due(pending: dict[str, Climb], record: Record, ask: Ask) -> None:
    due = [(run, one, rung) for run, one in pending.items() if (rung := one.due()) is not None]
    if due:
        record([(run, rung.value) for run, _, rung in due])
    asked = _ask_all([run for run, _, rung in due if rung is Rung.EXIT_KEYS], ask)
    for run, one, rung in due:
        one.reached(rung)
        if rung is not Rung.EXIT_KEYS:
            one.climb(rung)
        elif asked[run]:
            one.skip_wait(asked[run])


def _ask_all(runs: Sequence[str], ask: Ask) -> dict[str, str]:
    """Typing takes a second, most of it pauses: for many runs it is done side by side."""
    if len(runs) <= 1:
        return {run: ask(run) for run in runs}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(runs), TYPISTS)) as typists:
        return dict(zip(runs, typists.map(ask, runs), strict=True))


class Watch:
    """Tells who of many has news: to ask each of them after every death takes the square of it."""

    def __init__(self) -> None:
        self._poll = select.poll()  # knows numbers only: one that was closed may come again
        self._watched: set[int] = set()
        self._ready: set[int] | None = None  # None: nobody was waited for yet

    def is_quiet(self, one: Climb) -> bool:
        """Whether a turn of this one would find nothing: its keeper lives, and nothing is due."""
        if self._ready is None or not isinstance(one, KeptClimb) or one.keeper in self._ready:
            return False
        return one.wake_at() > time.monotonic()

    def wait(self, pending: Collection[Climb]) -> None:
        """Sleeps until a watched process ends or the next rung is due, whichever is first."""
        if not pending:
            return
        wanted = {fd for one in pending for fd in one.watched()}
        for fd in self._watched - wanted:
            self._poll.unregister(fd)
        for fd in wanted - self._watched:
            self._poll.register(fd, select.POLLIN)
        self._watched = wanted
        until = min(one.wake_at() for one in pending)
        found = self._poll.poll(max(0.0, (until - time.monotonic()) * 1000))
        self._ready = {fd for fd, _ in found}


def _allow_many_files(runs: int) -> None:
    """A pidfd a process: the usual soft limit of 1024 files is too low for a fleet."""
    if runs < 100:  # noqa: PLR2004 - far below any limit, and the import is not free
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
