"""An upgrade under live agents: the knell before started them, this one ends, resumes and reads."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from house import House, alive, eventually, pids, state_and_parent
from wheels import Installed, shared, wheel_of_the_commit_before, wheel_of_this_tree

# Begins the conversation that it is told to, notes it, and stays, as Claude would.
CLAUDE = """#!/bin/sh
id=
for word do
    case $last in --session-id | --resume) id=$word ;; esac
    last=$word
done
mkdir -p "$HOME/.claude/projects/here" "$HOME/.claude/sessions"
echo '{"sessionId": "'$id'"}' > "$HOME/.claude/projects/here/$id.jsonl"
echo '{"sessionId": "'$id'"}' > "$HOME/.claude/sessions/$$.json"
setsid sleep 1000 &
exec sleep 1000
"""
IN_TMUX = ("spawn", "--in", "tmux", "--tmux-server", "test")


class Upgrade:
    def __init__(self, house: House, old: Path, new: Path) -> None:
        self.house, self.old, self.new = house, old, new
        programs = house.root / "programs"
        programs.mkdir()
        (programs / "claude").write_text(CLAUDE)
        (programs / "claude").chmod(0o755)
        self.place = Installed(house.root / "venv")
        path = f"{self.place.folder}/bin:{programs}:{house.env['PATH']}"
        self.env = house.env | {"PATH": path}
        self.place.install(old)

    def knell(self, *words: str, code: int = 0) -> str:
        done = self.place.run(*words, env=self.env)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def json(self, *words: str) -> dict[str, object]:
        return json.loads(self.knell(*words, "--json"))

    def spawn(self, name: str, *words: str) -> int:
        """By the knell before; if that one cannot start an agent, it shows nothing here."""
        done = self.place.run(*words, "--name", name, "claude", env=self.env)
        if done.returncode:
            pytest.skip(f"the commit before cannot start an agent: {done.stderr}")
        return int(self.json("show", name)["pid"])  # type: ignore[call-overload]


@pytest.fixture
def upgrade(house: House, tmp_path_factory: pytest.TempPathFactory) -> Upgrade:
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    [new] = shared(tmp_path_factory, "wheel", wheel_of_this_tree).glob("*.whl")
    [old] = shared(tmp_path_factory, "wheel-before", wheel_of_the_commit_before).glob("*.whl")
    return Upgrade(house, old, new)


def test_agents_of_the_knell_before_are_ended_resumed_and_read(upgrade: Upgrade) -> None:
    knell = upgrade.knell
    pids = {name: upgrade.spawn(name, *IN_TMUX) for name in ("luna", "nova")}
    pids["wendy"] = upgrade.spawn("wendy", "spawn", "--in", "headless")
    upgrade.spawn("older", *IN_TMUX)
    knell("kill", "older")
    upgrade.place.install(upgrade.new)
    assert all(map(alive, pids.values())), "an upgrade ends nobody"
    listed = upgrade.json("list", "--all")["agents"]
    assert isinstance(listed, list)
    states = {one["name"]: one["state"] for one in listed}
    assert states == {"luna": "running", "nova": "running", "wendy": "running", "older": "ended"}
    assert "proven gone" in knell("receipt", "older"), "what the knell before wrote is read"
    assert "proven gone" in knell("kill", "luna")
    assert "proven gone" in knell("stop", "wendy")
    knell("resume", "luna", "--tmux-server", "test")
    knell("resume", "older", "--tmux-server", "test")
    assert "proven gone" in knell("kill", "all", "--yes")
    assert "proven gone" in knell("receipt", "nova")
    events = upgrade.json("events", "--last", "1000")["events"]
    assert isinstance(events, list)
    assert [one["type"] for one in events].count("life.stopped") == 6
    assert not any(map(alive, pids.values()))


def test_a_package_that_is_gone_leaves_its_keepers_at_work(upgrade: Upgrade) -> None:
    """Uninstalled under live agents: each still ends with everything, and proven, when its pane is
    closed or its terminal goes; the knell that comes later reads it."""
    house = upgrade.house
    luna = upgrade.spawn("luna", *IN_TMUX)
    # a pane has the environment of the tmux server, which knell started without its own variables
    env = [f"{name}={upgrade.env[name]}" for name in ("PATH", "HOME", "KNELL_HOME")]
    line = shlex.join(["env", *env, "knell", "run", "--name", "nova", "claude"])
    house.tmux("new-session", "-d", "-s", "mine", line)
    sessions = house.home / ".claude/sessions"
    eventually(lambda: len([*sessions.iterdir()]) == 2)  # each look at the list is a command
    nova = eventually(lambda: running(upgrade, "nova"))
    family = [pid for agent in (luna, nova) for pid in (agent, state_and_parent(agent)[1])]
    family += [eventually(lambda agent=agent: child(agent)) for agent in (luna, nova)]
    upgrade.place.uninstall()
    assert not list(upgrade.place.folder.glob("lib/python*/site-packages/knell/processes/**/*.py"))
    assert all(map(alive, family))
    house.tmux("kill-session", "-t", "=mine")
    pane = house.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}").split()
    assert pane, "luna's is there"
    house.tmux("kill-pane", "-t", pane[0])
    eventually(lambda: not any(map(alive, family)))
    upgrade.place.install(upgrade.new)
    for name in ("luna", "nova"):
        receipt = upgrade.json("receipt", name)
        assert (receipt["proof"], receipt["survivors"]) == ("proven", [])


def running(upgrade: Upgrade, name: str) -> int:
    """The PID of that agent, once it is on record; asked of the knell before, so that the store is
    not brought up to date under it."""
    agents = upgrade.json("list")["agents"]
    assert isinstance(agents, list)
    return next((one["pid"] or 0 for one in agents if one["name"] == name), 0)


def child(pid: int) -> int:
    """The one that left its session: no hangup reaches it."""
    return next((one for one in pids() if state_and_parent(one)[1] == pid), 0)
