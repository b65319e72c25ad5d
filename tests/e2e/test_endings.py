"""How long each ending takes and what it leaves, without quell and with it."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from e2e.claude_home import DOCILE, PANE, STUBBORN, ClaudeHome, reached
from e2e.report import PATIENCE, Figure, Figures
from house import CEILING, eventually
from scenes import end

HABITS = (DOCILE, STUBBORN)
VERBS = ("stop", "kill", "kill --force")


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
WAYS: dict[str, Way] = {
    "a person types `/exit`": exits,
    "`tmux kill-pane`": closes,
    "`kill PID`": terminates,
    "`kill -9 PID`": kills,
}


class Watch:
    """Notes when each process ends, by the pidfd that tells it."""

    def __init__(self, pids: list[int]) -> None:
        self.fds = {os.pidfd_open(pid): pid for pid in pids}
        self.gone: dict[int, float] = {}
        self.began = time.monotonic()

    def until_quiet(self, agent: int) -> None:
        """Returns when all have ended, or when none has for a while after the agent's end."""
        poll = select.poll()
        for fd in self.fds:
            poll.register(fd, select.POLLIN)
        while self.fds:
            ended = poll.poll((PATIENCE if agent in self.gone else CEILING) * 1000)
            for fd, _ in ended:
                poll.unregister(fd)
                self.gone[self.fds.pop(fd)] = time.monotonic() - self.began
                os.close(fd)
            if not ended:
                break

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


def measured(home: ClaudeHome, agent: int, way: Way) -> Figure:
    """What that way of ending it comes to, once nothing more happens by itself."""
    watch = Watch(home.members())
    watcher = threading.Thread(target=watch.until_quiet, args=(agent,))
    watcher.start()
    way(home, agent)
    watcher.join()
    watch.close()
    left = home.members()
    return Figure(watch.gone[agent], None if left else max(watch.gone.values()), len(left))


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("way", WAYS)
def test_G12_alone_it_leaves_what_its_vendor_leaves(
    home: ClaudeHome, figures: Figures, way: str, habit: str
) -> None:
    """Without quell a stubborn MCP server outlives a closed pane and a killed Claude."""
    home.serve_mcp(habit)
    agent = home.spawn_plainly()
    figure = measured(home, agent, WAYS[way])
    figures.alone[way, habit] = figure
    end(*home.members())
    if habit == STUBBORN:  # otherwise the tests with quell would prove nothing
        assert figure.left


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("way", WAYS)
def test_G2_under_quell_nothing_outlives_it(
    home: ClaudeHome, figures: Figures, way: str, habit: str
) -> None:
    """However Claude ends, typed, closed, terminated or killed, nothing of it is left."""
    home.serve_mcp(habit)
    agent = home.spawn()["pid"]
    figure = measured(home, agent, WAYS[way])
    figures.kept[way, habit] = figure
    assert figure.left == 0
    eventually(lambda: not home.processes())


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("verb", VERBS)
def test_G2_every_verb_ends_everything(
    home: ClaudeHome, figures: Figures, verb: str, habit: str
) -> None:
    """stop, kill and kill --force end Claude and all that it started."""
    home.serve_mcp(habit)
    agent = home.spawn()["pid"]
    told: dict[str, Any] = {}

    def ends(home: ClaudeHome, pid: int) -> None:
        name, *flags = verb.split()
        told.update(home.end(name, "luna", *flags))

    figure = measured(home, agent, ends)
    figures.verbs[verb, habit] = figure._replace(rungs=" → ".join(reached(told)))
    assert figure.left == 0
    assert told["proof"] == "proven"
    assert agent in [process["pid"] for process in told["processes"]]
    times = [rung["at_ms"] for rung in told["rungs"] if rung["reached"]]
    assert times == sorted(times)
    assert times[-1] <= told["duration_ms"]
