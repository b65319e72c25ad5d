"""P40 to P42: what an ending does besides, who an agent may become, and who is taken for a person.

Luna is an agent. Whatever she finds, she cleans up after nobody, takes nobody's name, recruits and
beats for nobody but whom she may, and is never taken for the operator.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.t_scenes import PUPPET, Puppet, add_task, gone, leader, member, task
from house import House, alive, eventually
from knell.core.authority import Caller

KNELL = f"{sys.executable} -m knell"


def repository(house: House) -> Path:
    repo = house.root / "repo"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run([*git, "init", "-q", str(repo)], check=True)
    commit = ("commit", "-q", "--allow-empty", "-m", "x")
    subprocess.run([*git, "-C", str(repo), *commit], check=True)
    return repo


def worktree(house: House, name: str) -> Path:
    """Of an agent that the operator started."""
    repo = repository(house)
    where = ("--in", "headless", "--cwd", str(repo), "--worktree", "fix")
    house.run("spawn", "--name", name, *where, "--", "sleep", "600")
    return repo / ".worktrees" / "fix"


# -- P40: an ending that does more needs the right to do more --------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("kill", "lone", "--cleanup=force", "--yes"),
        ("stop", "lone", "--mode", "hard", "--purge-conversation", "--yes"),
        ("stalled", "--kill", "--older-than", "1", "--cleanup=force", "--yes"),
    ],
    ids=["kill", "purge", "stalled"],
)
def test_P40_who_may_end_an_agent_does_not_clean_up_after_it(
    house: House, words: tuple[str, ...]
) -> None:
    """An agent of no team may be ended by every agent; what it leaves is not theirs."""
    luna = Puppet(house, "luna")
    tree = worktree(house, "lone")
    if words[0] == "stalled":
        assert house.run("beat", "lone").returncode == 0
        eventually(lambda: "lone" in house.run("stalled", "--older-than", "1").stdout)
    said = luna.says(*words)
    assert (said.code, "neither started 'lone'" in said.err) == (1, True), said
    assert tree.exists()
    assert "lone" in [view.name for view in house.knell.list()]
    assert luna.says("kill", "lone").code == 0, "the ending alone is allowed"


def test_P40_a_watch_of_an_agent_ends_by_policy_and_leaves_the_worktree(house: House) -> None:
    luna = Puppet(house, "luna")
    tree = worktree(house, "lone")
    assert house.run("beat", "lone").returncode == 0

    def one_round() -> bool:
        words = ("watch", "--once", "--stalled", "kill", "--older-than", "1")
        luna.says(*words, env={"KNELL_WATCH_CLEANUP": "force"})
        return "lone" not in [view.name for view in house.knell.list()]

    eventually(one_round)
    assert tree.exists()


def test_P40_the_json_command_leaves_the_worktree_of_others(house: House) -> None:
    """Its usual cleanup is left out; one that was asked for is refused, and nothing is ended."""
    luna = Puppet(house, "luna")
    tree = worktree(house, "lone")
    wish = {"AGENT_ID": "lone", "FORCE_CLEANUP": True}
    said = luna.says("invoke", "kill-stalled-agent", json.dumps(wish))
    assert "neither started 'lone'" in said.out, said
    assert "lone" in [view.name for view in house.knell.list()]
    luna.says("invoke", "kill-stalled-agent", json.dumps({"AGENT_ID": "lone"}))
    gone(house, "lone")
    assert tree.exists()


def test_P40_a_worktree_is_not_hers_because_she_starts_an_agent_in_it(house: House) -> None:
    luna = Puppet(house, "luna")
    tree = worktree(house, "lone")
    house.run("kill", "lone")
    spawn = ("spawn", "--name", "mine", "--in", "headless", "--cwd", str(tree))
    assert luna.says(*spawn, "--", "sleep", "600").code == 0
    said = luna.says("kill", "mine", "--cleanup=force", "--yes")
    assert (said.code, "neither started 'lone'" in said.err) == (1, True), said
    assert tree.exists()
    assert house.run("kill", "mine", "--cleanup=force", "--yes").returncode == 0
    assert not tree.exists()


def test_P40_she_cleans_up_after_what_she_started(house: House) -> None:
    luna = Puppet(house, "luna")
    repo = repository(house)
    spawn = ("spawn", "--name", "mine", "--in", "headless", "--cwd", str(repo))
    assert luna.says(*spawn, "--worktree", "fix", "--", "sleep", "600").code == 0
    assert luna.says("kill", "mine", "--cleanup=force", "--yes").code == 0
    assert not (repo / ".worktrees" / "fix").exists()


def test_P40_a_row_of_the_registry_purges_nobody_elses_conversation(house: House) -> None:
    _, luna = leader(house), member(house, "luna")
    house.run("kill", "boss", "--yes")
    folder = house.root / ".hermes"
    folder.mkdir()
    row = "tmux_sessions:\n  - name: boss\n    agent: claude\n    status: stopped\n"
    (folder / "agent-sessions.yaml").write_text(row)
    words = ("stop", "--session", "boss", "--mode", "hard", "--purge-conversation", "--yes")
    said = luna.says(*words)
    assert (said.code, "only its leader" in said.err) == (1, True), said


# -- P41: nobody becomes another, or another's leader ----------------------------------------------


@pytest.mark.parametrize("name", ["boss", "wanda", "lone"])
def test_P41_the_name_of_an_ended_agent_is_not_free_for_every_agent(
    house: House, name: str
) -> None:
    _, luna = leader(house), member(house, "luna")
    member(house, "wanda")
    house.spawn(name="lone")
    house.run("kill", name, "--yes")
    gone(house, name)
    before = house.knell.show(name).view.run
    pid = luna.says("exec", "sh", "-c", "sleep 600 > /dev/null 2>&1 & echo $!").out.strip()
    for words in (
        ("spawn", "--name", name, "--in", "headless", "--", "sleep", "600"),
        ("adopt", pid, "--name", name),
    ):
        said = luna.says(*words)
        assert said.code == 1, said
    assert house.knell.show(name).view.run == before
    again = ("spawn", "--name", name, "--in", "headless", "--", "sleep", "600")
    assert house.run(*again).returncode == 0, "a person may"


def test_P41_an_agent_starts_again_in_a_name_that_it_gave(house: House) -> None:
    luna = Puppet(house, "luna")
    spawn = ("spawn", "--name", "mine", "--in", "headless", "--", "sleep", "600")
    for _ in range(2):
        assert luna.says(*spawn).code == 0
        assert luna.says("kill", "mine").code == 0


def test_P41_a_team_is_no_way_to_agents_of_no_team(house: House) -> None:
    """Of members a leader may manage, reap and clean up what of agents of no team nobody may."""
    lone = Puppet(house, "lone")
    Puppet(house, "victim")
    assert lone.says("team", "create", "mine").code == 0
    for words in (
        ("team", "add", "mine", "victim"),
        ("team", "create", "yours", "--leader", "victim"),
    ):
        said = lone.says(*words)
        assert (said.code, "neither started 'victim'" in said.err) == (1, True), said
    spawn = ("spawn", "--name", "child", "--in", "headless", "--", "sleep", "600")
    assert lone.says(*spawn).code == 0
    assert lone.says("team", "add", "mine", "child").code == 0
    assert house.run("team", "add", "mine", "victim").returncode == 0, "a person may"


def test_P41_an_agent_beats_for_none_that_it_runs_in(house: House) -> None:
    outer = Puppet(house, "outer")
    luna = Puppet.__new__(Puppet)
    luna.house, luna.name, luna.door = house, "luna", house.root / "luna.door"
    up = house.root / "luna.up"
    env = ("--env", f"DOOR={luna.door}", "--env", f"KNELL_READY={up}")
    words = ("spawn", "--name", "luna", "--in", "headless", *env, "--")
    assert outer.says(*words, sys.executable, "-S", "-c", PUPPET).code == 0
    eventually(up.exists)
    runs = Path(house.env["KNELL_HOME"]) / "runs"
    theirs = runs / outer.run.id / "heartbeat"
    assert luna.says("beat", env={"KNELL_HEARTBEAT": str(theirs)}).code == 0
    assert not theirs.exists()
    assert (runs / house.knell.show("luna").view.run / "heartbeat").exists(), "it is her own"


def test_P41_no_task_is_taken_back_from_a_member_by_another(house: House) -> None:
    _, luna = leader(house), member(house, "luna")
    member(house, "wanda")
    token = add_task(house, "T1", owner="wanda").token
    script = f"from knell import Knell; Knell().server.take_back('T1', {token})"
    said = luna.says("exec", sys.executable, "-c", script)
    assert "only the leader of team 'red'" in said.err
    assert task(house, "T1").owner == "wanda"


ACT_AS_OPERATOR = """
from knell import Knell
from knell.core.authority import Caller
Knell().acting_as(Caller("operator")).kill("boss", yes=True)
"""


def test_P41_the_api_makes_no_operator_of_an_agent(house: House) -> None:
    boss, luna = leader(house), member(house, "luna")
    said = luna.says("exec", sys.executable, "-c", ACT_AS_OPERATOR)
    assert "'luna' is an agent: it may not act as 'operator'" in said.err
    note = "from knell import Knell; Knell().server.note('authority.override', {})"
    assert "may not write events" in luna.says("exec", sys.executable, "-c", note).err
    assert alive(boss.pid)
    assert house.knell.acting_as(Caller("operator")).caller() == Caller("operator")


# -- P42: who is taken for a person ----------------------------------------------------------------

# What an agent can have a tmux server start: {line} is the command, {file} a file that holds it.
IN_TMUX = {
    "pipe to a shell": ("new-window", "echo '{line}' | sh"),
    "file to a shell": ("new-window", "bash < {file}"),
    "file to an interactive shell": ("new-window", "bash -i < {file}"),
    "words to a shell": ("new-window", "cat {file} | bash -s"),
    "start file of a shell": ("new-window", "bash --rcfile {file} -i"),
    "script": ("new-window", "sh {file}"),
    "here-document": ("run-shell", "-b", "bash <<E\n{line}\nE"),
    "run-shell": ("run-shell", "-b", "{line}"),
    "if-shell": ("if-shell", "-b", "{line}", ""),
    "pipe-pane": ("pipe-pane", "{line}"),
    "left behind": ("run-shell", "-b", "(sleep 0.2; {line}) &"),
}


@pytest.mark.parametrize("how", IN_TMUX)
def test_P42_what_an_agent_has_your_tmux_start_is_not_you(house: House, how: str) -> None:
    boss, luna = leader(house), member(house, "luna")
    house.tmux("new-session", "-d", "-s", "mine", "sh")
    out, file = house.root / "out", house.root / "file.sh"
    line = f"{KNELL} kill boss --yes > {out}.new 2>&1; mv {out}.new {out}"
    file.write_text(line + "\n")
    words = [word.format(line=line, file=file) for word in IN_TMUX[how]]
    assert luna.says("exec", "tmux", "-L", "test", *words).code == 0
    eventually(out.exists)
    assert "it is not proven who asks" in out.read_text()
    assert alive(boss.pid)


def typed(house: House, line: str, **shell: str) -> str:
    """What that line said and its exit code, typed into a new pane."""
    out = house.root / os.urandom(4).hex()
    house.tmux("new-session", "-d", "-s", "mine", shell.get("shell", "sh"))
    line = f"({line}) > {out}.new 2>&1; echo $? >> {out}.new; mv {out}.new {out}"
    house.tmux("send-keys", "-t", "mine", line, "Enter")
    eventually(out.exists)
    return out.read_text()


@pytest.mark.parametrize(
    "line",
    [
        f"{KNELL} kill luna",
        f"script -qec '{KNELL} kill luna' /dev/null",
        f"echo '{KNELL} kill luna' | sh",
        f"nohup {KNELL} kill luna",
        f"setsid -w {KNELL} kill luna",
        f"{KNELL} kill luna < /dev/null & wait $!",
    ],
    ids=["plain", "script", "pipe", "nohup", "setsid", "background"],
)
def test_P42_what_you_type_in_your_tmux_is_you(house: House, line: str) -> None:
    house.spawn(name="luna")
    assert typed(house, line).endswith("\n0\n")


def test_P42_a_person_in_a_pane_of_a_command_is_told_how_to_go_on(house: House) -> None:
    """Whoever has his panes start with a file of his own: a shell in it is his."""
    house.spawn(name="luna")
    empty = house.root / "rc"
    empty.touch()
    shell = f"bash --rcfile {empty} -i"
    said = typed(house, f"{KNELL} kill luna", shell=shell)
    assert "type sh, and then the command in the shell that this starts" in said
    out = house.root / "done"
    house.tmux("send-keys", "-t", "mine", "sh", "Enter")
    # What is typed before it reads may be lost: bash has its own idea of the Enter key.
    shows = ("display-message", "-p", "-t", "mine", "#{pane_current_command}")
    eventually(lambda: house.tmux(*shows).strip() == "sh")
    line = f"{KNELL} kill luna; echo $? > {out}.new; mv {out}.new {out}"
    house.tmux("send-keys", "-t", "mine", line, "Enter")
    eventually(out.exists)
    assert out.read_text() == "0\n"


# Tells in its own mount namespace that init is its parent, and that it is in no cgroup.
FALSE_PROC = """
awk '{{ $4 = 1; $6 = $1; print }}' /proc/$$/stat > {root}/stat && echo 0::/ > {root}/cgroup
mount --bind {root}/stat /proc/$$/stat && mount --bind {root}/cgroup /proc/$$/cgroup || exit 77
exec {knell} kill boss --yes
"""


@pytest.mark.parametrize("layer", ["linux", "portable"])
def test_P42_a_false_file_over_proc_makes_nobody_a_person(house: House, layer: str) -> None:
    boss, luna = leader(house), member(house, "luna")
    script = house.root / "false.sh"
    script.write_text(FALSE_PROC.format(root=house.root, knell=KNELL))
    kept = [f"{name}={house.env[name]}" for name in ("PATH", "HOME", "KNELL_HOME")]
    env = ("env", "-i", *kept, f"KNELL_PROCESSES={layer}")
    said = luna.says("exec", "unshare", "-rm", *env, "sh", str(script))
    if said.code == 77 or said.err.startswith("unshare:"):
        pytest.skip(f"no mount namespace here: {said.err.strip()}")
    assert (said.code, "other files lie over those of /proc" in said.err) == (1, True), said
    assert alive(boss.pid)


def test_P42_a_person_in_a_sandbox_is_told_how_to_go_on(house: House) -> None:
    house.spawn(name="luna")
    argv = ("unshare", "-pf", "--mount-proc", sys.executable, "-m", "knell", "kill", "luna")
    done = subprocess.run(argv, env=house.env, capture_output=True, text=True, check=False)
    if done.stderr.startswith("unshare:"):
        pytest.skip(f"no PID namespace here: {done.stderr.strip()}")
    assert "type it where all processes of this machine are shown" in done.stderr
