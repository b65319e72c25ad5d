"""P25: an agent is an agent in every KNELL_HOME, and under every KNELL_HOST."""

import json
import os
import sys
from pathlib import Path

import pytest

from contracts.t_scenes import Puppet
from house import House, alive, eventually
from scenes import end, stranger

SCRUBBED = ("KNELL_RUN", "KNELL_TOKEN", "KNELL_AGENT", "KNELL_HEARTBEAT")
# Leaves the cgroup that would give it away, as far as it may, and becomes `knell WORDS`.
LEAVES = """
import os, sys
try:
    with open(os.path.join(sys.argv[1], "cgroup.procs"), "w") as file:
        file.write(str(os.getpid()))
except OSError:
    pass
os.execv(sys.executable, [sys.executable, "-m", "knell", *sys.argv[2:]])
"""


@pytest.fixture
def luna(house: House) -> Puppet:
    return Puppet(house, "luna")


def said(luna: Puppet, *words: str, **env: str) -> tuple[int, str]:
    """What comes of `knell WORDS` in Luna, with nothing of her in its environment or cgroup."""
    leaf = next((run.cgroup for run in luna.house.knell.world.store.runs.live()), "")
    argv = (sys.executable, "-c", LEAVES, os.path.dirname(leaf) or "/nowhere", *words)
    told = luna.says("exec", *argv, env=env, without=SCRUBBED)
    return told.code, told.out + told.err


@pytest.mark.parametrize("home", ["an empty one", "her own, as another host"])
def test_P25_nobody_elses_process_is_adopted(house: House, luna: Puppet, home: str) -> None:
    """Once it is adopted, a kill ends it."""
    pid, _ = stranger(house, "tell()\nsleep()")
    env = {"KNELL_HOME": str(house.root / "empty")} if "empty" in home else {"KNELL_HOST": "x"}
    for words in (("adopt", str(pid), "--name", "ush"), ("reap", "--foreign", str(pid), "--yes")):
        code, told = said(luna, *words, **env)
        assert code == 1, told
        assert "operator" in told or "may only adopt what it started" in told
    assert alive(pid)
    end(pid)


def test_P25_a_made_up_host_opens_no_other_door(house: House, luna: Puppet) -> None:
    for words in (("prune", "--days", "0"), ("watch", "--install"), ("hooks", "install", "claude")):
        code, told = said(luna, *words, KNELL_HOST="x")
        assert code == 1, told
        assert "only the operator may" in told


def test_P25_in_a_home_of_her_own_she_ends_what_she_started(house: House, luna: Puppet) -> None:
    """As one does that tries knell out; and nothing beyond."""
    env = {"KNELL_HOME": str(house.root / "own")}
    spawn = ("spawn", "--in", "headless", "--name")
    for name in ("one", "two"):
        assert said(luna, *spawn, name, "--", "sleep", "600", **env)[0] == 0
    code, told = said(luna, "list", "--json", **env)
    pids = [agent["pid"] for agent in json.loads(told)["agents"]]
    assert (code, len(pids)) == (0, 2)
    assert said(luna, "restart", "one", **env)[0] == 0
    assert said(luna, "prune", **env)[0] == 0
    code, told = said(luna, "hooks", "install", "claude", **env)
    assert code == 1
    assert "an agent of another KNELL_HOME" in told
    assert said(luna, "kill", "all", "--yes", **env)[0] == 0
    eventually(lambda: not any(map(alive, pids)))


def test_P25_in_a_home_of_others_she_ends_nobody(house: House, luna: Puppet) -> None:
    """The operator has two, and Luna is of the other one."""
    first = house.env["KNELL_HOME"]
    house.env["KNELL_HOME"] = second = str(house.root / "second")
    done = house.run("spawn", "--name", "robin", "--in", "headless", "--", "sleep", "600")
    assert done.returncode == 0, done.stderr
    [robin] = house.json("list")["agents"]
    for words in (("kill", "robin", "--yes"), ("stop", "robin"), ("prune",), ("restart", "robin")):
        code, told = said(luna, *words, KNELL_HOME=second)
        assert code == 1, told
        assert "'robin' is not its own" in told
    assert alive(robin["pid"])
    assert house.run("kill", "robin").returncode == 0
    house.env["KNELL_HOME"] = first


def test_P25_a_window_in_your_tmux_is_not_you_in_an_empty_home(house: House, luna: Puppet) -> None:
    pid, _ = stranger(house, "tell()\nsleep()")
    house.tmux("new-session", "-d", "-s", "mine", "sh")
    out = house.root / "said"
    knell = f"{sys.executable} -m knell adopt {pid} --name ush"
    bare = f"env -i PATH=$PATH KNELL_HOME={house.root}/empty {knell}"
    line = f"{bare} > {out}.new 2>&1; mv {out}.new {out}"
    window = ("tmux", "-L", "test", "new-window", "-t", "mine", line)
    assert luna.says("exec", *window).code == 0
    eventually(out.exists)
    assert "not proven who asks: tmux started it" in Path(out).read_text()
    assert alive(pid)
    end(pid)
