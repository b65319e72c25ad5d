"""Scenes with the MCP server: agents at a desk, real ones, that call its tools when told to."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from house import House, eventually
from knell.core.teams import TeamTask
from mcp_desk_agent import Client, by_pipes

AGENT = Path(__file__).with_name("mcp_desk_agent.py")
OFFICIAL = Path(__file__).with_name("mcp_sdk_agent.py")  # the same with the official client
OFFICES: WeakKeyDictionary[House, str] = WeakKeyDictionary()
NOT_LEADER = "Only the team leader can kill agents"


class Desk:
    """Somebody who calls tools: an agent of knell's, or, without a name, a plain process."""

    def __init__(
        self, house: House, name: str = "", where: str = "", agent: Path = AGENT, **wish: Any
    ) -> None:
        if not where:
            where = office(house) if name and not wish.get("env") else "stdio"
        self.name = name
        self._folder = house.root / f"desk-{name or 'plain'}-{len(list(house.root.glob('desk-*')))}"
        self._folder.mkdir()
        self._asked = 0
        words = (sys.executable, str(agent), str(self._folder), where)
        if name:
            wish |= {"place": wish.get("place", "headless"), "env": dict(wish.get("env", ()))}
            self.run = house.knell.spawn(command=words, name=name, **wish).run
            eventually((self._folder / "ready").exists)
        else:
            env = {**house.env, **dict(wish.get("env", ()))}
            options = json.loads(env.get("DESK_OPTIONS", "[]"))
            pipe = subprocess.PIPE
            self.process = house.begin("mcp", *options, env=env, stdin=pipe, stdout=pipe)
            assert self.process.stdin
            assert self.process.stdout
            self._client = Client(by_pipes(self.process.stdin, self.process.stdout))

    def begin(self, do: str, *, progress: bool = False, **given: Any) -> Path:
        """Asks, and waits for nothing; where the answer will be."""
        call = self._folder / f"{self._asked}.call"
        wanted = {"do": do, "given": given, "progress": progress, **given}
        new = call.with_suffix(".asked")
        new.write_text(json.dumps(wanted))
        new.rename(call)
        self._asked += 1
        return call.with_suffix(".answer")

    def whole(self, do: str, *, progress: bool = False, **given: Any) -> dict[str, Any]:
        if not self.name:
            wanted = {"do": do, "given": given, "progress": progress, **given}
            return self._client.carry_out(wanted)
        answer = self.begin(do, progress=progress, **given)
        eventually(answer.exists)
        return json.loads(answer.read_text())

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        """The structured answer, which is also there as text."""
        answer = self.whole(tool, **given)
        assert answer["text"] == [json.dumps(answer["told"], ensure_ascii=False)]
        assert answer["error"] is not answer["told"]["success"]
        return answer["told"]

    def kill(self, agent: str, team: str = "blue", **given: Any) -> dict[str, Any]:
        return self.call("kill-agent", teamName=team, agentId=agent, **given)

    def leave(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(300)


@contextlib.contextmanager
def plain_desk(house: House, **env: str) -> Iterator[Desk]:
    """A client that no agent has started."""
    desk = Desk(house, env=tuple(env.items()))
    try:
        yield desk
    finally:
        desk.leave()


def team(house: House, where: str = "", *members: str, **wish: Any) -> Desk:
    """Team blue: ada leads it, from her desk."""
    ada = Desk(house, "ada", where)
    house.knell.team("blue").create(leader="ada")
    for name in members:
        member(house, name, **wish)
    return ada


def member(house: House, name: str, habit: str = "obedient", **wish: Any) -> None:
    house.spawn(habit, name=name, **wish)
    house.knell.team("blue").add(name)


def task(house: House, id: str, owner: str = "") -> TeamTask:
    added = house.knell.team("blue").add_task(f"do {id}", id=id)
    return house.knell.task(id).claim(owner).task if owner else added


def refusals(house: House) -> list[dict[str, Any]]:
    events = house.knell.events(limit=1000)
    return [event.data for event in events if event.type == "authority.refused"]


def is_live(house: House, name: str) -> bool:
    return name in {view.name for view in house.knell.list()}


def is_on_record(house: House, name: str) -> bool:
    """The same as the store has it: nobody looks, and nothing is brought up to date."""
    return any(run.agent == name for run in house.knell.world.store.runs.live())


# -- the server for all ------------------------------------------------------------------------


def office(house: House) -> str:
    """The address of a server for all agents of the house, begun when it is asked for first. A
    server over standard input and output costs each of them seconds of imports."""
    if house not in OFFICES:
        OFFICES[house] = house.at_end.enter_context(http_server(house))
    return OFFICES[house]


@contextlib.contextmanager
def http_server(house: House, *options: str) -> Iterator[str]:
    """`knell mcp --http` on a port of its own; its address."""
    words = ("mcp", "--http", "--port", "0", *options)
    server = house.begin(*words, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        code = server.wait(300)
        if server.stdout:
            server.stdout.close()
    assert code == 0
