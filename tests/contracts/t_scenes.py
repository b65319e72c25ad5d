"""What the tests of teams play with: agents that run `knell …` from inside, and a team of them."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from agent_commands import AGENT, heard, tell
from house import House, eventually, preloaded
from knell.core.run import Run
from knell.core.shutdown import ShutdownRequest
from knell.core.teams import TeamTask
from knell.life.teams.kill_agent import KillAgentAnswer
from preloaded import Forked, Words

PUPPET = AGENT  # it runs what it is told to, and tells what came of it


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Puppet:
    """An agent of knell that does, inside itself, what the test says."""

    pid = 0

    def __init__(self, house: House, name: str, **wish: Any) -> None:
        self.house, self.name = house, name
        number = os.urandom(4).hex()
        self.door = house.root / f"{number}.door"
        ready = house.root / f"{number}.up"
        wish.setdefault("place", "headless")
        env = (("DOOR", str(self.door)), ("KNELL_READY", str(ready)), *wish.pop("env", ()))
        argv = (sys.executable, "-S", "-c", PUPPET)
        wish |= {"cwd": str(house.root), "env": dict(env)}
        self.run: Run = house.knell.spawn(command=argv, name=name, **wish).run
        eventually(ready.exists)
        assert self.run.process
        self.pid = self.run.process.pid

    def call(self, *words: str, **how: Any) -> Any:
        """Begins `knell WORDS` inside; the returned file tells its end."""
        return tell(self.door, *words, **how)

    def says(self, *words: str, **how: Any) -> Said:
        """What `knell WORDS` said, run inside; code -1 if the agent did not live to tell."""
        with self.call(*words, **how) as caller:
            return Said(*heard(caller))

    def asks(self, *words: str, **how: Any) -> Any:
        """The same, of a command that succeeds with --json."""
        said = self.says(*words, "--json", **how)
        assert said.code == 0, said
        return said.json

    def with_token(self, *words: str) -> Said:
        """The same words by a process outside, which this agent's token proves: the same caller,
        for the price of a fork. Endings of its own are not the same by it."""
        with begun(self.house, *words, KNELL_TOKEN=self.token) as command:
            out, err = command.communicate(timeout=300)
        return Said(command.returncode or 0, out, err)

    def asks_with_token(self, *words: str) -> Any:
        """The same, of a command that succeeds with --json."""
        said = self.with_token(*words, "--json")
        assert said.code == 0, said
        return said.json

    def inbox(self) -> list[dict[str, Any]]:
        """Its unread messages, as `knell inbox --json` tells them."""
        return self.asks_with_token("inbox")["messages"]

    def leaves(self) -> None:
        """Agrees to leave, and has no work to finish."""
        assert self.says("approve").code == 0
        self.says("confirm")

    @property
    def token(self) -> str:
        with contextlib.suppress(OSError):  # as it was given at its start
            for line in Path(f"/proc/{self.pid}/environ").read_bytes().split(b"\0"):
                if line.startswith(b"KNELL_TOKEN="):
                    return line.partition(b"=")[2].decode()
        return self.says("env").json["KNELL_TOKEN"]


class Crew(NamedTuple):
    boss: Puppet
    wendy: Puppet


def leader(house: House, name: str = "boss", team: str = "red", **wish: str) -> Puppet:
    boss = Puppet(house, name)
    house.knell.team(team).create(leader=name, **wish)
    return boss


def member(house: House, name: str, team: str = "red", **wish: Any) -> Puppet:
    return Puppet(house, name, team=team, **wish)


def crew(house: House, **wish: Any) -> Crew:
    """Team red: boss leads, wendy works."""
    boss = leader(house)
    return Crew(boss, member(house, "wendy", **wish))


def add_task(house: House, id: str, *, team: str = "red", owner: str = "") -> TeamTask:
    """A task; with an owner, one that it is working on."""
    task = house.knell.team(team).add_task(f"do {id}", id=id)
    return house.knell.task(id).claim(owner).task if owner else task


def task(house: House, id: str) -> TeamTask:
    return house.knell.task(id).show()


def kill_agent(
    house: House, asker: Puppet | None, agent: str = "wendy", /, **wish: Any
) -> KillAgentAnswer:
    """The tool, called by that agent, proven by its token; by nobody: a process without one."""
    env = house.env | ({"KNELL_TOKEN": asker.token} if asker else {})
    with type(house.knell)(env=env) as knell:
        return knell.team(wish.pop("team", "red")).kill(agent, **wish)


def ask(house: House, asker: Puppet, agent: str = "wendy", **wish: Any) -> ShutdownRequest:
    """As `knell ask`, of that agent by its token: for tests of what comes of being asked."""
    with type(house.knell)(env=house.env | {"KNELL_TOKEN": asker.token}) as knell:
        request = knell.shutdowns.ask(agent, **wish)
    assert (request.phase, request.by) == ("requested", asker.name)
    return request


def colours(house: House, team: str = "red") -> dict[str, str]:
    return {one.agent: one.colour for one in house.knell.team(team).show().members}


def members(house: House, team: str = "red") -> list[str]:
    return [one.agent for one in house.knell.team(team).show().members]


def status(house: House, name: str) -> str:
    return house.json("show", name)["team_status"]


def requests(house: House, agent: str = "wendy") -> list[ShutdownRequest]:
    return house.knell.world.store.shutdowns.of(agent)


def events(house: House, type: str, agent: str = "") -> list[dict[str, Any]]:
    found = house.knell.events(agent=agent, limit=10_000)
    return [event.data for event in found if event.type == type]


def refusals(house: House) -> list[dict[str, Any]]:
    return events(house, "authority.refused")


def is_over(house: House, name: str) -> bool:
    """Looks as any command does, so that an end that a keeper saw is taken in."""
    return name not in [view.name for view in house.knell.list()]


def gone(house: House, name: str) -> None:
    eventually(lambda: is_over(house, name))


def begun(house: House, *words: str, **more: str) -> "Forked | subprocess.Popen[str]":
    """`knell WORDS` as a person, or as whoever holds the token that is given; not waited for."""
    env, cwd = house.env | more, str(house.root)
    if more.keys() <= {"KNELL_TOKEN"}:  # a stamp would be read in /proc
        said = Words("", words, env, cwd)
        pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        return Forked(preloaded(), said, text=True, stdin=subprocess.DEVNULL, **pipes)
    return subprocess.Popen(
        [sys.executable, "-m", "knell", *words],
        env=env, cwd=cwd, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
