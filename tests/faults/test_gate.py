"""P6, P7: every kind of caller at the real command line, and the table of who may do what.

Luna is a worker of team red. Whatever way she finds to start `knell`, it is Luna that asks, or it
is refused because nothing proves who asks; it is never the operator.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import several
from contracts.t_scenes import PUPPET, Puppet, begun, leader, member, refusals
from house import House, alive, eventually
from knell.core.authority import Caller, Deed, Relation, Subject, decide
from scenes import SLEEPS, adopted, end, number, started, stranger

# Asks knell's MCP server to bring each agent back, and prints what the server answers.
ASK_MCP = """
import json, subprocess, sys
server = subprocess.Popen([sys.executable, "-m", "knell", "mcp"], stdin=-1, stdout=-1, text=True)
def ask(method, **params):
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    print(line, file=server.stdin, flush=True)
    return next(told for told in map(json.loads, server.stdout) if "id" in told)["result"]
ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
calls = [ask("tools/call", name="resume-agent", arguments={"agentId": one}) for one in sys.argv[1:]]
server.stdin.close()
server.wait()
print(json.dumps([json.loads(one["content"][0]["text"]) for one in calls]))
"""  # noqa: E501 - one call of the protocol is one line
REFUSED = {
    "caller_unproven",
    "leader_stays",
    "needs_yes",
    "not_allowed",
    "only_the_leader",
    "request_not_found",
    "runs_this_command",
}
OPERATOR = Caller("operator")
UNPROVEN = Caller("unproven", doubt="it cannot be told")


class Cell(NamedTuple):
    """One command of the table, and what its target is to Luna."""

    deed: Deed
    subject: Subject
    words: tuple[str, ...]


def cells(stranger_pid: int) -> list[Cell]:
    """Every deed to every kind of target. What is allowed changes nothing that other cells need:
    endings are previews, and the process to adopt would be of a kind that is not known."""
    targets = {
        "boss": Subject("boss", Relation.TEAMED, "red", leads=True, left=("luna", "wanda")),
        "luna": Subject("luna", Relation.ITSELF, "red"),
        "child": Subject("child", Relation.STARTED),
        "outer": Subject("outer", Relation.AROUND),
        "wanda": Subject("wanda", Relation.TEAMED, "red"),
        "lone": Subject("lone", Relation.FREE),
    }
    ends = [
        Cell(Deed.END, one, ("kill", name, "--yes", "--no-children", "--dry-run"))
        for name, one in targets.items()
    ]
    beats = [Cell(Deed.BEAT, one, ("beat", name)) for name, one in targets.items()]
    reaps = [
        Cell(Deed.REAP, Subject("gone", Relation.FREE), ("kill", "gone", "--yes", "--dry-run")),
        Cell(Deed.REAP, Subject("mine", Relation.STARTED), ("kill", "mine", "--yes", "--dry-run")),
    ]
    starts = [
        Cell(Deed.START, Subject(name, relation, team), ("resume", name, "--cwd", "/nowhere"))
        for name, relation, team in (
            ("late", Relation.TEAMED, "red"),
            ("past", Relation.FREE, ""),
        )
    ]
    clean = ("--cleanup=safe", "--yes", "--dry-run")
    cleanups = [
        Cell(Deed.CLEAN_UP, Subject("late", Relation.TEAMED, "red"), ("kill", "late", *clean)),
        Cell(Deed.CLEAN_UP, Subject("swept", Relation.FREE), ("kill", "swept", *clean)),
    ]
    strange = Subject(f"PID {stranger_pid}", Relation.STRANGE)
    others = [
        Cell(Deed.ANSWER, targets["wanda"], ("reject", "wanda")),
        Cell(Deed.ADOPT, strange, ("adopt", str(stranger_pid), "--kind", "nonsense")),
        Cell(Deed.REAP_FOREIGN, strange, ("reap", "--foreign", str(stranger_pid), "--yes")),
        Cell(Deed.WATCH, strange, ("watch", "--install", "--stalled", "kill")),
        Cell(Deed.FORGET, strange, ("prune", "--days", "30")),
        Cell(Deed.UNINSTALL, strange, ("uninstall", "--yes")),
        Cell(Deed.SET_UP, strange, ("hooks", "uninstall", "claude")),
        Cell(Deed.SET_UP, strange, ("skills", "uninstall", "--kind", "claude")),
        Cell(Deed.FLEET, strange, ("fleet", "leave")),
    ]
    return ends + beats + reaps + starts + cleanups + others


class Stage:
    """Team red with boss, Luna and Wanda; what Luna is in and what she started; others."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.boss = leader(house)
        self.outer = Puppet(house, "outer")
        door, up = house.root / "luna.door", house.root / "luna.up"
        env = ("--env", f"DOOR={door}", "--env", f"KNELL_READY={up}")
        words = ("spawn", "--name", "luna", "--in", "headless", *env, "--")
        assert self.outer.says(*words, sys.executable, "-S", "-c", PUPPET).code == 0
        eventually(up.exists)
        self.luna = Puppet.__new__(Puppet)
        self.luna.house, self.luna.name, self.luna.door = house, "luna", door
        house.knell.team("red").add("luna")
        member(house, "wanda")
        house.spawn(name="lone")
        for name in ("child", "mine"):
            spawn = ("spawn", "--name", name, "--in", "headless", "--", "sleep", "600")
            assert self.luna.says(*spawn).code == 0
        house.spawn(name="gone")
        house.run("stop", "gone", "mine", "--mode", "soft")
        member(house, "late")
        for name in ("past", "swept"):
            house.spawn(name=name)
        assert house.run("kill", "late", "past", "swept", "--yes").returncode == 0
        house.knell.shutdowns.ask("wanda", deadline=0)
        self.stranger, _ = stranger(house, "tell()\nsleep()")
        self.cells = cells(self.stranger)

    def narrowed(self) -> None:
        """From here on one cell of each deed: who asks is found before any cell is looked at, so
        another way to ask needs no second look at every kind of target. `make chaos` takes all."""
        if not os.environ.get("KNELL_CHAOS"):
            first = {cell.deed: cell for cell in reversed(self.cells)}
            self.cells = [first[deed] for deed in first if deed is not Deed.FLEET]

    def walk_argv(self) -> tuple[Path, tuple[str, ...]]:
        out = self.house.root / f"{os.urandom(4).hex()}.out"
        return out, several.argv(out, [(*cell.words, "--json") for cell in self.cells])

    def walk(self, who: Caller, start: Callable[[tuple[str, ...]], Any], **other: Relation) -> None:
        """Every cell, from the caller that `start` makes: as the one decision says for `who`.

        `other`: what targets are to the caller, where that is not what they are to Luna."""
        out, argv = self.walk_argv()
        start(argv)
        eventually(out.exists, 300)
        self.compare(who, out, **other)

    def compare(self, who: Caller, out: Path, **other: Relation) -> None:
        """What came of every cell, as the one decision says for `who`."""
        for cell, done in zip(self.cells, several.ends(out), strict=True):
            relation = other.get(cell.subject.name, cell.subject.relation)
            subject = cell.subject._replace(relation=relation)
            expected = decide(who, cell.deed, [subject], confirmed=True)
            wanted = expected.code if expected else ""
            if cell.deed is Deed.ANSWER and wanted == "not_allowed":
                wanted = "request_not_found"  # it does not even learn that there is one
            assert refusal_code(done) == wanted, (cell, done)


def refusal_code(done: several.Done) -> str:
    """The code by which the gate refused; empty where it let the caller through."""
    if done.returncode == 0:
        return ""
    text = done.stdout or done.stderr
    told = json.loads(text[text.index("{") :])
    words = told.get("error", told)
    found = words["code"] if isinstance(words, dict) else told["code"]
    return found if found in REFUSED else ""


def run(argv: tuple[str, ...], house: House, **more: str) -> None:
    subprocess.run(argv, env=house.env | more, cwd=house.root, check=True, timeout=300)


LUNA = Caller("agent:luna", ("luna-run", "outer-run"), "luna")


def test_P6_the_operator_at_a_shell(house: House) -> None:
    stage = Stage(house)
    stage.walk(OPERATOR, lambda argv: run(argv, house))
    end(stage.stranger)


def test_P6_an_agent_stays_that_agent(house: House) -> None:
    """Ancestry is asked first: neither a scrubbed nor a forged environment changes who she is."""
    stage = Stage(house)
    scrubbed = ("KNELL_RUN", "KNELL_TOKEN", "KNELL_AGENT")
    stolen = {"KNELL_RUN": stage.boss.run.id, "KNELL_AGENT": "boss"}
    stolen["KNELL_TOKEN"] = stage.boss.token
    for without, more in (((), {}), (scrubbed, {}), ((), stolen)):
        stage.walk(
            LUNA,
            lambda argv, more=more, without=without: stage.luna.says(
                "exec", *argv, env=more, without=without
            ),
        )
        stage.narrowed()
    end(stage.stranger)


def test_P6_a_leader_may_what_the_table_says(house: House) -> None:
    stage = Stage(house)
    boss = Caller("agent:boss", (stage.boss.run.id,), "boss")
    led = dict.fromkeys(("luna", "wanda", "late"), Relation.LED)
    free = dict.fromkeys(("child", "outer", "mine"), Relation.FREE)
    start = partial(stage.boss.says, "exec")
    stage.walk(boss, lambda argv: start(*argv), boss=Relation.ITSELF, **led, **free)
    end(stage.stranger)


def test_P6_an_adopted_agent_is_that_agent(house: House) -> None:
    """It has no keeper, no stamp and no token, and is known by the process that was adopted."""
    stage = Stage(house)
    out, argv = stage.walk_argv()
    gate = house.root / "gate"
    body = f"""tell()
while not os.path.exists({str(gate)!r}): time.sleep(0.01)
os.spawnv(os.P_WAIT, {argv[0]!r}, {argv!r})
sleep()
"""
    dora = adopted(house, body, name="dora", setsid=True)
    gate.touch()
    eventually(out.exists, 300)
    teamed = dict.fromkeys(("boss", "luna", "wanda", "late"), Relation.TEAMED)
    free = dict.fromkeys(("child", "outer", "mine"), Relation.FREE)
    stage.compare(Caller("agent:dora", (dora.run.id,), "dora"), out, **teamed, **free)
    end(stage.stranger)


def test_P6_the_tools_of_the_mcp_server_ask_the_same_gate(house: House) -> None:
    """None of them is ended or started by it: those that may be brought back run already."""
    stage = Stage(house)
    subjects = [cell.subject for cell in stage.cells if cell.deed is Deed.END]
    said = stage.luna.says("exec", sys.executable, "-c", ASK_MCP, *(one.name for one in subjects))
    for one, told in zip(subjects, json.loads(said.out), strict=True):
        refusal = decide(LUNA, Deed.MANAGE, [one])
        if refusal is None:
            assert "still running" in told["error"], (one, told)
        else:
            assert told["error"] == refusal.why, (one, told)
    end(stage.stranger)


def test_P7_C40_a_stamp_or_an_old_token_in_a_plain_shell_proves_nothing(house: House) -> None:
    stage = Stage(house)
    old = Puppet(house, "old")
    token = old.token
    house.run("kill", "old")
    for more in (
        {"KNELL_RUN": stage.boss.run.id},
        {"KNELL_RUN": old.run.id},
        {"KNELL_TOKEN": token},
        {"KNELL_RUN": old.run.id, "KNELL_TOKEN": token},
    ):
        stage.walk(UNPROVEN, lambda argv, more=more: run(argv, house, **more))
        stage.narrowed()
    assert all("not proven" in one["why"] for one in refusals(house))
    end(stage.stranger)


def test_P7_a_window_that_an_agent_opens_in_your_tmux_is_not_you(house: House) -> None:
    stage = Stage(house)
    stage.narrowed()
    house.tmux("new-session", "-d", "-s", "mine", "sh")

    def start(argv: tuple[str, ...]) -> None:
        said = stage.luna.says("exec", "tmux", "-L", "test", "new-window", "-t", "mine", *argv)
        assert said.code == 0, said

    stage.walk(UNPROVEN, start)
    end(stage.stranger)


def test_P7_a_shell_that_you_open_in_tmux_is_you(house: House) -> None:
    house.spawn(name="luna")
    house.tmux("new-session", "-d", "-s", "mine", "sh")
    done = house.root / "done"
    line = f"{sys.executable} -m knell kill luna; echo $? > {done}.new; mv {done}.new {done}"
    house.tmux("send-keys", "-t", "mine", line, "Enter")
    eventually(done.exists)
    assert done.read_text() == "0\n"


@pytest.mark.parametrize("own_proc", [True, False], ids=["own proc", "outer proc"])
def test_P7_a_pid_namespace_that_an_agent_makes_is_not_you(house: House, *, own_proc: bool) -> None:
    """With the outer /proc it is seen to be Luna; with one of its own nothing can be seen."""
    boss, luna = leader(house), member(house, "luna")
    flags = ("-pf", "--kill-child", *(("--mount-proc",) if own_proc else ()))
    kept = [f"{name}={house.env[name]}" for name in ("PATH", "HOME", "KNELL_HOME")]
    knell = (sys.executable, "-m", "knell", "kill", "boss", "--yes")
    said = luna.says("exec", "unshare", *flags, "env", "-i", *kept, *knell)
    if said.err.startswith("unshare:"):
        pytest.skip(f"no PID namespace here: {said.err.strip()}")
    # Where the kernel lets knell make a cgroup, its name still says whose process this is.
    proven = "no agent ends a leader" if not own_proc or luna.run.cgroup else "not proven who asks"
    assert (said.code, proven in said.err) == (1, True), said
    assert alive(boss.pid)
    assert [view.name for view in house.knell.list()] == ["boss", "luna"]


def background(house: House, words: Sequence[str], how: str) -> tuple[Path, str]:
    """The body of an agent that starts `knell WORDS` and leaves it to the system at once."""
    out = house.root / f"{os.urandom(4).hex()}.out"
    argv = (sys.executable, "-m", "knell", *words)
    script = "sleep 0.5; " + " ".join(argv) + f" > {out}.new 2>&1; mv {out}.new {out}"
    begin = "os.setsid()" if how == "setsid" else "pass"
    body = f"""
if not os.fork():
    {begin}
    if not os.fork():
        for name in list(os.environ):
            if name.startswith("KNELL_") and name != "KNELL_HOME":
                del os.environ[name]
        os.execv("/bin/sh", ["sh", "-c", {script!r}])
    os._exit(0)
os.wait()
tell()
sleep()
"""
    return out, body


@pytest.mark.parametrize("cgroup", [True, False], ids=["in a cgroup", "in none"])
@pytest.mark.parametrize("how", ["plain", "setsid"])
def test_P7_a_background_child_of_an_adopted_agent_is_not_you(
    house: House, how: str, *, cgroup: bool
) -> None:
    """Its parents are gone, so nothing above it says whose it is: refused, unless a cgroup says."""
    boss = leader(house)
    gate = house.root / "gate"
    out, body = background(house, ("kill", "boss", "--yes"), how)
    body = body.replace(
        "if not os.fork():",
        f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)\nif not os.fork():",
        1,
    )
    pid, _ = stranger(house, "tell()\n" + body, setsid=True)
    dora = house.knell.adopt(str(pid), name="dora").run
    if dora.cgroup and not cgroup:
        house.knell.world.enclosures.release(dora.cgroup)
    gate.touch()
    eventually(out.exists, 60)
    proven = "no agent ends a leader" if dora.cgroup and cgroup else "it is not proven who asks"
    assert proven in out.read_text()
    assert alive(boss.pid)


def test_P6_the_watch_of_a_worker_ends_only_what_the_worker_may(house: House) -> None:
    boss = leader(house)
    luna = member(house, "luna")
    lone = house.spawn(name="lone")
    assert luna.says("beat", "boss").code == 1, "nor does she beat for another"
    assert house.run("beat", "boss").returncode == 0
    assert house.run("beat", "lone").returncode == 0
    pid = number(lone.run.process)

    def one_round() -> bool:
        luna.says("watch", "--once", "--stalled", "kill", "--older-than", "1")
        return not alive(pid)

    eventually(one_round, 60)
    assert alive(boss.pid)
    assert house.knell.receipt("lone").by == "agent:luna"
    assert [one for one in refusals(house) if "leads team 'red'" in one["why"]]


def test_P6_no_agent_adopts_your_shell(house: House) -> None:
    luna = Puppet(house, "luna")
    pid, _ = stranger(house, "tell()\nsleep()")
    said = luna.says("adopt", str(pid), "--name", "ush")
    assert (said.code, "may only adopt what it started" in said.err) == (1, True)
    assert house.run("adopt", str(pid), "--name", "ush").returncode == 0


def test_P6_an_agent_adopts_what_it_started(house: House) -> None:
    luna = Puppet(house, "luna")
    words = ("sh", "-c", "env -i sleep 600 > /dev/null 2>&1 & echo $!")
    pid = luna.says("exec", *words).out.strip()
    # The shell has gone, so that the process is the keeper's child now: still Luna's.
    assert luna.says("adopt", pid, "--name", "own").code == 0
    assert house.knell.show("own").view.parent == luna.run.id


def test_P6_what_is_left_of_a_leader_is_not_for_its_worker(house: House) -> None:
    boss, luna = leader(house), member(house, "luna")
    assert house.run("stop", "boss", "--mode", "soft", "--yes").returncode == 0
    said = luna.says("kill", "boss", "--yes")
    assert (said.code, alive(boss.pid)) == (1, True), said
    said = luna.says("reap", "boss", "--yes")
    assert (said.code, alive(boss.pid)) == (1, True), said
    assert house.run("reap", "boss", "--yes").returncode == 0
    assert not alive(boss.pid)


def test_P6_a_worker_decides_nothing_about_others_that_have_ended(house: House) -> None:
    """Neither that they stay ended, nor that what they left is deleted."""
    _, luna = leader(house), member(house, "luna")
    house.spawn(name="wanda", team="red", restart=3)
    assert house.run("kill", "wanda").returncode == 0
    for words in (
        ("kill", "wanda"),
        ("kill", "wanda", "--cleanup"),
        ("delete", "wanda", "--purge-conversation", "--yes"),
    ):
        said = luna.says(*words)
        assert (said.code, "only its leader" in said.err) == (1, True), said


def test_P6_a_worker_does_not_bring_back_its_leader(house: House) -> None:
    _, luna = leader(house), member(house, "luna")
    assert house.run("kill", "boss", "--yes").returncode == 0
    for verb in ("resume", "restart"):
        said = luna.says(verb, "boss")
        assert (said.code, "only its leader" in said.err) == (1, True), said


def test_P7_the_holder_of_a_token_is_its_agent(house: House) -> None:
    boss, luna = leader(house), member(house, "luna")
    done = begun(house, "kill", "luna", KNELL_TOKEN=boss.token)
    done.communicate(timeout=300)
    assert (done.returncode, alive(luna.pid)) == (0, False)


def test_P7_an_adopted_agent_that_ends_itself_proves_it_by_a_token(house: House) -> None:
    """The process that ends it from outside has no agent above it."""
    out = house.root / "out"
    script = f"{sys.executable} -m knell stop > {out} 2>&1"
    body = f"tell()\ntime.sleep(1)\nos.system({script!r})\nsleep()"
    played = adopted(house, body, setsid=True)
    eventually(lambda: not alive(played.pid), 60)
    eventually(lambda: not house.knell.list())
    assert house.knell.receipt("luna").by == "agent:luna"


def test_P7_an_agent_that_acts_before_its_start_is_recorded_is_not_you(house: House) -> None:
    """Its spawner waits a moment before it records the start; the keeper is above it already."""
    boss = started(house, SLEEPS, name="boss")
    house.knell.team("red").create(leader="boss")
    said = house.root / "said"
    kill = f"{shlex.quote(sys.executable)} -m knell kill boss --yes > {said}.new 2>&1"
    home = shlex.quote(house.env["KNELL_HOME"])
    script = f'env -i PATH="$PATH" KNELL_HOME={home} {kill}; mv {said}.new {said}; exec sleep 99'
    house.run("spawn", "--name", "luna", "--in", "headless", "--", "sh", "-c", script)
    eventually(said.exists)
    assert "error: " in said.read_text()
    assert alive(boss.pid)
    refused = [one for one in house.json("events")["events"] if one["type"] == "authority.refused"]
    assert [one["data"]["by"] for one in refused] == ["agent:luna"]
