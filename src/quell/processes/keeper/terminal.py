"""Job control: the agent gets the terminal as it would without a keeper.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os
import signal

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


def pane_environment():
    """This pane's own variables."""
    return {
        os.fsencode(name): os.fsencode(value)
        for name, value in os.environ.items()
        if name in PANE_VARIABLES or name.startswith(PANE_PREFIXES)
    }


class Terminal:
    def __init__(self):
        self.there = os.isatty(0)
        self.leads_session = os.getsid(0) == os.getpid()

    def in_front(self):
        try:
            return self.there and os.tcgetpgrp(0) == os.getpgrp()
        except OSError:
            return False

    def hand_to(self, group):
        try:
            os.tcsetpgrp(0, group)
        except OSError:
            pass  # the terminal is gone, or the group not made yet: parent and child both try

    def take_back(self):
        """For a parent without job control, which would go on in the background."""
        if self.there and not self.leads_session:
            self.hand_to(os.getpgrp())

    def agent_stopped(self, agent, number):
        """Ctrl-Z. In a pane nobody could continue it, so we do; under a shell we stop with it."""
        if not self.there:
            return
        if self.leads_session:
            if number == signal.SIGTSTP:
                os.killpg(agent, signal.SIGCONT)
            return
        self.hand_to(os.getpgrp())
        os.kill(0, signal.SIGSTOP)  # the shell now sees a stopped job; its fg continues us here
        if self.in_front():
            self.hand_to(agent)
        os.killpg(agent, signal.SIGCONT)
