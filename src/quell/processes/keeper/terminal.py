"""Job control: the agent gets the terminal as it would without a keeper.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.

Mostly the agent has a process group of its own, put in front of the terminal: a pane shows the name
of the group in front, and Ctrl-C is the agent's alone. In a pipeline or a script the terminal means
everybody in the shell's group, so there the agent stays in that group and nothing is handed about.
"""

import os

from look import children, seen
from quick import signal

# What a pane sets for the program in it, and no other pane may inherit.
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
BLOCKED = (signal.SIGTTIN, signal.SIGTTOU)  # it wanted the terminal and did not have it


def pane_environment() -> dict[bytes, bytes]:
    """This pane's own variables."""
    return {
        os.fsencode(name): os.fsencode(value)
        for name, value in os.environ.items()
        if name in PANE_VARIABLES or name.startswith(PANE_PREFIXES)
    }


class Terminal:
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
        self.lent = False  # its group was put in front, and nobody has taken that back
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
        """As a shell does: whoever dies in raw mode cannot leave it."""
        if not self.leads_session:
            import termios

            try:
                self.modes = termios.tcgetattr(self.fd)
            except termios.error:
                pass

    def agent_ended(self, *, by_signal: bool) -> None:
        self.agent = 0
        self.take_back()
        if by_signal and self.modes and self.in_front():
            import termios

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

    def agent_stopped(self, number: int) -> None:
        """Ctrl-Z. In a pane nobody could continue it, so we do; under a shell we stop with it."""
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
        """The terminal reached us and not the agent: it was in the background until this fg."""
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
    """Whether the shell gave us a group for ourselves: no pipeline, no script around us."""
    mine = os.getpgrp()
    if mine != os.getpid():
        return False
    beside = [seen(pid) for pid in children(os.getppid()) if pid != mine]
    return not any(process.pgid == mine for process in beside if process)
