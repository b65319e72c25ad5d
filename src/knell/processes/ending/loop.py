"""Ends many runs side by side in one poll loop: fulfils the port `ProcessEndings`.

The time of ending a hundred runs is that of the slowest, not the sum. Each run is ended by its
keeper, whose exit is the proof, or without one from outside (outside.py).
"""

from __future__ import annotations  # most runs have a keeper: nothing else is loaded

import time
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from knell.core.codes import Code, Notice
from knell.core.ladder import Rung
from knell.core.ports.endings import EndReport
from knell.core.process import Gone
from knell.core.receipt import Ended, Proof, RungRecord, Survivor
from knell.processes.journal import as_seen, ask_end, read_journal, with_agent
from knell.processes.os import system
from knell.processes.os.proc import signal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from knell.core.ladder import Ladder
    from knell.core.ports.endings import Callbacks
    from knell.core.ports.keepers import Journal
    from knell.core.ports.processes import Target
    from knell.core.process import FoundProcess, ProcessId
    from knell.processes.ending.outside import OutsideEnding
    from knell.processes.table import Table

    RunEnding: TypeAlias = "KeptEnding | OutsideEnding"

MANY = 100  # runs: fewer are far below any limit of open files
NO_LAST_WORD = Notice(
    Code.KEEPER_FAILED,
    "the keeper was killed, or could not write: knell looked for what is left without it",
)
KEEPER_SLOW = Notice(Code.KEEPER_FAILED, "the keeper did not act in time")


def end(targets: Sequence[Target], callbacks: Callbacks) -> dict[str, EndReport]:
    """Ends every target, as far as the kernel allows, and says what proves it."""
    if len(targets) >= MANY:
        from knell.processes.waiting import allow_many_files

        allow_many_files()
    scans = Scans(callbacks)
    pending: dict[str, RunEnding] = {target.run: _start(target, scans) for target in targets}
    reports: dict[str, EndReport] = {}
    poller = Poller()
    while pending:
        scans.forget()
        by_keepers: list[tuple[str, str]] = []
        for run, one in [each for each in pending.items() if not poller.is_quiet(each[1])]:
            warning = one.turn(poller.ready)
            if warning is not None:
                one.close()
                pending[run] = _from_outside(one.target, scans, warning, one)
            elif one.report is not None:
                reports[run] = one.report
                by_keepers += _by_the_keeper(one, one.report)
                one.close()
                del pending[run]
        if by_keepers:
            callbacks.record(by_keepers)
        _take_due_rungs(pending, scans)
        poller.wait(pending.values())
    return reports


class Scans:
    """Endings from outside share one scan of the machine for each turn."""

    def __init__(self, callbacks: Callbacks) -> None:
        self.callbacks = callbacks
        self._table: Table | None = None

    @cached_property
    def protected(self) -> Sequence[ProcessId]:
        return self.callbacks.protected()

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

    schedule = kept.schedule if kept else Schedule(target.ladder)
    if warning is not None:
        schedule.warn(warning)
    return OutsideEnding(scans.callbacks.whole(target), scans, schedule, kept)


def _take_due_rungs(pending: dict[str, RunEnding], scans: Scans) -> None:
    """Each rung is recorded before it is taken."""
    due = [(run, one, rung) for run, one in pending.items() if (rung := one.due()) is not None]
    if due:
        scans.callbacks.record([(run, rung.value) for run, _, rung in due])
    for _, one, rung in due:
        if rung is Rung.EXIT_KEYS and isinstance(one, KeptEnding):
            one.note_members(scans)
    exiting = [run for run, _, rung in due if rung is Rung.EXIT_KEYS]
    refusals = scans.callbacks.ask(exiting) if exiting else None
    for run, one, rung in due:
        one.schedule.reached(rung)
        if rung is not Rung.EXIT_KEYS:
            one.apply(rung)
        elif refusals and (refusal := refusals[run]) is not None:
            one.schedule.skip_wait(refusal)


class Poller:
    """Finds which of many endings have news: asking each after every death is O(n²)."""

    def __init__(self) -> None:
        self._exits = system.Exits()
        self._waited = False
        self.ready: set[int] = set()  # of the processes that were waited for: those that ended

    def is_quiet(self, one: RunEnding) -> bool:
        """Whether a turn of this one would find nothing: its keeper lives, and nothing is due."""
        if not self._waited or not isinstance(one, KeptEnding) or one.keeper in self.ready:
            return False
        return one.wake_at() > time.monotonic()

    def wait(self, pending: Collection[RunEnding]) -> None:
        """Sleeps until a watched process ends or the next rung is due, whichever is first."""
        if not pending:
            return
        wanted = {fd for one in pending for fd in one.watched()}
        until = min(one.wake_at() for one in pending)
        self.ready = self._exits.wait(wanted, until - time.monotonic())
        self._waited = True


class Schedule:
    """Walks a ladder by the monotonic clock, which stands still while the machine is suspended."""

    def __init__(self, ladder: Ladder) -> None:
        self.began = self.next_at = self.current_at = time.monotonic()
        self.wait = 0.0  # seconds after the current rung
        self.steps = list(ladder)
        self.rungs: list[RungRecord] = []
        self.warnings: list[Notice] = []
        self.current: Rung | None = None

    def due(self) -> Rung | None:
        return self.steps[0].rung if self.steps and time.monotonic() >= self.next_at else None

    def reached(self, rung: Rung) -> None:
        """Moves on: `rung` was recorded and is taken now."""
        self.wait = self.steps.pop(0).wait
        self.current, self.current_at = rung, time.monotonic()
        self.rungs.append(RungRecord(rung.value, self.millis(), reached=True))
        self.next_at = self.current_at + self.wait

    def skip_wait(self, warning: Notice) -> None:
        """The rung could not be taken: the next one is due at once."""
        self.rungs[-1] = self.rungs[-1]._replace(reached=False)
        self.warn(warning)
        self.next_at = time.monotonic()

    def warn(self, warning: Notice) -> None:
        """Once, however often it comes true."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    @property
    def exhausted(self) -> bool:
        return not self.steps and time.monotonic() >= self.next_at

    def millis(self) -> int:
        return int((time.monotonic() - self.began) * 1000)

    def report(self, run: str, proof: Proof, journal: Journal) -> EndReport:
        """What came of it, as far as the ladder and the journal know."""
        left = [RungRecord(step.rung.value, 0, reached=False) for step in self.steps]
        rungs, warnings = (*self.rungs, *left), tuple(self.warnings)
        return EndReport(run, proof, rungs, journal, self.millis(), warnings)


class KeptEnding:
    """Ends one run through its keeper, whose exit is the proof."""

    def __init__(self, target: Target, keeper: int) -> None:
        self.target = target
        self.keeper = keeper  # a verified pidfd
        self.schedule = Schedule(target.ladder)
        self.denied = ""
        self.report: EndReport | None = None
        self.agents_command = system.command_of_living(target.process) if target.process else ""
        self.before: list[FoundProcess] = []  # members that were there before the exit keys

    def note_members(self, scans: Scans) -> None:
        """Who is there before the exit keys: the keeper looks only afterwards."""
        from knell.processes.members import members_of

        self.before = members_of(self.target, scans.table(), scans.protected)

    def turn(self, ready: Collection[int]) -> Notice | None:
        """Looks whether the keeper has finished; says why, if the run must be ended without it."""
        ended = self.keeper in ready
        if not ended and not self.denied and not self.schedule.exhausted:
            return None
        journal = read_journal(self.target.rundir, self.target.seal, self.target.process)
        if ended and not journal.ended:
            return NO_LAST_WORD
        if not ended and not self.denied:
            journal = as_seen(journal, self.target)
            if not journal.survivors:
                return KEEPER_SLOW
        proof = Proof.PROVEN if journal.proven else Proof.NONE_FOUND
        self.report = self._report(proof if ended else Proof.SURVIVORS, journal)
        return None

    def due(self) -> Rung | None:
        return self.schedule.due()

    def apply(self, rung: Rung) -> None:
        """With TERM the keeper gets the whole plan, and goes on even if this process dies."""
        if rung is Rung.KILL:  # the keeper sweeps by itself; give it time before knell takes over
            self.schedule.next_at += system.TAKEOVER
        try:
            ask_end(self.target.rundir, self.schedule.wait if rung is Rung.TERM else 0.0)
        except OSError as error:  # a full disk: the keeper ends the run with its own grace
            why = f"the keeper did not get the grace: {error.strerror}"
            self.schedule.warn(Notice(Code.GRACE_NOT_PASSED, why))
        self.denied = system.send(self.keeper, signal.SIGTERM)

    def watched(self) -> list[int]:
        return [self.keeper]

    def wake_at(self) -> float:
        return time.monotonic() if self.denied else self.schedule.next_at

    def close(self) -> None:
        system.close(self.keeper)

    def _report(self, proof: Proof, journal: Journal) -> EndReport:
        survivors = journal.survivors
        if self.denied and self.target.keeper:  # not even the keeper took our signal
            pid = self.target.keeper.pid
            survivors = (Survivor(pid, system.command_of(pid), "?", self.denied),)
        asked = [rung for rung in self.schedule.rungs if rung.rung == Rung.EXIT_KEYS.value]
        offset = max(0, int((journal.began - self.schedule.began) * 1000))
        reached = [rung._replace(at_ms=rung.at_ms + offset) for rung in journal.rungs]
        names = {rung.rung for rung in reached}
        left = [
            RungRecord(step.rung.value, 0, reached=False)
            for step in self.target.ladder
            if step.rung is not Rung.EXIT_KEYS and step.rung.value not in names
        ]
        return self.schedule.report(self.target.run, proof, journal)._replace(
            denied=bool(survivors) and all(s.why == system.DENIED for s in survivors),
            rungs=(*asked, *reached, *left),
            processes=self._processes(journal),
            survivors=survivors,
        )

    def _processes(self, journal: Journal) -> tuple[Ended, ...]:
        """Adds those that the exit keys ended: they had gone before the keeper looked."""
        found = with_agent(journal, self.target.process, self.agents_command)
        told = {one.pid for one in (*found, *journal.survivors, *journal.kept)}
        if self.target.keeper:
            told.add(self.target.keeper.pid)
        left = [
            Ended(one.process.pid, one.command, one.via, "exit")
            for one in self.before
            if one.process.pid not in told and isinstance(system.look(one.process), Gone)
        ]
        return (*found, *left)
