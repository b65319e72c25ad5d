"""Ends a run through its keeper: asks it, and waits for its exit, which is the proof."""

import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from knell.core.codes import Code, Notice
from knell.core.ladder import Ladder, Rung, grace_of
from knell.core.ports.endings import EndReport
from knell.core.ports.keepers import Journal
from knell.core.ports.processes import Target
from knell.core.process import FoundProcess, Gone, ProcessId
from knell.core.receipt import Ended, Proof, RungRecord, Survivor
from knell.processes.journal import ask_end, how_ended, read_journal
from knell.processes.os import system
from knell.processes.os.proc import signal

if TYPE_CHECKING:
    from knell.processes.table import Table

NO_LAST_WORD = Notice(
    Code.KEEPER_FAILED,
    "the keeper was killed, or could not write: knell looked for what is left without it",
)
KEEPER_SLOW = Notice(Code.KEEPER_FAILED, "the keeper did not act in time")


class Schedule:
    """Walks a ladder by the monotonic clock, which stands still while the machine is suspended."""

    def __init__(self, ladder: Ladder) -> None:
        self.began = time.monotonic()
        self.steps = list(ladder)
        self.rungs: list[RungRecord] = []
        self.warnings: list[Notice] = []
        self.next_at = self.began
        self.current: Rung | None = None
        self.current_at = self.began

    def due(self) -> Rung | None:
        if self.steps and time.monotonic() >= self.next_at:
            return self.steps[0].rung
        return None

    def reached(self, rung: Rung) -> None:
        """Moves on: `rung` was recorded and is taken now."""
        step = self.steps.pop(0)
        now = time.monotonic()
        self.current, self.current_at = rung, now
        self.rungs.append(RungRecord(rung.value, self.millis(), reached=True))
        self.next_at = now + step.wait

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

    def half_way(self) -> float:
        """Half of the wait after the current rung: then the rest of the run gets its TERM."""
        return self.current_at + (self.next_at - self.current_at) / 2

    def report(self, run: str, proof: Proof, journal: Journal) -> EndReport:
        """What came of it, as far as the ladder and the journal know."""
        left = [RungRecord(step.rung.value, 0, reached=False) for step in self.steps]
        return EndReport(
            run=run,
            proof=proof,
            rungs=(*self.rungs, *left),
            journal=journal,
            millis=self.millis(),
            warnings=tuple(self.warnings),
        )


class KeptEnding:
    """Ends one run through its keeper, whose exit is the proof."""

    def __init__(self, target: Target, keeper: int) -> None:
        self.target = target
        self.keeper = keeper  # a verified pidfd
        self.schedule = Schedule(target.ladder)
        self.denied = ""
        self.report: EndReport | None = None
        self.agents_command = command_of_living(target.process)
        self.before: list[FoundProcess] = []  # members that were there before the exit keys

    def note_members(self, table: "Table", protected: Sequence[ProcessId]) -> None:
        """Who is there before the exit keys: the keeper looks only afterwards."""
        from knell.processes.members import members_of

        self.before = members_of(self.target, table, protected)

    def turn(self) -> Notice | None:
        """Looks whether the keeper has finished. Returns why the run must be ended from outside, if
        the keeper died or does not act; else None."""
        ended = system.is_dead(self.keeper)
        if not ended and not self.denied and not self.schedule.exhausted:
            return None
        journal = read_journal(self.target.rundir, self.target.seal)
        if ended:
            if not journal.ended:
                return NO_LAST_WORD
            proof = Proof.PROVEN if journal.proven else Proof.NONE_FOUND
            self.report = self._report(proof, journal)
        elif not self.denied and not journal.survivors:
            return KEEPER_SLOW
        else:
            self.report = self._report(Proof.SURVIVORS, journal)
        return None

    def due(self) -> Rung | None:
        return self.schedule.due()

    def apply(self, rung: Rung) -> None:
        """With TERM the keeper gets the whole plan, and goes on even if this process dies."""
        if rung is Rung.KILL:  # the keeper sweeps by itself; give it time before knell takes over
            self.schedule.next_at += system.TAKEOVER
        grace = grace_of(self.target.ladder) if rung is Rung.TERM else 0.0
        try:
            ask_end(self.target.rundir, grace)
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
        told = {one.pid for one in (*journal.processes, *journal.survivors, *journal.kept)}
        found = (*self._agent(journal, told), *journal.processes)
        told |= {one.pid for one in found}
        if self.target.keeper:
            told.add(self.target.keeper.pid)
        left = [
            Ended(one.process.pid, one.command, one.via, "exit")
            for one in self.before
            if one.process.pid not in told and isinstance(system.look(one.process), Gone)
        ]
        return (*found, *left)

    def _agent(self, journal: Journal, told: Collection[int]) -> tuple[Ended, ...]:
        agent = self.target.process
        number, word = journal.exit_code, "exit"
        if journal.exit_signal is not None:
            number, word = journal.exit_signal, "signal"
        if agent is None or number is None or not self.agents_command or agent.pid in told:
            return ()
        return (Ended(agent.pid, self.agents_command, "agent", how_ended(word, number)),)


def command_of_living(process: ProcessId | None) -> str:
    """Its command; empty if it has ended or counts elsewhere: its number may be another's."""
    fd = system.open_verified(process) if process and process.boot == system.here() else None
    if fd is None or process is None:
        return ""
    command = system.command_of(process.pid)
    system.close(fd)
    return command
