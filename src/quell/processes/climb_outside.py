"""Ending a run from outside, without a keeper: look, signal by identity, look again.

A scan can never prove absence, so the best this can say is "none found", unless the run has a
cgroup: then the kernel says it is empty.
"""

import os
import signal
import time
from typing import TYPE_CHECKING

from quell.core.climbing import Fall, Target
from quell.core.ladder import Rung
from quell.core.process import Member, ProcessId
from quell.core.receipt import Ended, Proof, Survivor
from quell.processes import cgroup, identity
from quell.processes.journal import SIGNAL_WORDS, read_journal
from quell.processes.members import members_of, untouchable
from quell.processes.schedule import Schedule

if TYPE_CHECKING:
    from quell.processes.climb import Scans

CALM_LOOKS = 3  # empty scans in a row before "none found": one alone misses pid-hoppers
BETWEEN_LOOKS = 0.002
RESCAN = 0.05  # while waiting: how often to look for processes that appeared since


class OutsideClimb:
    def __init__(
        self, target: Target, scans: "Scans", after: Schedule | None = None, warning: str = ""
    ) -> None:
        self.target = target
        self.scans = scans
        self.schedule = after or Schedule(target.ladder)
        if warning:
            self.schedule.warnings.append(warning)
        if after is not None and not after.steps:  # everything was climbed, but not by us
            self.schedule.steps = [step for step in target.ladder if step.rung is Rung.KILL]
            self.schedule.next_at = time.monotonic()
        self.found: dict[int, Member] = {}
        self.fds: dict[int, int] = {}  # pid → verified pidfd
        self.signalled: dict[int, int] = {}  # pid → strongest signal sent
        self.refused: dict[int, str] = {}
        self.calm = 0
        self.hidden = False
        self.began = False
        self.fall: Fall | None = None

    def turn(self) -> None:
        """Looks; falls when enough looks in a row found nothing, or the ladder is at its end."""
        self._drop_dead()
        fresh = self._scan()
        if self.schedule.current is Rung.KILL:
            self._kill(fresh)
        elif self.schedule.current is Rung.TERM:
            self._term(fresh)
        self.hidden = self._somebody_hides()
        self.calm = 0 if self.fds or self.hidden else self.calm + 1
        if self.fds and (self.schedule.exhausted or self._hopeless()):
            self.fall = self._fallen(Proof.SURVIVORS)
        elif cgroup.is_empty(self.target.cgroup) and not self.fds:
            self.fall = self._fallen(Proof.PROVEN)
        elif self.calm >= CALM_LOOKS or (self.hidden and self.schedule.exhausted):
            self.fall = self._fallen(Proof.NONE_FOUND)

    def due(self) -> Rung | None:
        return self.schedule.due() if self.fds or self.hidden else None

    def reached(self, rung: Rung) -> None:
        self.schedule.reached(rung)

    def skip_wait(self, warning: str) -> None:
        self.schedule.skip_wait(warning)

    def climb(self, rung: Rung) -> None:
        everybody = list(self.fds)
        if rung is Rung.TERM:
            self._term(everybody)
        else:
            self._kill(everybody)

    def watched(self) -> list[int]:
        return list(self.fds.values())

    def wake_at(self) -> float:
        now = time.monotonic()
        if not self.fds and not self.hidden:
            return now + BETWEEN_LOOKS
        wake = min(self.schedule.next_at, now + RESCAN)
        if self.schedule.current is Rung.TERM and self.schedule.half_way() > now:
            wake = min(wake, self.schedule.half_way())
        return wake

    def close(self) -> None:
        for fd in self.fds.values():
            os.close(fd)
        self.fds.clear()

    # -- looking ------------------------------------------------------------------------------

    def _scan(self) -> list[int]:
        """Opens a pidfd for every member not held yet; returns the pids that are new."""
        fresh: list[int] = []
        for member in members_of(self.target, self.scans.table(), self.scans.protected):
            pid = member.process.pid
            if pid in self.fds:
                continue
            fd = identity.open_verified(member.process)
            if fd is None:
                continue
            if identity.is_dead(fd):
                os.close(fd)
                continue
            self.fds[pid], self.found[pid] = fd, member
            self.began = True
            fresh.append(pid)
        return fresh

    def _somebody_hides(self) -> bool:
        """Whether the cgroup holds one of ours whom no scan catches: it hops from pid to pid."""
        inside = cgroup.pids(self.target.cgroup) if self.target.cgroup else set[int]()
        return bool(
            inside and inside - untouchable(self.scans.table(), self.scans.protected, self.target)
        )

    def _drop_dead(self) -> None:
        for pid, fd in list(self.fds.items()):
            if identity.is_dead(fd):
                os.close(self.fds.pop(pid))
                self.refused.pop(pid, None)

    def _all_refused(self) -> bool:
        return all(self.refused.get(pid) == identity.DENIED for pid in self.fds)

    def _hopeless(self) -> bool:
        """The kernel refused us everywhere, and no cgroup is left to kill, which needs no right."""
        return self._all_refused() and not self.target.cgroup

    def _agent_gone(self) -> bool:
        return self.target.process is None or self.target.process.pid not in self.fds

    def _in_agents_group(self, pid: int) -> bool:
        row = self.scans.table().rows.get(pid)
        agent = self.target.process
        return bool(row and agent and row.pgid == agent.pid)

    # -- signalling ---------------------------------------------------------------------------

    def _term(self, pids: list[int]) -> None:
        """The agent and its group first; the others once it has gone, or half-way."""
        late = self._agent_gone() or time.monotonic() >= self.schedule.half_way()
        for pid in list(self.fds) if late else pids:
            agent = self.target.process is not None and pid == self.target.process.pid
            if (agent or late or self._in_agents_group(pid)) and pid not in self.signalled:
                self._send(pid, signal.SIGTERM)

    def _kill(self, fresh: list[int]) -> None:
        """Stopped before it is killed, until no look finds more, so that nothing forks away."""
        inside = cgroup.pids(self.target.cgroup) if self.target.cgroup else set[int]()
        spared = untouchable(self.scans.table(), self.scans.protected, self.target)
        if inside and not inside & spared and cgroup.kill(self.target.cgroup):
            for pid in inside & set(self.fds):
                self.signalled[pid] = signal.SIGKILL
        while fresh:
            for pid in fresh:
                identity.send(self.fds[pid], signal.SIGSTOP)
            self.scans.forget()
            fresh = self._scan()
        for pid in list(self.fds):
            self._send(pid, signal.SIGKILL)

    def _send(self, pid: int, number: int) -> None:
        keeper = self.target.keeper.pid if self.target.keeper else 0
        if pid == keeper and len(self.fds) > 1 and number == signal.SIGTERM:
            return  # a frozen keeper goes last: while it lives its children stay its own
        self.signalled[pid] = number
        trouble = identity.send(self.fds[pid], number)
        if trouble:
            self.refused[pid] = trouble
        elif number == signal.SIGTERM and identity.obeys_hangup_only(pid):
            self.signalled[pid] = signal.SIGHUP
            identity.send(self.fds[pid], signal.SIGHUP)

    # -- telling ------------------------------------------------------------------------------

    def _fallen(self, proof: Proof) -> Fall:
        journal = read_journal(self.target.rundir) if self.target.rundir else read_journal("")
        if not self.fds and self.target.cgroup:
            spared = untouchable(self.scans.table(), self.scans.protected, self.target)
            cgroup.dissolve(self.target.cgroup, spared)
        dead = [member for pid, member in self.found.items() if pid not in self.fds]
        return Fall(
            run=self.target.run,
            proof=proof,
            began=self.began,
            denied=bool(self.fds) and self._all_refused(),
            rungs=(*self.schedule.rungs, *self.schedule.unreached()),
            processes=tuple(
                Ended(m.process.pid, m.command, m.via, self._ended_by(m)) for m in dead
            ),
            survivors=tuple(self._survivor(pid) for pid in self.fds),
            survivor_ids=tuple(self._identity(pid) for pid in self.fds),
            journal=journal,
            millis=self.schedule.millis(),
            warnings=tuple(self.schedule.warnings),
        )

    def _ended_by(self, member: Member) -> str:
        number = self.signalled.get(member.process.pid)
        return "exit" if number is None else SIGNAL_WORDS[number]

    def _survivor(self, pid: int) -> Survivor:
        row = identity.read_stat(pid)
        state = row.state if row else "?"
        why = self.refused.get(pid, "")
        if not why:
            why = "uninterruptible sleep" if state == "D" else "still there after SIGKILL"
        return Survivor(pid, self.found[pid].command, state, why)

    def _identity(self, pid: int) -> ProcessId:
        process = self.found[pid].process
        return process._replace(inode=identity.inode_of(self.fds[pid]))
