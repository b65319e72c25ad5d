"""Ends a run from outside, without a keeper: look, signal by identity, look again.

A scan can never prove absence, so the best this can say is "none found", unless a keeper proved
the end a moment before.
"""

import signal
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from knell.core.ladder import Rung
from knell.core.ports.endings import EndReport
from knell.core.ports.processes import Target
from knell.core.process import FoundProcess, Gone
from knell.core.receipt import Ended, Proof, Survivor
from knell.processes.ending.chase import AdoptedGroup, newest_stopped, stop_process
from knell.processes.journal import SIGNAL_WORDS, read_journal
from knell.processes.members import members_of, seeds, spared_servers, untouchable
from knell.processes.os import cgroup, system
from knell.processes.os.tmux_client import OpenPanes
from knell.processes.table import environments

if TYPE_CHECKING:
    from knell.processes.ending.loop import RunEnding, Scans, Schedule

CALM_LOOKS = 3  # empty scans in a row before "none found": one alone misses pid-hoppers
BETWEEN_LOOKS = 0.002
CAUGHT = 2.0  # seconds at most that one which hopped may take to die; a busy machine is slow
HUNTED = 5.0  # seconds after a rung in which others that appear get this time as well
RESCAN = 0.05  # while waiting: how often to look for processes that appeared since


class OutsideEnding:
    """Ends one run by signals to its processes, each by its identity."""

    def __init__(
        self, target: Target, scans: "Scans", schedule: "Schedule", after: "RunEnding | None"
    ) -> None:
        self.target = target
        self.scans = scans
        self.schedule = schedule
        if after and not schedule.steps:  # the keeper has taken every rung
            self.schedule.steps = [step for step in target.ladder if step.rung is Rung.KILL]
            self.schedule.next_at = time.monotonic()
        self.found: dict[int, FoundProcess] = {}
        self.fds: dict[int, int] = {}  # pid → verified pidfd
        self.led: dict[int, int] = {}  # pid → start, of dead members
        self.buried: list[Ended] = []
        self.signalled: dict[int, int] = {}  # pid → strongest signal sent
        self.refused: dict[int, str] = {}  # pid → why the kernel did not let it be signalled
        self.calm = 0  # looks in a row that found nothing
        self.panes = OpenPanes(environments)  # in servers that live on
        self.hidden = False  # whether the cgroup holds one that hops from pid to pid, unseen
        # With rungs behind it, the keeper got the order, and may have ended all of it.
        self.began = bool(after and schedule.rungs)
        self.agents_command = after.agents_command if after else ""  # for one that is not found
        self.group = AdoptedGroup(target)
        self.report: EndReport | None = None
        away = [process for _, process in seeds(target) if process.boot != system.here()]
        self.unseen = [one for one in away if not isinstance(system.look(one), Gone)]  # may live

    def turn(self, _: Collection[int]) -> None:
        """Looks; reports when enough looks in a row found nothing, or no rung is left."""
        for pid, fd in list(self.fds.items()):
            if system.is_dead(fd):
                system.close(self.fds.pop(pid))
                self.refused.pop(pid, None)
                self.led[pid] = self.found[pid].process.start
        (self._meet if self.schedule.steps else self._meet_hopper)(self._scan())
        inside = cgroup.pids(self.target.cgroup)
        self.hidden = bool(inside and inside - self._spared())
        if not self.fds and self.group.is_open:
            self._search_the_group()
        if not self.fds and self.calm == CALM_LOOKS - 1:
            self._chase()
            if self.panes.servers:  # else nobody can have started a pane meanwhile
                self.panes.settle()
                self._meet_hopper(self._scan_again())
        self.calm = 0 if self.fds or self.hidden else self.calm + 1
        if self.unseen or (self.fds and (self.schedule.exhausted or self._hopeless())):
            self.report = self._report(Proof.SURVIVORS)
        elif not self.fds and self._proven():
            self.report = self._report(Proof.PROVEN)
        elif self.calm >= CALM_LOOKS or (self.hidden and self.schedule.exhausted):
            self.report = self._report(Proof.NONE_FOUND)

    def _meet(self, fresh: list[int]) -> None:
        """Sends processes that appear late the signals that the others have got."""
        if self.schedule.current is Rung.KILL:
            self._kill(fresh)
        elif self.schedule.current is Rung.TERM:
            self._term(fresh)

    def due(self) -> Rung | None:
        return self.schedule.due() if self.fds or self.hidden else None

    def apply(self, rung: Rung) -> None:
        if rung is Rung.TERM:
            self._stop_the_agent()
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
        if self.schedule.current is Rung.TERM and self._half_way() > now:
            wake = min(wake, self._half_way())
        return wake

    def _half_way(self) -> float:
        """Half of the wait after the current rung: then the rest of the run gets its TERM."""
        return (self.schedule.current_at + self.schedule.next_at) / 2

    def close(self) -> None:
        for fd in self.fds.values():
            system.close(fd)
        self.fds.clear()
        self.group.close()

    # -- looking ------------------------------------------------------------------------------

    def _scan(self) -> list[int]:
        """Opens a pidfd for every member not held yet; returns the pids that are new."""
        fresh: list[int] = []
        table = self.scans.table()
        servers = table.tmux_servers()
        known, self.led = [self.found[pid].process for pid in self.fds], table.still_led(self.led)
        for member in members_of(self.target, table, self.scans.protected, known, self.led):
            pid = member.process.pid
            if pid in self.fds:
                continue
            fd = system.open_verified(member.process)
            if fd is None:
                continue
            if system.is_dead(fd):
                system.close(fd)
                continue
            if pid in self.found:  # a dead member, whose number this one has by now
                self.buried.append(self._ended(self.found.pop(pid)))
                self.signalled.pop(pid, None)
            self.fds[pid], self.found[pid] = fd, member
            if member.parent in servers:
                self.panes.note(member.parent, pid)
            self.began = True
            fresh.append(pid)
        return fresh

    def _scan_again(self) -> list[int]:
        self.scans.forget()
        return self._scan()

    def _search_the_group(self) -> None:
        """Stops the agent's group, so that nothing in it hops, until one look finds no more."""
        fresh, agent = list[int](), self.target.process
        rows = self.scans.table().rows.values()
        if agent and self.group.stop(rows, self._spared()):
            self.led[agent.pid] = agent.start  # in use, so still its
            fresh = self._scan_again()
        self._meet_hopper(fresh)
        if not fresh:
            self.group.close()

    def _chase(self) -> None:
        """Stops stamped processes that hop too fast for a look, where no cgroup holds them."""
        if self.target.keeper is None or self.target.cgroup:
            return
        with newest_stopped(self.target.run, self._spared(), self.fds):
            self._meet_hopper(self._scan_again())  # also one that has come to rest meanwhile

    def _meet_hopper(self, fresh: list[int]) -> None:
        self._meet(fresh)
        now = time.monotonic()
        if fresh and now < self.schedule.current_at + HUNTED:  # also if caught after the last rung
            self.schedule.next_at = max(self.schedule.next_at, now + CAUGHT)

    def _spared(self) -> set[int]:
        return untouchable(self.scans.table(), self.scans.protected, self.target)

    def _spared_by_now(self) -> set[int]:
        self.scans.forget()
        return self._spared()

    def _proven(self) -> bool:
        """Whether a keeper proved the end just before this ending began, and nothing lived since.
        An empty cgroup proves nothing without one: a process may have moved itself out."""
        kept = self.target.keeper is not None and not self.found
        return kept and read_journal(self.target.rundir, self.target.seal).proven

    def _all_refused(self) -> bool:
        return all(self.refused.get(pid) == system.DENIED for pid in self.fds)

    def _hopeless(self) -> bool:
        """Whether the kernel refused every signal, and no cgroup is left that may be killed."""
        return self._all_refused() and not (self.target.cgroup and self._may_kill_at_once())

    def _may_kill_at_once(self) -> bool:
        """A run with a keeper is this user's. An adopted one may be another user's."""
        allowed = (system.send(fd, 0) != system.DENIED for fd in self.fds.values())
        return self.target.keeper is not None or all(allowed)

    # -- signalling ---------------------------------------------------------------------------

    def _stop_the_agent(self) -> None:
        """Stops it, until TERM wakes it again, so that no child is born between look and signal.

        Not on a terminal: its shell would take that back. Not in a cgroup, which knows them all."""
        agent = self.target.process
        row = self.scans.table().rows.get(agent.pid) if agent else None
        if self.target.cgroup or row is None or row.tty or row.pid not in self.fds:
            return
        stop_process(row.pid, self.fds[row.pid], self._scan_again)

    def _term(self, pids: list[int]) -> None:
        """The agent and its group first; the others once it has gone, or half-way."""
        agent = self.target.process.pid if self.target.process else 0
        late = agent not in self.fds or time.monotonic() >= self._half_way()
        for pid in list(self.fds) if late else pids:
            row = self.scans.table().rows.get(pid)
            first = pid == agent or (row and row.pgid == agent)
            if (first or late) and pid not in self.signalled:
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
                system.send(self.fds[pid], signal.SIGSTOP)
            fresh = self._scan_again()
        for pid in list(self.fds):
            self._send(pid, signal.SIGKILL)
        self.panes.close()

    def _send(self, pid: int, number: int) -> None:
        keeper = self.target.keeper.pid if self.target.keeper else 0
        if pid == keeper and len(self.fds) > 1 and number == signal.SIGTERM:
            return  # a frozen keeper goes last: while it lives, it keeps its children
        if system.is_dead(self.fds[pid]):
            return  # since the last look: the signal before this one has ended it
        self.signalled[pid] = number
        trouble = system.send(self.fds[pid], number)
        if trouble:
            self.refused[pid] = trouble
        elif number == signal.SIGTERM and system.obeys_hangup_only(pid):
            self.signalled[pid] = signal.SIGHUP
            system.send(self.fds[pid], signal.SIGHUP)

    # -- the report ---------------------------------------------------------------------------

    def _report(self, proof: Proof) -> EndReport:
        journal = read_journal(self.target.rundir, self.target.seal)
        stay = spared_servers(self.target, self.scans.table(), self._spared())
        journal = journal._replace(kept=(*journal.kept, *stay))
        if not self.fds and not self.unseen:
            cgroup.dissolve(self.target.cgroup, self._spared())
            cgroup.release(self.target.cgroup, self._spared_by_now)
        dead = [member for pid, member in self.found.items() if pid not in self.fds]
        return self.schedule.report(self.target.run, proof, journal)._replace(
            began=self.began,
            denied=bool(self.fds) and self._all_refused(),
            processes=(*self._ended_unseen(), *self.buried, *map(self._ended, dead)),
            survivors=(
                *(Survivor(one.pid, "?", "?", system.ELSEWHERE) for one in self.unseen),
                *(self._survivor(pid) for pid in self.fds),
            ),
            survivor_ids=tuple(
                self.found[pid].process._replace(inode=system.number_of(fd))
                for pid, fd in self.fds.items()
            ),
        )

    def _ended_unseen(self) -> tuple[Ended, ...]:
        """The agent, if it ended under its keeper and the keeper wrote nothing about it."""
        agent = self.target.process
        if not agent or not self.agents_command or agent.pid in self.found:
            return ()
        return (Ended(agent.pid, self.agents_command, "agent", "unknown"),)

    def _ended(self, member: FoundProcess) -> Ended:
        number = self.signalled.get(member.process.pid)
        how = "exit" if number is None else SIGNAL_WORDS[number]
        return Ended(member.process.pid, member.command, member.via, how)

    def _survivor(self, pid: int) -> Survivor:
        state = row.state if (row := system.stat_of(pid)) else "?"
        why = "uninterruptible sleep" if state == "D" else "still there after SIGKILL"
        return Survivor(pid, self.found[pid].command, state, self.refused.get(pid) or why)
