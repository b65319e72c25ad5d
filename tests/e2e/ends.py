"""How a real Claude comes to its end without a verb of knell's, and what that leaves behind."""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable

from e2e.claude_home import PANE, ClaudeHome
from e2e.report import NAMED_WAYS, Figure
from house import CEILING, eventually


def exits(home: ClaudeHome, pid: int) -> None:
    home.type("/exit")
    home.press("Enter")


def closes(home: ClaudeHome, pid: int) -> None:
    home.house.tmux("kill-pane", "-t", PANE)


def terminates(home: ClaudeHome, pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


def kills(home: ClaudeHome, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


Way = Callable[[ClaudeHome, int], None]
WAYS: dict[str, Way] = dict(zip(NAMED_WAYS, (exits, closes, terminates, kills), strict=True))


class Watch:
    """Notes when each process ends, by the pidfd that tells it."""

    def __init__(self, pids: list[int]) -> None:
        self.fds: dict[int, int] = {}
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # a short look at git, over by now
                self.fds[os.pidfd_open(pid)] = pid
        self.gone: dict[int, float] = {}
        self.began = time.monotonic()

    def until_quiet(self, agent: int, patience: float) -> None:
        """Returns when all have ended, or when none has for so long after the agent's end."""
        poll = select.poll()
        for fd in self.fds:
            poll.register(fd, select.POLLIN)
        while self.fds:
            ended = poll.poll((patience if agent in self.gone else CEILING) * 1000)
            for fd, _ in ended:
                poll.unregister(fd)
                self.gone[self.fds.pop(fd)] = time.monotonic() - self.began
                os.close(fd)
            if not ended:
                break

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


def measured(home: ClaudeHome, agent: int, way: Way, patience: float = CEILING) -> Figure:
    """What that way of ending it comes to, once nothing more happens by itself. Under knell all
    must end, however busy the machine is."""
    watch = Watch(home.members())
    watcher = threading.Thread(target=watch.until_quiet, args=(agent, patience))
    watcher.start()
    way(home, agent)
    watcher.join()
    watch.close()
    if patience == CEILING:  # under knell: also what it has begun since it was looked at
        with contextlib.suppress(AssertionError):
            eventually(lambda: not home.members())
    left = home.members()
    return Figure(watch.gone[agent], None if left else max(watch.gone.values()), len(left))
