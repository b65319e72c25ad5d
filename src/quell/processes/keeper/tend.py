"""One run from its start until wait() says that no child is left.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os
import select
import signal
import time

import kin
import leaf
import look
import terminal

SWEEP_AGAIN = 0.005  # between two sweeps after KILL: something may have forked in between
SLOWEST_SWEEP = 0.25
STUCK_AFTER = 1.0  # seconds after KILL that a process may take to go before it is reported
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
HEARD = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP)
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


class Launch:
    """The request: one file of NUL-separated fields, removed once read, for it holds secrets."""

    def __init__(self, rundir):
        path = os.path.join(rundir, "launch")
        with open(path, "rb") as file:
            fields = file.read().split(b"\0")
        os.unlink(path)
        self.cwd, self.grace = fields[0], float(fields[1])
        rules, args = int(fields[2]), int(fields[3])
        rest = fields[4:]
        self.spare = [os.fsdecode(rule) for rule in rest[:rules]]
        self.argv = rest[rules : rules + args]
        self.env = dict(pair.split(b"=", 1) for pair in rest[rules + args :] if b"=" in pair)


class Keeper:
    def __init__(self, rundir, env):
        self.rundir = rundir
        self.launch = Launch(rundir)
        self.launch.env.update(env)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self.journal = os.open(os.path.join(rundir, "journal"), flags, 0o600)
        self.terminal = terminal.Terminal()
        self.kin = kin.Kin(os.getpid(), rundir, self.launch.spare)
        self.leaf = ""  # its cgroup, if it has one
        self.agent = 0  # its pid, also its process group
        self.status = None  # the agent's wait status, once it is reaped
        self.ending = ""  # why the run is ending
        self.due = []  # (monotonic time, rung) still to climb
        self.began = 0.0
        self.killed_at = 0.0
        self.pause = SWEEP_AGAIN
        self.noted = set()  # (word, pid) already written down

    # -- telling ------------------------------------------------------------------------------

    def write(self, *fields):
        line = "\t".join(str(field).replace("\t", " ").replace("\n", " ") for field in fields)
        os.write(self.journal, os.fsencode(line + "\n"))

    def note(self, word, process, why):
        if (word, process.pid) not in self.noted:
            self.noted.add((word, process.pid))
            inode = look.pidfd_inode(process.pid) if word == "kept" else 0
            facts = (process.pid, process.start, inode, process.state)
            self.write(word, *facts, why, process.command())

    def note_found(self):
        for process in self.kin.found:
            self.note("found", process, "agent" if process.pid == self.agent else "tree")
        for process, why in self.kin.spared:
            self.note("kept", process, why)

    def tell_spawner(self):
        """Wakes whoever waits on the fifo; nobody may be there, and that is fine."""
        try:
            os.close(os.open(os.path.join(self.rundir, "ready"), os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass

    # -- starting -----------------------------------------------------------------------------

    def start(self):
        """Starts the agent in a process group of its own; False if it could not be executed."""
        self.leaf = leaf.make(os.path.basename(self.rundir))
        self.write("keeper", *look.identity(os.getpid()), self.leaf)
        if os.path.exists(os.path.join(self.rundir, "end")):
            self.write("failed", "cancelled before it started")
            return False
        in_front = self.terminal.in_front()
        heard, told = os.pipe()
        self.agent = os.fork()
        if not self.agent:
            self.become_agent(told, in_front)
        os.close(told)
        if in_front:
            self.terminal.hand_to(self.agent)
        trouble = os.read(heard, 512)
        os.close(heard)
        if trouble:
            self.write("failed", os.fsdecode(trouble))
            os.write(2, b"quell: " + trouble + b"\n")
            return False
        self.write("born", *look.identity(self.agent))
        return True

    def become_agent(self, told, in_front):
        """In the child: what the agent would find without a keeper, then the agent itself."""
        trying = self.launch.cwd
        try:
            os.setpgid(0, 0)
            if in_front:
                self.terminal.hand_to(os.getpid())
            leaf.enter(self.leaf)
            os.chdir(trying)
            trying = self.launch.argv[0]
            signal.set_wakeup_fd(-1)
            for number in (*IGNORED, *HEARD, *PYTHON_IGNORES):
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(trying, self.launch.argv, self.launch.env)
        except OSError as error:
            os.write(told, b"cannot start " + trying + b": " + os.fsencode(error.strerror or "?"))
        finally:
            os._exit(127)

    # -- living -------------------------------------------------------------------------------

    def live(self):
        """Tends the run to its end; says what proves it: no child left, or only spared ones."""
        wake, woken = os.pipe()
        for fd in (wake, woken):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(woken)
        for number in HEARD:
            signal.signal(number, lambda *_: None)
        if not self.start():
            self.ending = "failed"
        self.tell_spawner()
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        while self.reap():
            if self.ending:
                self.climb()
                if self.kin.only_spared_left():
                    return "scan"
            if poll.poll(self.patience()):
                self.hear(os.read(wake, 4096))
        return "echild"

    def patience(self):
        """Milliseconds until something is due; None waits for ever, which costs no CPU."""
        if not self.ending:
            return None
        if self.kin.calm:
            return int(SWEEP_AGAIN * 1000)
        if self.due:
            return max(0, int((self.due[0][0] - time.monotonic()) * 1000) + 1)
        self.pause = min(self.pause * 2, SLOWEST_SWEEP)
        return int(self.pause * 1000)

    def hear(self, numbers):
        if signal.SIGTERM in numbers:
            grace = self.asked_grace()
            self.end("signal" if grace is None else "asked", grace)
        elif signal.SIGHUP in numbers:
            self.end("hangup", None)

    def asked_grace(self):
        try:
            with open(os.path.join(self.rundir, "end"), "rb") as file:
                return float(file.read())
        except (OSError, ValueError):
            return None

    def reap(self):
        """Collects every dead child; False when there is no child any more."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if os.WIFSTOPPED(status):
                if pid == self.agent:
                    self.terminal.agent_stopped(pid, os.WSTOPSIG(status))
                continue
            if self.ending:
                self.write("reaped", pid, *how(status))
            if pid == self.agent:
                self.agent_ended(status, usage)

    def agent_ended(self, status, usage):
        self.status = status
        cpu = usage.ru_utime + usage.ru_stime
        self.write("exit", *how(status), usage.ru_maxrss, f"{cpu:.3f}")
        self.terminal.take_back()
        if not self.ending:
            self.end("exit", None)

    # -- ending -------------------------------------------------------------------------------

    def end(self, cause, grace):
        """Plans the rungs; asked again, it can only get faster."""
        now = time.monotonic()
        seconds = self.launch.grace if grace is None else grace
        if self.ending:
            self.due = [(min(at, now + seconds), rung) for at, rung in self.due]
            return
        self.ending, self.began = cause, now
        self.write("cause", cause)
        self.kin.walk()
        self.note_found()
        first = "hangup" if cause == "hangup" else "term"
        self.due = [(now, first), (now + seconds / 2, "rest"), (now + seconds, "kill")]
        if not seconds:
            self.due = [(now, "kill")]

    def climb(self):
        now = time.monotonic()
        if self.status is not None:  # the agent has gone: the others need not wait for it
            self.due = [(now if rung == "rest" else at, rung) for at, rung in self.due]
        while self.due and self.due[0][0] <= now:
            rung = self.due.pop(0)[1]
            if rung == "kill":
                self.killed_at = now
            if rung != "rest":  # the second half of TERM, not a rung of its own
                self.write("rung", rung, int((now - self.began) * 1000))
            if rung in ("hangup", "term"):
                self.signal_group(signal.SIGHUP if rung == "hangup" else signal.SIGTERM)
            elif rung == "rest":
                self.term_rest()
        if self.killed_at:
            self.kill_all()

    def term_rest(self):
        self.signal_group(signal.SIGTERM)
        for process in self.kin.walk():
            if process.pgid != self.agent or self.status is not None:
                self.send(process, signal.SIGTERM)
        self.note_found()

    def kill_all(self):
        found = self.kin.walk()
        self.note_found()
        if not leaf.kill(self.leaf, found):
            for process in found:
                self.send(process, signal.SIGKILL)
        if time.monotonic() - self.killed_at > STUCK_AFTER:
            for process in self.kin.walk():
                self.note("stuck", process, "still there after SIGKILL")

    def signal_group(self, number):
        """To the agent's group while its unreaped leader keeps the number from being reused."""
        if self.status is None:
            try:
                os.killpg(self.agent, number)
                os.killpg(self.agent, signal.SIGCONT)
            except OSError:
                pass

    def send(self, process, number):
        trouble = look.send(process, number)
        if trouble:
            self.note("stuck", process, trouble)


def how(status):
    if os.WIFSIGNALED(status):
        return ("signal", os.WTERMSIG(status))
    return ("exit", os.WEXITSTATUS(status))
