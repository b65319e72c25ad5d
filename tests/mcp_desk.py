"""Scenes with the MCP server: agents at a desk, real ones, that call its tools when told to."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from house import House, eventually
from quell.core.teamtask import TeamTask
from quell.life.spawn import Wish
from quell.life.together.task import TaskWish
from quell.life.together.team import TeamWish

AGENT = Path(__file__).with_name("mcp_desk_agent.py")
NOT_LEADER = "Only the team leader can kill agents"


class Desk:
    """Somebody who calls tools: an agent of quell's, or, without a name, a plain process."""

    def __init__(self, house: House, name: str = "", where: str = "stdio", **wish: Any) -> None:
        self.name = name
        self._folder = house.root / f"desk-{name or 'plain'}-{len(list(house.root.glob('desk-*')))}"
        self._folder.mkdir()
        self._asked = 0
        words = (sys.executable, str(AGENT), str(self._folder), where)
        if name:
            wish.setdefault("place", "headless")
            self.run = house.quell.spawn(Wish("command", words, name=name, **wish)).run
        else:
            env = {**house.env, **dict(wish.get("env", ()))}
            self.process = subprocess.Popen(words, env=env, cwd=house.root)
        eventually((self._folder / "ready").exists, 30)

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
        answer = self.begin(do, progress=progress, **given)
        eventually(answer.exists, 60)
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
        self.process.terminate()
        self.process.wait(20)


@contextlib.contextmanager
def plain_desk(house: House, **env: str) -> Iterator[Desk]:
    """A client that no agent has started."""
    desk = Desk(house, env=tuple(env.items()))
    try:
        yield desk
    finally:
        desk.leave()


def team(house: House, where: str = "stdio", *members: str, **wish: Any) -> Desk:
    """Team blue: ada leads it, from her desk."""
    ada = Desk(house, "ada", where)
    house.quell.team.create(TeamWish("blue", leader="ada"))
    for name in members:
        member(house, name, **wish)
    return ada


def member(house: House, name: str, habit: str = "obedient", **wish: Any) -> None:
    house.spawn(habit, name=name, **wish)
    house.quell.team.add("blue", name)


def task(house: House, id: str, owner: str = "") -> TeamTask:
    added = house.quell.team.add_task(TaskWish("blue", f"do {id}", id=id))
    return house.quell.team.claim(id, owner).task if owner else added


def refusals(house: House) -> list[dict[str, Any]]:
    events = house.quell.events(limit=1000)
    return [event.data for event in events if event.type == "authority.refused"]


def is_live(house: House, name: str) -> bool:
    return name in {view.name for view in house.quell.list()}


def is_on_record(house: House, name: str) -> bool:
    """The same as the store has it: nobody looks, and nothing is brought up to date."""
    return any(run.agent == name for run in house.quell.world.store.live_runs())


# -- the server for all ------------------------------------------------------------------------


@contextlib.contextmanager
def http_server(house: House, *options: str) -> Iterator[str]:
    """`quell mcp --http` on a port of its own; its address."""
    argv = [sys.executable, "-m", "quell", "mcp", "--http", "--port", "0", *options]
    server = subprocess.Popen(
        argv, env=house.env, cwd=house.root, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        code = server.wait(30)
        if server.stdout:
            server.stdout.close()
    assert code == 0
