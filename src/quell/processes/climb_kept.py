"""Ending a run through its keeper: ask it, and watch for its exit, which is the proof."""

import os
import signal
import time
from typing import TYPE_CHECKING, Optional

from quell.core.climbing import Fall, Journal, Target
from quell.core.ladder import Rung, grace_of
from quell.core.process import ProcessId
from quell.core.receipt import Climbed, Ended, Proof, Survivor
from quell.processes import identity
from quell.processes.journal import ask_end, how_ended, read_journal
from quell.processes.schedule import Schedule

if TYPE_CHECKING:
    from quell.processes.climb import Scans
    from quell.processes.climb_outside import OutsideClimb

NO_LAST_WORD = "the keeper was killed, or could not write: what is left was looked for without it"
TAKEOVER = 1.5  # seconds after KILL was due before we stop trusting the keeper to do it


class KeptClimb:
    def __init__(self, target: Target, keeper: int, scans: "Scans") -> None:
        self.target = target
        self.keeper = keeper  # a verified pidfd
        self.scans = scans
        self.schedule = Schedule(target.ladder)
        self.denied = ""
        self.fall: Fall | None = None
        self.command = command_of_living(target.process)

    @classmethod
    def begin(cls, target: Target, scans: "Scans") -> Optional["KeptClimb"]:
        """None when there is no keeper to ask: never was, or it has been killed."""
        keeper = identity.open_verified(target.keeper) if target.keeper else None
        return cls(target, keeper, scans) if keeper is not None else None

    def turn(self) -> Optional["OutsideClimb"]:
        """Looks whether the keeper has finished; hands over if it died or does not act."""
        if identity.is_dead(self.keeper):
            journal = read_journal(self.target.rundir)
            if not journal.ended:
                return self._hand_over(NO_LAST_WORD)
            proof = Proof.PROVEN if journal.proven else Proof.NONE_FOUND
            self.fall = self._fallen(proof, journal)
            return None
        if self.denied:
            self.fall = self._fallen(Proof.SURVIVORS, read_journal(self.target.rundir))
            return None
        if self.schedule.exhausted:
            journal = read_journal(self.target.rundir)
            if journal.survivors:
                self.fall = self._fallen(Proof.SURVIVORS, journal)
                return None
            return self._hand_over("the keeper did not act in time")
        return None

    def due(self) -> Rung | None:
        return self.schedule.due()

    def reached(self, rung: Rung) -> None:
        self.schedule.reached(rung)
        if rung is Rung.KILL:  # the keeper sweeps by itself; give it time before we distrust it
            self.schedule.next_at += TAKEOVER

    def skip_wait(self, warning: str) -> None:
        self.schedule.skip_wait(warning)

    def climb(self, rung: Rung) -> None:
        """TERM tells the keeper the whole plan, so that it goes on even if we die."""
        grace = grace_of(self.target.ladder) if rung is Rung.TERM else 0.0
        try:
            ask_end(self.target.rundir, grace)
        except OSError as error:  # a full disk: the keeper ends the run with its own grace
            self.schedule.warn(f"the keeper was not told the grace: {error.strerror}")
        self.denied = identity.send(self.keeper, signal.SIGTERM)

    def watched(self) -> list[int]:
        return [self.keeper]

    def wake_at(self) -> float:
        return time.monotonic() if self.denied else self.schedule.next_at

    def close(self) -> None:
        os.close(self.keeper)

    def _hand_over(self, warning: str) -> "OutsideClimb":
        from quell.processes.climb_outside import OutsideClimb

        self.close()
        outside = OutsideClimb(self.target, self.scans, after=self.schedule, warning=warning)
        outside.agents_command = self.command
        return outside

    def _fallen(self, proof: Proof, journal: Journal) -> Fall:
        survivors = journal.survivors
        if self.denied and self.target.keeper:  # not even the keeper took our signal
            pid = self.target.keeper.pid
            survivors = (Survivor(pid, identity.command_of(pid), "?", self.denied),)
        asked = [rung for rung in self.schedule.rungs if rung.rung == Rung.EXIT_KEYS.value]
        offset = max(0, int((journal.began - self.schedule.began) * 1000))
        climbed = [rung._replace(at_ms=rung.at_ms + offset) for rung in journal.rungs]
        names = {rung.rung for rung in climbed}
        left = [
            Climbed(step.rung.value, 0, reached=False)
            for step in self.target.ladder
            if step.rung is not Rung.EXIT_KEYS and step.rung.value not in names
        ]
        return Fall(
            run=self.target.run,
            proof=proof,
            began=True,
            denied=bool(survivors) and all(s.why == identity.DENIED for s in survivors),
            rungs=(*asked, *climbed, *left),
            processes=self._processes(journal),
            survivors=survivors,
            survivor_ids=(),
            journal=journal,
            millis=self.schedule.millis(),
            warnings=tuple(self.schedule.warnings),
        )

    def _processes(self, journal: Journal) -> tuple[Ended, ...]:
        """With the agent: one that its exit keys ended had gone before its keeper looked."""
        agent, found = self.target.process, journal.processes
        number, word = journal.exit_code, "exit"
        if journal.exit_signal is not None:
            number, word = journal.exit_signal, "signal"
        if agent is None or number is None or not self.command:
            return found
        if any(one.pid == agent.pid for one in found):
            return found
        return (Ended(agent.pid, self.command, "agent", how_ended(word, number)), *found)


def command_of_living(process: ProcessId | None) -> str:
    """Empty for one that has gone: its number may be somebody else's by now."""
    fd = identity.open_verified(process) if process else None
    if fd is None or process is None:
        return ""
    command = identity.command_of(process.pid)
    os.close(fd)
    return command
