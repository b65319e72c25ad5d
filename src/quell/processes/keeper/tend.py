"""One run from its start until wait() says that no child is left.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os
import select
import time

import kin
import leaf
import look
from autopsy import Autopsy
from diary import Diary
from ears import PASSED_ON, listening, reset, wakened
from launch import NOT_FOUND, Launch, execute
from quick import signal
from terminal import Terminal, pane_environment

SWEEP_AGAIN = 0.005  # between two sweeps after KILL: something may have forked in between
SLOWEST_SWEEP = 0.25
LONGEST_GRACE = 86_400.0  # seconds; nobody can ask for more
STUCK_AFTER = 1.0  # seconds after KILL that a process may take to go before it is reported


class Keeper:
    def __init__(self, rundir: str, *, detached: bool) -> None:
        self.rundir = rundir
        self.wake = wakened()
        self.heard = listening(detached=detached)
        self.launch = Launch(rundir)
        if not detached:  # what was asked for by name wins over what the pane says
            self.launch.env = pane_environment() | self.launch.env
        self.diary = Diary(rundir)
        self.terminal = Terminal(detached=detached)
        self.kin = kin.Kin(os.getpid(), rundir, self.launch.spare)
        self.autopsy: Autopsy | None = None
        self.leaf = ""  # its cgroup, if it has one
        self.agent = 0  # its pid
        self.status: int | None = None  # the agent's wait status, once it is reaped
        self.ending = ""  # why the run is ending
        self.due: list[tuple[float, str]] = []  # (monotonic time, rung) still to climb
        self.began = 0.0
        self.killed_at = 0.0
        self.pause = SWEEP_AGAIN
        self.termed: set[tuple[int, int]] = set()  # (pid, start): nobody gets TERM twice

    # -- starting -----------------------------------------------------------------------------

    def start(self) -> bool:
        """Starts the agent; False if it could not be executed."""
        self.diary.write("keeper", *look.identity(os.getpid()))
        if os.path.exists(os.path.join(self.rundir, "end")):
            self.diary.write("failed", "cancelled before it started")
            return False
        self.leaf = leaf.make(os.path.basename(self.rundir))
        self.autopsy = Autopsy()
        lending = self.terminal.in_front()
        if lending:
            self.terminal.remember_modes()
        lending = lending and self.terminal.own_group
        heard, told = os.pipe()
        self.agent = os.fork()
        if not self.agent:
            self.become_agent(told, lending=lending)
        os.close(told)
        self.terminal.agent = self.kin.agent = self.agent
        if lending:
            self.terminal.lend(self.agent)
        trouble = os.read(heard, 512)
        os.close(heard)
        if trouble:
            self.say_failed(trouble)
            return False
        inside = self.leaf if leaf.holds(self.leaf, self.agent) else ""
        self.diary.write("born", *look.identity(self.agent), inside)
        return True

    def become_agent(self, told: int, *, lending: bool) -> None:
        """In the child: never returns."""
        code = NOT_FOUND
        try:
            if self.terminal.own_group:
                os.setpgid(0, 0)
            if lending:
                self.terminal.hand_to(os.getpid())
            leaf.enter(self.leaf)
            reset(self.heard)
            code, why = execute(self.launch)
            os.write(told, why)
        finally:
            os._exit(code)

    def say_failed(self, why: bytes) -> None:
        self.diary.write("failed", os.fsdecode(why))
        try:
            os.write(2, b"quell: " + why + b"\n")
        except OSError:
            pass  # nobody listens; the journal has it

    def tell_spawner(self) -> None:
        """Wakes whoever waits on the fifo; nobody may be there, and that is fine."""
        try:
            os.close(os.open(os.path.join(self.rundir, "ready"), os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass

    # -- living -------------------------------------------------------------------------------

    def live(self) -> str:
        """Tends the run to its end; says what proves it: no child left, or only spared ones."""
        if not self.start():
            self.ending = "failed"
        self.tell_spawner()
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        if self.terminal.fd >= 0:
            poll.register(self.terminal.fd, 0)  # only its hangup
        while self.reap():
            if self.ending:
                self.climb()
                if self.kin.only_spared_left():
                    return "scan"
            for fd, _ in poll.poll(self.patience()):
                if fd == self.wake:
                    self.hear(os.read(fd, 4096))
                else:
                    poll.unregister(fd)
                    self.terminal_gone()
        return "echild"

    def patience(self) -> int | None:
        """Milliseconds until something is due; None waits for ever, which costs no CPU."""
        if not self.ending:
            return None
        if self.kin.calm:
            return int(SWEEP_AGAIN * 1000)
        if self.due:
            return max(0, int((self.due[0][0] - time.monotonic()) * 1000) + 1)
        self.pause = min(self.pause * 2, SLOWEST_SWEEP)
        return int(self.pause * 1000)

    def hear(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers:
            grace = self.asked_grace()
            self.end("signal" if grace is None else "asked", grace)
        elif signal.SIGHUP in numbers:
            self.end("hangup", None)
        for number in PASSED_ON:
            if number in numbers:
                self.terminal.pass_on(number)

    def terminal_gone(self) -> None:
        """The kernel tells the group in front and the session's leader; we may be neither."""
        if self.terminal.lent and signal.SIGHUP in self.heard:
            self.end("hangup", None)

    def asked_grace(self) -> float | None:
        """None for what is no number of seconds: it would put the KILL off for ever."""
        try:
            fd = os.open(os.path.join(self.rundir, "end"), os.O_RDONLY | os.O_NONBLOCK)
            try:
                grace = float(os.read(fd, 64))
            finally:
                os.close(fd)
        except (OSError, ValueError):
            return None
        return grace if 0 <= grace <= LONGEST_GRACE else None

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
                    self.terminal.agent_stopped(os.WSTOPSIG(status))
                continue
            if self.ending:
                self.diary.write("reaped", pid, *how(status))
            if pid == self.agent:
                cpu = usage.ru_utime + usage.ru_stime
                self.diary.write("exit", *how(status), usage.ru_maxrss, f"{cpu:.3f}")
                self.agent_ended(status)

    def agent_ended(self, status: int) -> None:
        self.status = status
        self.terminal.agent_ended(by_signal=os.WIFSIGNALED(status))
        if not self.ending:
            self.end("exit", None)
        elif not self.killed_at:
            self.kin.walk()
            self.diary.note_kin(self.kin)
        if self.kin.found and not self.killed_at:  # after KILL they are going, not left
            self.diary.write("left", *(process.pid for process in self.kin.found))

    # -- ending -------------------------------------------------------------------------------

    def end(self, cause: str, grace: float | None) -> None:
        """Plans the rungs; asked again, it can only get faster."""
        now = time.monotonic()
        seconds = self.launch.grace if grace is None else grace
        if self.ending:
            self.due = [(min(at, now + seconds), rung) for at, rung in self.due]
            return
        self.ending, self.began = cause, now
        self.diary.write("cause", cause, f"{now:.3f}")
        self.kin.walk()
        self.diary.note_kin(self.kin)
        first = "hangup" if cause == "hangup" else "term"
        self.due = [(now, first), (now + seconds / 2, "rest"), (now + seconds, "kill")]
        if not seconds:
            self.due = [(now, "kill")]

    def climb(self) -> None:
        now = time.monotonic()
        if self.status is not None:  # the agent has gone: the others need not wait for it
            self.due = [(now if rung == "rest" else at, rung) for at, rung in self.due]
        while self.due and self.due[0][0] <= now:
            rung = self.due.pop(0)[1]
            if rung == "kill":
                self.killed_at = now
            if rung != "rest":  # the second half of TERM, not a rung of its own
                self.diary.write("rung", rung, int((now - self.began) * 1000))
            if rung == "hangup":
                self.hang_up()
            elif rung in ("term", "rest"):
                self.term(everybody=rung == "rest")
        if self.killed_at:
            self.kill_all()

    def hang_up(self) -> None:
        """The terminal is gone, for the agent and for every run that was started inside it."""
        self.signal_group(signal.SIGHUP)
        for process in self.kin.other_keepers(os.getsid(0)):
            self.send(process, signal.SIGHUP)

    def term(self, *, everybody: bool) -> None:
        """The agent's group first; everybody else once the agent has gone, or half-way."""
        fresh = [p for p in self.kin.walk() if (p.pid, p.start) not in self.termed]
        self.diary.note_kin(self.kin)
        if self.status is None and not self.termed:
            self.signal_group(signal.SIGTERM)
            group = [p for p in fresh if p.pgid == self.agents_group()]
            self.termed |= {(p.pid, p.start) for p in group}
            fresh = [p for p in fresh if p not in group]
        for process in fresh if everybody else ():
            self.send(process, signal.SIGTERM)
            self.termed.add((process.pid, process.start))

    def kill_all(self) -> None:
        found = self.kin.walk()
        self.diary.note_kin(self.kin)
        leaf.kill(self.leaf, found)
        for process in found:  # also after that: a cgroup's kill misses one whose main thread left
            self.send(process, signal.SIGKILL)
        if time.monotonic() - self.killed_at > STUCK_AFTER:
            for process in self.kin.walk():
                self.diary.note("stuck", process, "still there after SIGKILL")

    def agents_group(self) -> int:
        return self.agent if self.terminal.own_group else os.getpgrp()

    def signal_group(self, number: int) -> None:
        """To the agent's group, in one call if it is all ours: then no fork slips through.

        Only while the unreaped agent keeps the group's number from being reused."""
        if self.status is not None:
            return
        group = self.agents_group()
        if self.terminal.own_group and all(p.pgid != group for p, _ in self.kin.spared):
            self.terminal.signal_agent(number)
            self.terminal.signal_agent(signal.SIGCONT)
            return
        for process in self.kin.found:
            if process.pgid == group:
                self.send(process, number)

    def send(self, process: look.Process, number: int) -> None:
        trouble = look.send(process, number)
        if trouble:
            self.diary.note("stuck", process, trouble)


def how(status: int) -> tuple[str, int]:
    if os.WIFSIGNALED(status):
        return ("signal", os.WTERMSIG(status))
    return ("exit", os.WEXITSTATUS(status))
