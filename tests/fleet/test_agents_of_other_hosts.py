"""What an agent may do over the fleet: what it leads, and tasks of its own team."""

import json
import sys
from typing import Any

from fleets import Fleet
from hosts import Host
from house import eventually

# An agent that runs commands from a file and writes down what came of them.
SERVANT = """
import json, os, signal, subprocess, sys, time
signal.alarm(600)
todo, done = sys.argv[1:]
while True:
    try:
        with open(todo) as file:
            words = json.load(file)
    except (FileNotFoundError, ValueError):
        time.sleep(0.02)
        continue
    os.unlink(todo)
    said = subprocess.run([sys.executable, "-m", "knell", *words], capture_output=True, text=True)
    with open(done + ".new", "w") as file:
        json.dump([said.returncode, said.stdout, said.stderr], file)
    os.rename(done + ".new", done)
"""


class Servant:
    """A live agent that runs what a test tells it, so that knell sees the agent ask."""

    def __init__(self, host: Host, name: str, **wish: Any) -> None:
        self._todo, self._done = host.root / f"{name}.todo", host.root / f"{name}.done"
        command = (sys.executable, "-c", SERVANT, str(self._todo), str(self._done))
        self.run = host.knell.spawn(
            command=command, name=name, place="headless", cwd=str(host.root), **wish
        ).run

    def knell(self, *words: str) -> tuple[int, str, str]:
        self._todo.with_suffix(".new").write_text(json.dumps(words))
        self._todo.with_suffix(".new").rename(self._todo)
        eventually(self._done.exists)
        code, out, err = json.loads(self._done.read_text())
        self._done.unlink()
        return code, out, err


def host_key(host: Host) -> str:
    keys = json.loads(host.run("fleet", "key", "list", "--json").stdout)["keys"]
    return next(one["key"] for one in keys if one["what"] == "own host")


def test_an_agent_ends_on_another_host_only_members_of_its_team(fleet: Fleet) -> None:
    home, origin = fleet.join("build-1", link=False), fleet.join("build-7", link=False)
    luna = Servant(home, "luna")
    origin.spawn(name="free")
    with fleet.linked("build-1", "build-7"):
        for name in ("free",):
            fleet.await_agent("build-7", name)
        code, _, said = luna.knell("kill", "free@build-7", "--wait", "200")
        assert (code, "obeys no key" in said) == (1, True), said
        assert (
            origin.run("fleet", "key", "trust", host_key(home), "--host", "build-1").returncode == 0
        )
        code, _, said = luna.knell("kill", "free@build-7", "--wait", "200")
        assert (code, "of another host" in said) == (1, True), said
        assert origin.run("team", "create", "web", "--leader", "luna@build-1").returncode == 0
        origin.spawn(name="worker", team="web")
        fleet.await_agent("build-7", "worker")
        code, out, said = luna.knell("kill", "worker@build-7", "--wait", "200", "--json")
        assert code == 0, said
        [receipt] = json.loads(out)["receipts"]
        assert (receipt["result"], receipt["by"]) == ("ended", "agent:luna@build-1")
        code, _, said = luna.knell("kill", "free@build-7", "--wait", "200")
        assert (code, "of another host" in said) == (1, True), said
        code, _, said = luna.knell("kill", "all@*", "--wait", "200")
        assert code == 1, said  # a host's role may not look at the others
    assert origin.knell.show("free").view.state == "running"
    refused = [one for one in origin.knell.events(limit=500) if one.type == "fleet.refused"]
    assert [one.data["code"] for one in refused] == ["key_not_trusted"]


def test_a_task_is_claimed_from_another_host_and_freed_by_its_owners_end(fleet: Fleet) -> None:
    home, other = fleet.join("build-1", link=False), fleet.join("build-7", link=False)
    assert home.run("team", "create", "web").returncode == 0
    assert home.run("team", "add", "web", "worker@build-7").returncode == 0
    assert home.run("fleet", "key", "trust", host_key(other), "--host", "build-7").returncode == 0
    for title in ("first", "second"):
        assert home.run("task", "add", "--team", "web", title).returncode == 0
    worker = Servant(other, "worker")
    stranger = Servant(other, "stranger")
    with fleet.linked("build-1", "build-7"):
        fleet.await_agent("build-7", "worker")
        code, out, said = worker.knell("task", "claim", "TASK-1@build-1", "--wait", "200", "--json")
        assert code == 0, said
        token = json.loads(out)["token"]
        code, _, said = stranger.knell("task", "claim", "TASK-2@build-1", "--wait", "200")
        assert (code, "not in team" in said) == (1, True), said
        code, _, said = stranger.knell(
            "task", "done", "TASK-1@build-1", "--wait", "200", "--claim", str(token)
        )
        assert code == 1, said
        refused = home.run("task", "release", "TASK-1")
        assert (refused.returncode, "--anyway" in refused.stderr) == (1, True)
        assert home.knell.task("TASK-1").show().owner == "worker@build-7"
        code, _, said = worker.knell(
            "task", "done", "TASK-1@build-1", "--wait", "200", "--claim", str(token)
        )
        assert code == 0, said
        assert home.knell.task("TASK-1").show().status == "completed"
        code, _, said = worker.knell("task", "claim", "TASK-2@build-1", "--wait", "200")
        assert code == 0, said
        other.kill("worker")
        eventually(lambda: home.knell.task("TASK-2").show().status == "pending")
    assert "worker@build-7 terminated" in home.knell.task("TASK-2").show().warning


def test_the_claim_of_a_host_that_is_cut_off_stays_until_the_operator_says_so(fleet: Fleet) -> None:
    home, other = fleet.join("build-1", link=False), fleet.join("build-7", link=False)
    assert home.run("team", "create", "web").returncode == 0
    assert home.run("team", "add", "web", "worker@build-7").returncode == 0
    assert home.run("fleet", "key", "trust", host_key(other), "--host", "build-7").returncode == 0
    assert home.run("task", "add", "--team", "web", "first").returncode == 0
    worker = Servant(other, "worker")
    with fleet.linked("build-1"):
        with fleet.linked("build-7"):
            fleet.await_agent("build-7", "worker")
        assert worker.knell("task", "claim", "TASK-1@build-1", "--wait", "200")[0] == 0
        other.kill("worker")  # its host cannot say so
        fleet.database.sql("UPDATE knell.hosts SET seen_at = NULL WHERE name = 'build-1'")
        looked = "SELECT 1 FROM knell.hosts WHERE name = 'build-1' AND seen_at < now()"
        eventually(lambda: fleet.database.sql(looked))
        assert home.knell.task("TASK-1").show().owner == "worker@build-7"
        assert home.run("task", "release", "TASK-1").returncode == 1
        assert home.run("task", "release", "TASK-1", "--anyway").returncode == 0
    assert home.knell.task("TASK-1").show().status == "pending"
