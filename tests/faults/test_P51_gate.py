"""P51: ways around the gate that need no forged process, only knell's own commands.

Luna is an agent. What she may do to an agent of no team gives her no right that she had not; no
name, no team, no KNELL_HOME and no file of hers makes her another, or the operator.
"""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from contracts.t_scenes import Puppet, begun, events, gone, leader, requests
from faults.test_P40_gate import repository, worktree
from house import House, eventually

SCRUBBED = ("KNELL_RUN", "KNELL_TOKEN", "KNELL_AGENT", "KNELL_HEARTBEAT")
NOT_STARTED = "neither started 'lone'"
CLEAN = ("--cleanup=force", "--yes")
PURGE = ("--mode", "hard", "--purge-conversation", "--yes")
SLEEP = ("--", "sleep", "600")
# Asks knell's MCP server, started for the operator, to start an agent.
ASK_MCP = """
import json, subprocess, sys
words = [sys.executable, "-m", "knell", "mcp", "--operator"]
server = subprocess.Popen(words, stdin=-1, stdout=-1, text=True)
def ask(method, **params):
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    print(line, file=server.stdin, flush=True)
    return next(told for told in map(json.loads, server.stdout) if "id" in told)["result"]
about = {"name": "t", "version": "1"}
ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
wish = {"kind": "command", "args": ["sleep", "600"], "name": "kid", "place": "headless"}
print(ask("tools/call", name="spawn-agent", arguments=wish)["isError"])
server.stdin.close()
server.wait()
"""


@pytest.fixture
def luna(house: House) -> Puppet:
    return Puppet(house, "luna")


# -- rights that grow ------------------------------------------------------------------------------


def test_P51_to_bring_an_agent_back_is_not_to_have_started_it(house: House, luna: Puppet) -> None:
    """Every agent may end and resume an agent of no team; its worktree stays the operator's."""
    tree = worktree(house, "lone")
    assert luna.says("kill", "lone").code == 0
    assert luna.says("resume", "lone", "--in", "headless").code == 0
    luna.says("team", "create", "blue")
    for words in (("kill", "lone", *CLEAN), ("team", "add", "blue", "lone")):
        said = luna.says(*words)
        assert (said.code, NOT_STARTED in said.err) == (1, True), said
    assert tree.exists()
    assert luna.says("kill", "lone").code == 0, "the ending alone is allowed"


def test_P51_what_she_started_stays_hers_when_she_brings_it_back(
    house: House, luna: Puppet
) -> None:
    repo = repository(house)
    spawn = ("spawn", "--name", "mine", "--in", "headless", "--cwd", str(repo))
    assert luna.says(*spawn, "--worktree", "fix", *SLEEP).code == 0
    assert luna.says("kill", "mine").code == 0
    assert luna.says("resume", "mine", "--in", "headless").code == 0
    assert luna.says("kill", "mine", *CLEAN).code == 0
    assert not (repo / ".worktrees" / "fix").exists()


def test_P51_a_team_made_again_gives_no_power_over_its_old_members(
    house: House, luna: Puppet
) -> None:
    tree = worktree(house, "lone")
    house.knell.team("red").create()
    house.knell.team("red").add("lone")
    house.knell.kill("lone")
    house.knell.team("red").dissolve()
    said = luna.says("team", "create", "red")
    assert (said.code, "team 'red' was led by the operator" in said.err) == (1, True), said
    assert luna.says("kill", "lone", *CLEAN).code == 1
    assert tree.exists()
    assert house.run("team", "create", "red").returncode == 0


def test_P51_a_leader_makes_its_own_team_again(house: House) -> None:
    boss = leader(house)
    for word in ("dissolve", "create"):
        assert boss.says("team", word, "red").code == 0


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["operator", "Operator", "watch", "unproven"])
def test_P51_no_agent_bears_the_name_of_one_who_is_none(
    house: House, luna: Puppet, name: str
) -> None:
    """It would take back what the operator asked, and write to others as the operator."""
    said = luna.says("spawn", "--name", name, "--in", "headless", *SLEEP)
    assert (said.code, f"the name '{name}' is reserved" in said.err) == (2, True), said
    assert name not in [view.name for view in house.knell.list()]


def test_P51_such_a_word_is_still_a_tag(house: House) -> None:
    house.spawn(name="wanda", tag="watch")
    assert house.run("kill", "tag:watch").returncode == 0


# -- what no agent of this KNELL_HOME made ---------------------------------------------------------


def test_P51_a_worktree_is_not_hers_in_a_home_of_her_own(house: House, luna: Puppet) -> None:
    """There nobody knows the agents that worked in it."""
    tree = worktree(house, "lone")
    house.run("kill", "lone")
    there = {"env": {"KNELL_HOME": str(house.root / "own")}, "without": SCRUBBED}
    spawn = ("spawn", "--name", "kid", "--in", "headless", "--cwd")
    assert luna.says(*spawn, str(tree), *SLEEP, **there).code == 0
    said = luna.says("kill", "kid", *CLEAN, **there)
    assert (said.code, "only the operator may clean up after" in said.err) == (1, True), said
    assert luna.says("kill", "kid", **there).code == 0
    assert tree.exists()
    new = ("--worktree", "other", *SLEEP)
    assert luna.says(*spawn, str(house.root / "repo"), *new, **there).code == 0
    assert luna.says("kill", "kid", *CLEAN, **there).code == 0
    assert not tree.with_name("other").exists(), "one that she made there is hers"


@pytest.mark.parametrize("maker", ["operator", "luna"])
def test_P51_a_worktree_of_no_agent_is_for_its_maker_to_clean_up(
    house: House, luna: Puppet, maker: str
) -> None:
    wish = {"TASK_ID": "t1", "REPOSITORY": str(repository(house)), "BASE_BRANCH": "HEAD"}
    words = ("invoke", "create-worktree", json.dumps(wish))
    said = luna.says(*words).out if maker == "luna" else house.run(*words).stdout
    tree = Path(json.loads(said)["worktree_path"])
    answer = luna.says("invoke", "cleanup-worktrees", json.dumps({"FORCE_CLEANUP": True}))
    assert tree.exists() is (maker == "operator"), answer


class Claude:
    """A stand-in for the program, and a conversation that a person had with the real one."""

    def __init__(self, house: House) -> None:
        self.id, self.project = str(uuid.uuid4()), house.root / "project"
        program = house.root / "bin" / "claude"
        name = str(self.project).replace("/", "-").replace("_", "-")
        self.file = house.home / ".claude" / "projects" / name / f"{self.id}.jsonl"
        for folder in (self.project, program.parent, self.file.parent):
            folder.mkdir(parents=True)
        program.write_text("#!/bin/sh\nexec sleep 600\n")
        program.chmod(0o755)
        words = {"role": "user", "content": "hello"}
        said = {"type": "user", "sessionId": self.id, "cwd": str(self.project), "message": words}
        self.file.write_text(json.dumps(said) + "\n")
        self.env = {"PATH": f"{program.parent}:{house.env['PATH']}"}

    def words(self, name: str, *more: str) -> tuple[str, ...]:
        where = ("--name", name, "--in", "headless", "--cwd", str(self.project))
        return ("spawn", *where, *more, "claude", "-p", "x")


@pytest.mark.parametrize("home", ["the same", "her own"])
def test_P51_a_conversation_that_another_began_is_not_purged(
    house: House, luna: Puppet, home: str
) -> None:
    """She has an agent go on with it, and then deletes what her agent leaves."""
    claude = Claude(house)
    own = {"KNELL_HOME": str(house.root / "own")} if home == "her own" else {}
    how = {"env": claude.env | own, "without": SCRUBBED if own else ()}
    assert luna.says(*claude.words("kid"), "--resume", claude.id, **how).code == 0
    told = luna.says("stop", "kid", *PURGE, **how)
    assert (told.code, "clean up after" in told.err) == (1, True), told
    assert luna.says("kill", "kid", **how).code == 0
    assert claude.file.exists()


def test_P51_to_go_on_with_a_conversation_is_to_bring_its_agent_back(
    house: House, luna: Puppet
) -> None:
    """Whatever command names it: a member of a team is brought back by its leader."""
    claude = Claude(house)
    house.knell.team("red").create()
    env = house.env | claude.env
    spawned = house.run(*claude.words("wanda", "--team", "red"), "--resume", claude.id, env=env)
    assert spawned.returncode == 0, spawned
    house.run("kill", "wanda", "--yes")
    assert luna.says(*claude.words("kid"), env=claude.env).code == 0
    assert luna.says("kill", "kid").code == 0
    for words in (
        (*claude.words("copy"), "--resume", claude.id),
        ("resume", "kid", "--conversation", claude.id, "--", "more"),
        ("resume", claude.id, "--", "more"),
    ):
        said = luna.says(*words, env=claude.env)
        assert (said.code, "only its leader may restart it" in said.err) == (1, True), said


# -- the registry file -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [("stop", "--session", "theirs", "--mode", "hard", "--yes"), ("watch", "--once")],
    ids=["stop", "watch"],
)
@pytest.mark.parametrize("home", ["the same", "her own"])
def test_P51_no_agent_writes_off_a_session_that_it_does_not_see(
    house: House, luna: Puppet, words: tuple[str, ...], home: str
) -> None:
    """It looks into another directory of tmux sockets, where no session is."""
    rows = house.root / ".hermes" / "agent-sessions.yaml"
    rows.parent.mkdir()
    row = "  - name: theirs\n    agent: claude\n    status: running\n    tmux_server: test\n"
    rows.write_text("tmux_sessions:\n" + row)
    house.tmux("new-session", "-d", "-s", "theirs", "bash -c 'exec -a claude sleep 600'")
    own = {"KNELL_HOME": str(house.root / "own")} if home == "her own" else {}
    env = {"TMUX_TMPDIR": "/nowhere"} | own
    said = luna.says(*words, env=env, without=SCRUBBED if own else ())
    assert said.code == (words[0] == "stop"), said
    assert rows.read_text() == "tmux_sessions:\n" + row
    assert "theirs" in house.tmux("list-sessions")


# -- what runs with the operator's authority -------------------------------------------------------


def test_P51_files_in_your_directory_are_no_modules_of_knell(house: House, luna: Puppet) -> None:
    """An agent's sqlite3.py would be loaded by a process that knell starts for you in there."""
    project, ran = house.root / "project", house.root / "ran"
    project.mkdir()
    for name in ("sqlite3", "knell"):
        (project / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    house.knell.shutdowns.ask("luna", deadline=0)
    knell = Path(sys.executable).with_name("knell")
    words = (knell, "approve", "luna", "--needs", "0")
    subprocess.run(words, cwd=project, env=house.env, check=True, capture_output=True)
    gone(house, "luna")
    assert not ran.exists()
    assert requests(house, "luna")[0].phase == "confirmed"


def test_P51_an_mcp_server_for_the_operator_stays_an_agents(house: House, luna: Puppet) -> None:
    """In a KNELL_HOME of her own: what it starts is hers, so that she can end it."""
    there = {"env": {"KNELL_HOME": str(house.root / "own")}, "without": SCRUBBED}
    assert luna.says("exec", sys.executable, "-c", ASK_MCP, **there).out == "False\n"
    assert luna.says("kill", "kid", **there).code == 0


def test_P51_the_watch_of_an_agent_keeps_yours_out_of_nothing(house: House, luna: Puppet) -> None:
    with luna.call("watch", "--interval", "600"):
        home = Path(house.env["KNELL_HOME"])
        eventually(lambda: list(home.glob("watch-*.lock")))
        yours = begun(house, "watch", "--interval", "600")
        eventually(lambda: house.knell.world.store.watch.watcher(house.knell.world.host))
        found = house.knell.world.store.watch.watcher(house.knell.world.host)
        assert found
        assert found.process
        assert found.process.pid == yours.pid
        yours.terminate()
        yours.communicate()
        assert luna.says("watch", "--interval", "600").code == 1, "of hers, one is enough"
    assert not events(house, "authority.refused")
