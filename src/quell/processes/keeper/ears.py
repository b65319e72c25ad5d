"""Which signals the keeper hears, and the agent's freedom from all that.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os

from quick import signal

Numbers = tuple[int, ...]

NEEDED = (signal.SIGCHLD, signal.SIGTERM)
PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH)
IGNORED = (signal.SIGTTIN, signal.SIGTTOU)  # we hand the terminal about from the background
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


def listening(*, detached: bool) -> Numbers:
    """From here on these wake the loop and do nothing else, whatever the caller had blocked.

    What the caller ignores stays ignored, here and in the agent: `nohup quell run …` works."""
    wanted = (signal.SIGHUP, *PASSED_ON)
    if not detached:
        wanted = tuple(n for n in wanted if signal.getsignal(n) is not signal.SIG_IGN)
    heard = (*NEEDED, *wanted)
    for number in heard:
        signal.signal(number, wake_only)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    return heard


def wake_only(_number: int, _frame: object) -> None:
    """The number is in the pipe already; the loop does the rest."""


def wakened() -> int:
    """A pipe on which each signal's number arrives."""
    wake, woken = os.pipe()
    for fd in (wake, woken):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    return wake


def reset(heard: Numbers) -> None:
    """In the child: what the agent would find without a keeper."""
    signal.set_wakeup_fd(-1)
    for number in (*heard, *IGNORED, *PYTHON_IGNORES):
        signal.signal(number, signal.SIG_DFL)
