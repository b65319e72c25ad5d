"""The keeper's loop: one run from its start until wait() says that no child is left."""

import os
import select
import time

import cgroup
import job_control
from death_evidence import DeathEvidence
from descendants import Descendants
from job_control import JobControl
from journal import VERSION, JournalWriter, exit_of
from launch import NOT_FOUND, LaunchFile, asked_grace, execute, tell_spawner
from machine import ADOPTS, RSS_UNIT, TERMINAL_POLLS, can_look, proc
from output import Output, is_file
from proc import Process, signal

Family = Descendants
if not ADOPTS:
    from ledger import Ledger as Family

SWEEP_AGAIN = 0.005  # between two sweeps after KILL: something may have forked in between
SLOWEST_SWEEP = 0.25
STUCK_AFTER = 1.0  # seconds after KILL that a process may take to go before it is reported


class Keeper:
    def __init__(self, rundir: str, *, detached: bool) -> None:
        self.rundir = rundir
        self.wake = job_control.make_wakeup_pipe()
        self.heard = job_control.install_handlers(detached=detached)
        self.launch = LaunchFile(rundir)
        if not detached:  # what was asked for by name wins over what the pane says
            self.launch.env = job_control.pane_environment() | self.launch.env
        self.journal = JournalWriter(rundir)
        self.terminal = JobControl(detached=detached)
        limited = detached and self.launch.limit and is_file(1)
        self.output = Output(rundir, self.launch.limit) if limited else None
        mark = os.fsdecode(self.launch.env.get(b"WINDOWID", b""))
        self.descendants = Family(os.getpid(), rundir, self.launch.spare, mark)
        self.evidence: DeathEvidence | None = None
        self.cgroup = ""  # its cgroup, if it has one
        self.agent = 0  # its pid
        self.status: int | None = None  # the agent's wait status, once it is reaped
        self.ending = ""  # why the run is ending
        self.due: list[tuple[float, str]] = []  # (monotonic time, rung) still to take
        self.began = self.killed_at = 0.0
        self.pause = SWEEP_AGAIN
        self.termed: set[tuple[int, int]] = set()  # (pid, start): each process gets TERM once

    # -- starting -----------------------------------------------------------------------------

    def start(self) -> bool:
        """Starts the agent; False if it could not be executed. Its birth is written down before it
        can write there itself, because the first of two is believed."""
        self.journal.write("keeper", *proc.identity(os.getpid()), VERSION)
        if os.path.exists(os.path.join(self.rundir, "end")):
            self.journal.write("failed", "cancelled before it started")
            return False
        self.cgroup = cgroup.make_own(os.path.basename(self.rundir))
        self.evidence = DeathEvidence()
        lending = self.terminal.in_front()
        if lending:
            self.terminal.remember_modes()
        lending = lending and self.terminal.own_group
        heard, said = os.pipe()
        told, go = os.pipe()
        self.agent = os.fork()
        if not self.agent:
            os.close(go)
            self.become_agent(told, said, lending=lending)
        cgroup.enter(self.cgroup, self.agent)
        inside = self.cgroup if cgroup.holds(self.cgroup, self.agent) else ""
        self.journal.write("born", *proc.identity(self.agent), inside)
        os.write(go, b"!")
        for fd in (said, told, go):
            os.close(fd)
        if self.output:
            self.output.close_outlet()
        self.terminal.agent = self.descendants.agent = self.agent
        if lending:
            self.terminal.lend(self.agent)
        trouble = os.read(heard, 512)
        os.close(heard)
        if trouble:
            self.say_failed(trouble)
            return False
        return True

    def become_agent(self, told: int, said: int, *, lending: bool) -> None:
        """In the child: never returns."""
        code = NOT_FOUND
        try:
            if self.terminal.own_group:
                os.setpgid(0, 0)
            if lending:
                self.terminal.hand_to(os.getpid())
            if self.output:
                self.output.become_agents()
            job_control.reset_signals(self.heard)
            if os.read(told, 1):  # else our keeper was killed
                code, why = execute(self.launch)
                os.write(said, why)
        finally:
            os._exit(code)

    def say_failed(self, why: bytes) -> None:
        self.journal.write("failed", os.fsdecode(why))
        try:
            os.write(2, b"knell: " + why + b"\n")
        except OSError:
            pass  # stderr is closed; the journal has it

    # -- living -------------------------------------------------------------------------------

    def run(self) -> str:
        """Keeps the run until its end; says what proves it: no child left, or only spared ones.
        Nothing if we could not look: then knell looks without us."""
        if not self.start():
            self.ending = "failed"
        tell_spawner(self.rundir)
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        if self.terminal.fd >= 0 and TERMINAL_POLLS:
            poll.register(self.terminal.fd, 0)  # only its hangup
        if self.output:
            poll.register(self.output.inlet, select.POLLIN)
        while self.reap() or self.descendants.others_left():
            self.descendants.note()
            if self.ending:
                self.take_due_rungs()
                if self.descendants.only_spared_left():
                    return "scan" if can_look() else ""
            for fd, _ in poll.poll(self.timeout()):
                if not self.hear(fd):
                    poll.unregister(fd)
        if not can_look():
            return ""
        return "echild" if ADOPTS else "scan"

    def hear(self, fd: int) -> bool:
        """Acts on what has come there; False if nothing more can come."""
        if fd == self.wake:
            self.handle(os.read(fd, 4096))
            return True
        if self.output and fd == self.output.inlet:
            return self.output.take_in()
        # The kernel signals the group in front and the session's leader; we may be neither.
        if self.terminal.lent and signal.SIGHUP in self.heard:
            self.end("hangup", None)
        return False

    def timeout(self) -> int | None:
        """Milliseconds until something is due; None waits for ever, which costs no CPU."""
        if not self.ending:
            return self.descendants.next_note()
        if self.descendants.calm:
            return int(SWEEP_AGAIN * 1000)
        if self.due:
            wait = max(0, int((self.due[0][0] - time.monotonic()) * 1000) + 1)
            return wait if ADOPTS else min(wait, 50)  # nobody wakes us for another's child
        self.pause = min(self.pause * 2, SLOWEST_SWEEP)
        return int(self.pause * 1000)

    def handle(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers:
            grace = asked_grace(self.rundir)
            self.end("signal" if grace is None else "asked", grace)
        elif signal.SIGHUP in numbers:
            self.end("hangup", None)
        for number in job_control.PASSED_ON:
            if number in numbers:
                self.terminal.pass_on(number)

    def reap(self) -> bool:
        """Collects every dead child; False when there is no child any more."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if os.WIFSTOPPED(status):
                if pid == self.agent and not self.ending:
                    self.terminal.on_agent_stopped(os.WSTOPSIG(status))
                continue
            if self.ending:
                self.journal.write("reaped", pid, *exit_of(status))
            if pid == self.agent:
                cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss // RSS_UNIT
                self.journal.write("exit", *exit_of(status), memory, f"{cpu:.3f}")
                self.on_agent_ended(status)

    def on_agent_ended(self, status: int) -> None:
        self.status = status
        self.terminal.on_agent_ended(by_signal=os.WIFSIGNALED(status))
        if not self.ending:
            self.end("exit", None)
        elif not self.killed_at:
            self.descendants.walk()
            self.journal.note_descendants(self.descendants)
        if self.descendants.found and not self.killed_at:  # after KILL they are going, not left
            self.journal.write("left", *(process.pid for process in self.descendants.found))

    # -- ending -------------------------------------------------------------------------------

    def end(self, cause: str, grace: float | None) -> None:
        """Plans the rungs; asked again, it can only bring them forward."""
        now = time.monotonic()
        seconds = self.launch.grace if grace is None else grace
        if self.ending:
            self.due = [(min(at, now + seconds), rung) for at, rung in self.due]
            return
        self.ending, self.began = cause, now
        self.journal.write("cause", cause, f"{now:.3f}")
        self.descendants.walk()
        self.journal.note_descendants(self.descendants)
        first = "hangup" if cause == "hangup" else "term"
        self.due = [(now, first), (now + seconds / 2, "rest"), (now + seconds, "kill")]
        if not seconds:
            self.due = [(now, "kill")]

    def take_due_rungs(self) -> None:
        now = time.monotonic()
        if self.status is not None:  # the agent has gone: the others need not wait for it
            self.due = [(now if rung == "rest" else at, rung) for at, rung in self.due]
        while self.due and self.due[0][0] <= now:
            rung = self.due.pop(0)[1]
            if rung == "kill":
                self.killed_at = now
            if rung != "rest":  # the second half of TERM, not a rung of its own
                self.journal.write("rung", rung, int((now - self.began) * 1000))
            if rung == "hangup":
                self.hang_up()
            elif rung in ("term", "rest"):
                self.term(everyone=rung == "rest")
        if self.killed_at:
            self.kill_all()

    def hang_up(self) -> None:
        """The terminal is gone, for the agent and for every run that was started inside it."""
        self.signal_group(signal.SIGHUP)
        for process in self.descendants.other_keepers(os.getsid(0)):
            self.send(process, signal.SIGHUP)

    def term(self, *, everyone: bool) -> None:
        """The agent's group first; the others once the agent has gone, or half-way."""
        fresh = [p for p in self.descendants.walk() if (p.pid, p.start) not in self.termed]
        self.journal.note_descendants(self.descendants)
        if self.status is None and not self.termed:
            self.signal_group(signal.SIGTERM)
            group = [p for p in fresh if p.pgid == self.agents_group()]
            self.termed |= {(p.pid, p.start) for p in group}
            fresh = [p for p in fresh if p not in group]
        for process in fresh if everyone else ():
            self.send(process, signal.SIGTERM)
            self.termed.add((process.pid, process.start))

    def kill_all(self) -> None:
        found = self.descendants.walk()
        self.journal.note_descendants(self.descendants)
        cgroup.kill_exactly(self.cgroup, {process.pid for process in found})
        self.descendants.kill_groups()
        for process in found:  # also after that: a cgroup's kill misses one whose main thread left
            self.send(process, signal.SIGKILL)
        self.descendants.open_panes.close()
        if time.monotonic() - self.killed_at > STUCK_AFTER:
            for process in self.descendants.walk():
                self.journal.note("stuck", process, "still there after SIGKILL")

    def agents_group(self) -> int:
        return self.agent if self.terminal.own_group else os.getpgrp()

    def signal_group(self, number: int) -> None:
        """To the agent's group, in one call if it is all ours: then no fork slips through.

        Only while the unreaped agent keeps the group's number from being reused."""
        if self.status is not None:
            return
        group = self.agents_group()
        if self.terminal.own_group and all(p.pgid != group for p, _ in self.descendants.spared):
            self.terminal.signal_agent(number)
            self.terminal.signal_agent(signal.SIGCONT)
            return
        for process in self.descendants.found:
            if process.pgid == group:
                self.send(process, number)

    def send(self, process: Process, number: int) -> None:
        trouble = proc.send(process, number)
        if trouble:
            self.journal.note("stuck", process, trouble)
