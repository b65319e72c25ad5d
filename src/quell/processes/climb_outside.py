"""Ending a run from outside, without a keeper: look, signal by identity, look again.

A scan can never prove absence, so the best this can say is "none found", unless the run was born
in a cgroup: then the kernel says it is empty.
"""

import os
import signal
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from quell.core.climbing import Fall, Target
from quell.core.ladder import Rung
from quell.core.process import Member, ProcessId
from quell.core.receipt import Ended, Proof, Survivor
from quell.processes import cgroup, identity
from quell.processes.groups import Group, stand_still
from quell.processes.journal import SIGNAL_WORDS, read_journal
from quell.processes.members import Held, members_of, untouchable
from quell.processes.schedule import Schedule

if TYPE_CHECKING:
    from quell.processes.climb import Scans
    from quell.processes.table import Table

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
            self.schedule.warn(warning)
        if after is not None and not after.steps:  # everything was climbed, but not by us
            self.schedule.steps = [step for step in target.ladder if step.rung is Rung.KILL]
            self.schedule.next_at = time.monotonic()
        self.found: dict[int, Member] = {}
        self.fds: dict[int, int] = {}  # pid → verified pidfd
        self.led: dict[int, int] = {}  # pid → start, of dead members
        self.buried: list[Ended] = []
        self.signalled: dict[int, int] = {}  # pid → strongest signal sent
        self.refused: dict[int, str] = {}
        self.calm = 0
        self.hidden = False
        self.began = bool(after and after.rungs)  # the keeper was told, and may have ended it all
        self.agents_command = ""  # known if its keeper had it in hand
        self.group = Group(target)
        self.fall: Fall | None = None

    def turn(self) -> None:
        """Looks; falls when enough looks in a row found nothing, or the ladder is at its end."""
        self._drop_dead()
        self._meet(self._scan())
        self.hidden = self._somebody_hides()
        if not self.fds and self.group.is_open:
            self._search_the_group()
        self.calm = 0 if self.fds or self.hidden else self.calm + 1
        if self.fds and (self.schedule.exhausted or self._hopeless()):
            self.fall = self._fallen(Proof.SURVIVORS)
        elif not self.fds and self._proven():
            self.fall = self._fallen(Proof.PROVEN)
        elif self.calm >= CALM_LOOKS or (self.hidden and self.schedule.exhausted):
            self.fall = self._fallen(Proof.NONE_FOUND)

    def _meet(self, fresh: list[int]) -> None:
        """Who appears late gets what the others have got."""
        if self.schedule.current is Rung.KILL:
            self._kill(fresh)
        elif self.schedule.current is Rung.TERM:
            self._term(fresh)

    def due(self) -> Rung | None:
        return self.schedule.due() if self.fds or self.hidden else None

    def reached(self, rung: Rung) -> None:
        self.schedule.reached(rung)

    def skip_wait(self, warning: str) -> None:
        self.schedule.skip_wait(warning)

    def climb(self, rung: Rung) -> None:
        if rung is Rung.TERM:
            self._still_the_agent()
            self._term(list(self.fds))
        else:
            self._kill(list(self.fds))

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
        self.group.close()

    # -- looking ------------------------------------------------------------------------------

    def _scan(self) -> list[int]:
        """Opens a pidfd for every member not held yet; returns the pids that are new."""
        fresh: list[int] = []
        table = self.scans.table()
        held = Held([self.found[pid].process for pid in self.fds], self._led_by_the_dead(table))
        for member in members_of(self.target, table, self.scans.protected, held):
            pid = member.process.pid
            if pid in self.fds:
                continue
            fd = identity.open_verified(member.process)
            if fd is None:
                continue
            if identity.is_dead(fd):
                os.close(fd)
                continue
            self._bury(pid)
            self.fds[pid], self.found[pid] = fd, member
            self.began = True
            fresh.append(pid)
        return fresh

    def _scan_again(self) -> list[int]:
        self.scans.forget()
        return self._scan()

    def _led_by_the_dead(self, table: "Table") -> Collection[int]:
        """Numbers of dead members that have been in use as a session or group ever since.

        Once one is free, whoever uses it later is a stranger."""
        if self.led:
            used = {number for row in table.rows.values() for number in (row.sid, row.pgid)}
            mine = {pid for pid, at in self.led.items() if table.start(pid) in (None, at)}
            self.led = {pid: at for pid, at in self.led.items() if pid in used & mine}
        return self.led

    def _bury(self, pid: int) -> None:
        """Puts a dead member on record whose number another one has by now."""
        if pid in self.found:
            self.buried.append(self._ended(self.found.pop(pid)))
            self.signalled.pop(pid, None)

    def _search_the_group(self) -> None:
        """For who hops from pid to pid: frozen, it cannot. A look that finds nobody is the last."""
        fresh: list[int] = []
        if self.target.process and self.group.freeze(self.scans.table(), self._spared()):
            self.led[self.target.process.pid] = self.target.process.start  # in use, so still its
            fresh = self._scan_again()
        self._meet(fresh)
        if not fresh:
            self.group.close()

    def _somebody_hides(self) -> bool:
        """Whether the cgroup holds one of ours whom no scan catches: it hops from pid to pid."""
        inside = cgroup.pids(self.target.cgroup)
        return bool(inside and inside - self._spared())

    def _spared(self) -> set[int]:
        return untouchable(self.scans.table(), self.scans.protected, self.target)

    def _proven(self) -> bool:
        """By an empty cgroup that held the agent from birth: an adopted one, which never had a
        keeper, may have let go of somebody before."""
        return self.target.keeper is not None and cgroup.is_empty(self.target.cgroup)

    def _drop_dead(self) -> None:
        for pid, fd in list(self.fds.items()):
            if identity.is_dead(fd):
                os.close(self.fds.pop(pid))
                self.refused.pop(pid, None)
                self.led[pid] = self.found[pid].process.start

    def _all_refused(self) -> bool:
        return all(self.refused.get(pid) == identity.DENIED for pid in self.fds)

    def _hopeless(self) -> bool:
        """The kernel refused us everywhere, and no cgroup is left to kill, which needs no right."""
        return self._all_refused() and not (self.target.cgroup and self._may_kill_at_once())

    def _may_kill_at_once(self) -> bool:
        """A kept run is ours. Who was adopted may be another's, as the kernel says of a signal."""
        if self.target.keeper is not None:
            return True
        return all(identity.send(fd, 0) != identity.DENIED for fd in self.fds.values())

    def _agent_gone(self) -> bool:
        return self.target.process is None or self.target.process.pid not in self.fds

    def _in_agents_group(self, pid: int) -> bool:
        row = self.scans.table().rows.get(pid)
        agent = self.target.process
        return bool(row and agent and row.pgid == agent.pid)

    # -- signalling ---------------------------------------------------------------------------

    def _still_the_agent(self) -> None:
        """Stops it, until TERM wakes it again, so that no child is born between look and signal.

        Not on a terminal: its shell would take that back. Not in a cgroup, which knows them all."""
        agent = self.target.process
        row = self.scans.table().rows.get(agent.pid) if agent else None
        if self.target.cgroup or row is None or row.tty or row.pid not in self.fds:
            return
        stand_still(row.pid, self.fds[row.pid], self._scan_again)

    def _term(self, pids: list[int]) -> None:
        """The agent and its group first; the others once it has gone, or half-way."""
        late = self._agent_gone() or time.monotonic() >= self.schedule.half_way()
        for pid in list(self.fds) if late else pids:
            agent = self.target.process is not None and pid == self.target.process.pid
            if (agent or late or self._in_agents_group(pid)) and pid not in self.signalled:
                self._send(pid, signal.SIGTERM)

    def _kill(self, fresh: list[int]) -> None:
        """Stopped before it is killed, until no look finds more, so that nothing forks away."""
        inside = cgroup.pids(self.target.cgroup)
        alone = inside and not inside & self._spared() and self._may_kill_at_once()
        if alone and cgroup.kill(self.target.cgroup):
            for pid in inside & set(self.fds):
                self.signalled[pid] = signal.SIGKILL
        while fresh:
            for pid in fresh:
                identity.send(self.fds[pid], signal.SIGSTOP)
            fresh = self._scan_again()
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
            cgroup.dissolve(self.target.cgroup, self._spared())
        dead = [member for pid, member in self.found.items() if pid not in self.fds]
        return Fall(
            run=self.target.run,
            proof=proof,
            began=self.began,
            denied=bool(self.fds) and self._all_refused(),
            rungs=(*self.schedule.rungs, *self.schedule.unreached()),
            processes=(*self._ended_unseen(), *self.buried, *map(self._ended, dead)),
            survivors=tuple(self._survivor(pid) for pid in self.fds),
            survivor_ids=tuple(self._identity(pid) for pid in self.fds),
            journal=journal,
            millis=self.schedule.millis(),
            warnings=tuple(self.schedule.warnings),
        )

    def _ended_unseen(self) -> tuple[Ended, ...]:
        """The agent, if it went while its keeper, which left no word of it, had it in hand."""
        agent = self.target.process
        if agent is None or not self.agents_command or agent.pid in self.found:
            return ()
        return (Ended(agent.pid, self.agents_command, "agent", "unknown"),)

    def _ended(self, member: Member) -> Ended:
        number = self.signalled.get(member.process.pid)
        how = "exit" if number is None else SIGNAL_WORDS[number]
        return Ended(member.process.pid, member.command, member.via, how)

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
