"""Signals and job control: the agent has the terminal as it would have it without a keeper.

Mostly the agent has a process group of its own, put in front of the terminal: a pane shows the name
of the group in front, and Ctrl-C is the agent's alone. In a pipeline or a script the terminal means
the whole group of the shell, so there the agent stays in that group and nothing is handed over.
"""

import os
import termios

from machine import proc
from proc import signal

# A pane sets these for the program in it; no other pane may inherit them.
PANE_VARIABLES = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TERMINFO",
    "WINDOWID",
    "TMUX",
    "TMUX_PANE",
)
PANE_PREFIXES = ("KITTY_", "WEZTERM_")
Numbers = tuple[int, ...]
NEEDED = (signal.SIGCHLD, signal.SIGTERM)
PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH)
IGNORED = (signal.SIGTTIN, signal.SIGTTOU)  # we hand the terminal over from the background
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
# By default most of these end no process; KILL and STOP cannot be refused.
HARMLESS = {
    *(signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGTSTP),
    *(signal.SIGKILL, signal.SIGSTOP),
}
BLOCKED = (signal.SIGTTIN, signal.SIGTTOU)  # it wanted the terminal and did not have it


def pane_environment() -> dict[bytes, bytes]:
    """This pane's own variables."""
    return {
        os.fsencode(name): os.fsencode(value)
        for name, value in os.environ.items()
        if name in PANE_VARIABLES or name.startswith(PANE_PREFIXES)
    }


class JobControl:
    """The keeper's controlling terminal, wherever its input and output go; headless it has none."""

    def __init__(self, *, detached: bool) -> None:
        try:
            self.fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        except OSError:
            self.fd = -1
        self.leads_session = os.getsid(0) == os.getpid()
        there = self.fd >= 0
        self.own_group = detached or (there and (self.leads_session or alone_in_group()))
        self.agent = 0  # its pid while it lives
        self.lent = False  # the agent's group was put in front and is still there
        self.modes: list[int | list[bytes | int]] = []

    def front(self) -> int:
        """The group in front; -1 without a terminal, or when it has gone."""
        try:
            return os.tcgetpgrp(self.fd) if self.fd >= 0 else -1
        except OSError:
            return -1

    def in_front(self) -> bool:
        return self.front() == os.getpgrp()

    def hand_to(self, group: int) -> None:
        try:
            os.tcsetpgrp(self.fd, group)
        except OSError:
            pass  # the terminal is gone, or the group not made yet: parent and child both try

    def lend(self, agent: int) -> None:
        self.hand_to(agent)
        self.lent = True

    def remember_modes(self) -> None:
        """As a shell does: a program that dies in raw mode leaves the terminal in it."""
        if not self.leads_session:
            try:
                self.modes = termios.tcgetattr(self.fd)
            except termios.error:
                pass

    def on_agent_ended(self, *, by_signal: bool) -> None:
        self.agent = 0
        self.take_back()
        if by_signal and self.modes and self.in_front():
            try:
                termios.tcsetattr(self.fd, termios.TCSANOW, self.modes)
            except termios.error:
                pass

    def take_back(self) -> None:
        """A parent without job control would go on in the background; a child that may live on
        would be hung up with whatever is in front. Never taken from a shell that has it again."""
        if self.lent and (self.leads_session or self.front() != os.getpgid(os.getppid())):
            self.hand_to(os.getpgrp())
        self.lent = False

    def on_agent_stopped(self, number: int) -> None:
        """Ctrl-Z. In a pane no shell would continue it, so we do; under a shell we stop too."""
        if self.fd < 0:
            return
        if number in BLOCKED and self.own_group and self.in_front():
            self.lend(self.agent)  # the shell's fg meant the agent, and gave it to us
        elif self.leads_session:
            if number in BLOCKED:
                return
        else:
            self.take_back()
            os.kill(os.getpid(), signal.SIGSTOP)  # the shell sees it; its fg continues us here
            if self.own_group and self.in_front():
                self.lend(self.agent)
        self.signal_agent(signal.SIGCONT)

    def pass_on(self, number: int) -> None:
        """The terminal signalled us, not the agent, which was in the background until this fg."""
        if self.own_group:
            if self.agent and self.in_front():
                self.lend(self.agent)
            self.signal_agent(number)

    def signal_agent(self, number: int) -> None:
        if not self.agent:
            return
        try:
            if self.own_group:
                os.killpg(self.agent, number)
            else:
                os.kill(self.agent, number)
        except OSError:
            pass  # it has changed its uid, or its group


def alone_in_group() -> bool:
    """Whether the shell gave us a process group of our own: no pipeline, no script around us."""
    mine = os.getpgrp()
    if mine != os.getpid():
        return False
    beside = [proc.live_process(pid) for pid in proc.children(os.getppid()) if pid != mine]
    return not any(process.pgid == mine for process in beside if process)


# -- the keeper's own signals --------------------------------------------------------------------


def install_handlers(*, detached: bool) -> Numbers:
    """From here on these only wake the loop, even if the caller had blocked them. Returns all that
    the agent gets back.

    What the caller ignores stays ignored, here and in the agent: `nohup knell run …` works."""
    wanted = (signal.SIGHUP, *PASSED_ON)
    if not detached:
        wanted = tuple(n for n in wanted if signal.getsignal(n) is not signal.SIG_IGN)
    heard = (*NEEDED, *wanted)
    for number in heard:
        signal.signal(number, wake_only)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    return (*heard, *refuse_others())


def refuse_others() -> Numbers:
    """Ignores what would end us by default and means nothing to us, such as USR1: without its
    keeper a run has no proof. The agent gets each of them back as it was (reset_signals)."""
    refused: list[int] = []
    for number in signal.valid_signals() - HARMLESS:  # without those of the C library's own
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)
            refused.append(number)
    return tuple(refused)


def wake_only(_number: int, _frame: object) -> None:
    """The number is in the pipe already; the loop does the rest."""


def make_wakeup_pipe() -> int:
    """A pipe on which each signal's number arrives."""
    wake, woken = os.pipe()
    for fd in (wake, woken):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    return wake


def reset_signals(heard: Numbers) -> None:
    """In the child: what the agent would find without a keeper."""
    signal.set_wakeup_fd(-1)
    for number in (*heard, *IGNORED, *PYTHON_IGNORES):
        signal.signal(number, signal.SIG_DFL)
