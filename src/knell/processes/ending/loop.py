"""Ends many runs side by side in one poll loop: fulfils the port `ProcessEndings`.

The time of ending a hundred runs is that of the slowest, not the sum. Each run is ended by its
keeper (kept.py) or, without one, from outside (outside.py); both look alike from here.
"""

from __future__ import annotations  # most runs have a keeper: nothing else is loaded

import time
from typing import TYPE_CHECKING

from knell.core.ladder import Rung
from knell.processes.ending.kept import NO_LAST_WORD, KeptEnding
from knell.processes.journal import read_journal
from knell.processes.os import system

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from knell.core.codes import Notice
    from knell.core.ports.endings import EndReport, RecordRungs, TypeExitKeys
    from knell.core.ports.processes import Target
    from knell.core.process import ProcessId
    from knell.processes.ending.outside import OutsideEnding
    from knell.processes.table import Table

    RunEnding = KeptEnding | OutsideEnding

TYPISTS = 32


def end(
    targets: Sequence[Target],
    protected: Sequence[ProcessId],
    record: RecordRungs,
    ask: TypeExitKeys,
) -> dict[str, EndReport]:
    """Ends every target, as far as the kernel allows, and says what proves it.

    Each rung is given to `record` before it is taken; `ask` types exit keys for one run.
    """
    _allow_many_files(len(targets))
    scans = Scans(protected)
    pending: dict[str, RunEnding] = {target.run: _start(target, scans) for target in targets}
    reports: dict[str, EndReport] = {}
    poller = Poller()
    while pending:
        scans.forget()
        by_keepers: list[tuple[str, str]] = []
        for run, one in [each for each in pending.items() if not poller.is_quiet(each[1])]:
            warning = one.turn()
            if warning is not None:
                one.close()
                pending[run] = _from_outside(one.target, scans, warning, one)
            elif one.report is not None:
                reports[run] = one.report
                by_keepers += _by_the_keeper(one, one.report)
                one.close()
                del pending[run]
        if by_keepers:
            record(by_keepers)
        _take_due_rungs(pending, scans, record, ask)
        poller.wait(pending.values())
    return reports


class Scans:
    """Endings from outside share one scan of the machine for each turn."""

    def __init__(self, protected: Sequence[ProcessId]) -> None:
        self.protected = protected
        self._table: Table | None = None

    def table(self) -> Table:
        if self._table is None:
            from knell.processes.table import Table

            self._table = Table()
        return self._table

    def forget(self) -> None:
        self._table = None


def _by_the_keeper(one: RunEnding, report: EndReport) -> list[tuple[str, str]]:
    """Rungs that the keeper took just before they were due here; its journal has them."""
    taken = {rung.rung for rung in one.schedule.rungs}
    return [(report.run, r.rung) for r in report.rungs if r.reached and r.rung not in taken]


def _start(target: Target, scans: Scans) -> RunEnding:
    keeper = system.open_verified(target.keeper) if target.keeper else None
    if keeper is not None:
        return KeptEnding(target, keeper)
    silent = target.keeper and not read_journal(target.rundir, target.seal).ended
    return _from_outside(target, scans, NO_LAST_WORD if silent else None)


def _from_outside(
    target: Target, scans: Scans, warning: Notice | None, kept: RunEnding | None = None
) -> OutsideEnding:
    from knell.processes.ending.outside import OutsideEnding

    ending = OutsideEnding(target, scans, kept)
    if warning is not None:
        ending.schedule.warn(warning)
    return ending


def _take_due_rungs(
    pending: dict[str, RunEnding], scans: Scans, record: RecordRungs, ask: TypeExitKeys
) -> None:
    due = [(run, one, rung) for run, one in pending.items() if (rung := one.due()) is not None]
    if due:
        record([(run, rung.value) for run, _, rung in due])
    for _, one, rung in due:
        if rung is Rung.EXIT_KEYS and isinstance(one, KeptEnding):
            one.note_members(scans.table(), scans.protected)
    asked = _ask_all([run for run, _, rung in due if rung is Rung.EXIT_KEYS], ask)
    for run, one, rung in due:
        one.schedule.reached(rung)
        if rung is not Rung.EXIT_KEYS:
            one.apply(rung)
        elif (refusal := asked[run]) is not None:
            one.schedule.skip_wait(refusal)


def _ask_all(runs: Sequence[str], ask: TypeExitKeys) -> dict[str, Notice | None]:
    """Typing takes a second, most of it pauses: for many runs it is done side by side."""
    if len(runs) <= 1:
        return {run: ask(run) for run in runs}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(runs), TYPISTS)) as typists:
        return dict(zip(runs, typists.map(ask, runs), strict=True))


class Poller:
    """Finds which of many endings have news: asking each after every death is O(n²)."""

    def __init__(self) -> None:
        self._exits = system.Exits()
        self._ready: set[int] | None = None  # None: not waited yet

    def is_quiet(self, one: RunEnding) -> bool:
        """Whether a turn of this one would find nothing: its keeper lives, and nothing is due."""
        if self._ready is None or not isinstance(one, KeptEnding) or one.keeper in self._ready:
            return False
        return one.wake_at() > time.monotonic()

    def wait(self, pending: Collection[RunEnding]) -> None:
        """Sleeps until a watched process ends or the next rung is due, whichever is first."""
        if not pending:
            return
        wanted = {fd for one in pending for fd in one.watched()}
        until = min(one.wake_at() for one in pending)
        self._ready = self._exits.wait(wanted, until - time.monotonic())


def _allow_many_files(runs: int) -> None:
    """A pidfd a process: the usual soft limit of 1024 files is too low for a fleet."""
    if runs < 100:  # noqa: PLR2004 - far below any limit, and the import is not free
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
