"""What an agent prints: its output or its screen, now or as it goes on, without control codes."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.codes import Code
from knell.core.errors import NoSuchAgent, PlaceFailed, Refused
from knell.core.ports.terminal import Present
from knell.core.ports.world import World
from knell.core.redact import redacted
from knell.core.run import Run
from knell.life.base.take_in import take_in_journals
from knell.life.base.targets import Crowd, Picture

LARGEST = 4 * 1024 * 1024  # bytes of a log that are read
# What a terminal obeys: colours and movements, titles and links, and two-letter commands.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]"
)


class ScreenView(NamedTuple):
    agent: str
    live: bool  # else it is the last screen before the agent ended
    lines: tuple[str, ...]


def agent_and_run(world: World, name: str) -> tuple[Agent, Run]:
    """The one agent that is meant, with its newest run."""
    crowd = Crowd(Picture(world), targets=[name])
    chosen = crowd.only(name)
    agent = crowd.agents.get(chosen.agent)
    run = world.store.runs.newest_of(chosen.agent)
    if agent is None or run is None:
        raise NoSuchAgent(name)
    return agent, run


def last_lines(world: World, name: str, count: int) -> list[str]:
    _, run = agent_and_run(world, name)
    return list(lines_of(world, run))[-count:]


def follow_lines(world: World, name: str, count: int, every: float) -> Iterator[Sequence[str]]:
    """First the last lines, then what came after them, until the agent has ended."""
    _, run = agent_and_run(world, name)
    shown: list[str] = []
    while True:
        now = world.store.runs.run(run.id) or run
        found = lines_of(world, now)
        fresh = added(shown, found) if shown else found[-count:]
        if fresh:
            yield fresh
        shown = found or shown
        if not now.live:
            return
        watched = now.keeper or now.process
        world.wait([watched] if watched else [], every)
        take_in_journals(world)  # perhaps no other command does, and it shows the end


def added(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """The lines of `now` behind those that both have; all of them if it has nothing in common."""
    before, now = list(before), list(now)
    lengths = range(min(len(before), len(now)), 0, -1)
    return now[next((n for n in lengths if before[-n:] == now[:n]), 0) :]


def screen_of(world: World, name: str) -> ScreenView:
    agent, run = agent_and_run(world, name)
    return ScreenView(agent.name, run.live, tuple(lines_of(world, run, output=False)))


def attach_command(world: World, name: str) -> tuple[str, ...]:
    """Refused unless the pane is there and is this run's: its number may be another's by now."""
    agent, run = agent_and_run(world, name)
    if not run.live:
        hint = f"knell resume {agent.name}"
        raise Refused(f"'{agent.name}' has ended", hint, code=Code.NOT_RUNNING)
    terminal = world.place(run.place.name)
    if terminal.has_panes:
        seen = terminal.look(run.place, run.id)
        if not isinstance(seen, Present):
            raise PlaceFailed(f"the pane of '{agent.name}' cannot be shown: {seen.why}")
    return terminal.attach_command(run.place)


def lines_of(world: World, run: Run, *, output: bool = True) -> list[str]:
    """From its log or its pane; of a run whose pane is gone, from its receipt."""
    if run.place.log and output:
        return plain_lines(_log(world, run.place.log))
    if run.live:
        return plain_lines(world.place(run.place.name).screen(run.place))
    receipt = world.store.endings.receipt(run.id)
    if run.place.log and not (receipt and receipt.screen):
        return plain_lines(_log(world, run.place.log))
    return plain_lines(receipt.screen) if receipt else []


def _log(world: World, path: str) -> str:
    """The file and the one before it, which the keeper put aside. The agent could have put
    something else in their place: only plain files are read."""
    parts: list[bytes] = []
    for name in (path + ".1", path):
        seen = world.disk.seen(name)
        if seen is not None and seen.what == "file":
            parts.append(world.disk.tail(name, LARGEST) or b"")
        elif seen is None or seen.what != "nothing":
            raise PlaceFailed(f"cannot read {name}")
    return b"".join(parts)[-LARGEST:].decode("utf-8", "replace")


def plain_lines(text: str) -> list[str]:
    """Lines that can be printed anywhere: no control codes, no secrets."""
    text = redacted(_CONTROL.sub("", text)).replace("\t", "    ")  # a colour splits a secret
    lines = [line.rpartition("\r")[2] or line for line in text.split("\n")]
    plain = ["".join(c if c.isprintable() else "?" for c in line.rstrip()) for line in lines]
    while plain and not plain[-1]:
        plain.pop()
    return plain
