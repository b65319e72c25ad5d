"""Every caller that ends runs, and every step that follows an ending, seen on real processes.

Each test is one caller. Luna shares a server with ruby, has a registry row, a task, a session
directory and a vendor's supervisor that starts her again. The caller ends her, then ruby, who is by
then the last user of the server. A cell is "caller x step"; a cell that cannot be has one word.
"""

import ast
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contracts.o_scenes import KILL as KILL_STALLED
from contracts.o_scenes import ask, make_task, sql, task_of
from house import House, alive, eventually
from knell.core.authority import Caller
from knell.core.ports.world import World
from knell.core.run import Run
from knell.core.stall.verdict import Activity
from knell.faces.mcp.callers import ServerOptions, ToolCaller
from knell.faces.mcp.tools.call import carry_out
from knell.faces.mcp.tools.end import KILL, STOP
from knell.faces.mcp.tools.tool import Tool
from knell.life.end import engine
from knell.life.start.confirm import call_off_start
from knell.life.watch.signs.collect import CALM
from knell.start_end_steps import AFTERMATH, RoomSteps
from robin import configure, offer, site
from shared_server import OPENCODE

SETTINGS = "[stop]\nwatch_after = 100\n[stall]\ntool_after = 1\n"
LONG_SILENT = 2 * CALM  # so that the first look need not wait until it may look at the output
TASK = "T-1"
PATIENT = ("--older-than", "1")
KIND = """
from knell.core.kind import Helper
from knell.core.stall.signs import Turn
from knell.kinds.opencode import KIND as OPENCODE

def turn(records):
    return Turn.OPEN

KIND = OPENCODE._replace(
    name="wren", program="wren", packages=(), root_env=(), root="{{home}}/.wren",
    conversation=("talks/{{id}}.jsonl",), database=None, forget=(), turn=turn, mcp=None,
    helpers=(Helper("*{daemon} *", ("wren",), "wren-daemon off"),),
)
"""
# It starts the conversation of a process again as soon as that process has ended.
DAEMON = """#!{python} -S
import os, select, signal, subprocess, sys
signal.alarm(600)
dying = os.pidfd_open(int(sys.argv[1]))
print("ready", flush=True)
select.select([dying], [], [])
again = subprocess.Popen([{again!r}, "--session", sys.argv[2]])
open({told!r} + "~", "w").write(str(again.pid))
os.rename({told!r} + "~", {told!r})
again.wait()
"""
# The agent's program: told to, it ends itself, or leaves as it was asked to.
LEAVES = """
def leave(number, _):
    import subprocess
    for word in ["stop"] if number == signal.SIGUSR1 else ["approve", "confirm"]:
        subprocess.run([sys.executable, "-m", "knell", word], stdout=subprocess.DEVNULL)

signal.signal(signal.SIGUSR1, leave)
signal.signal(signal.SIGUSR2, leave)
while True:
    signal.pause()
"""
AGAIN = "#!{python} -S\nimport signal\nsignal.alarm(600)\nsignal.pause()\n"
ROWS = """\
tmux_sessions:
- name: luna
  status: running
- name: ruby
  status: running
"""


class Stage:
    """Luna and ruby at one server, and what can be seen of them."""

    def __init__(self, house: House, patch: pytest.MonkeyPatch, caller: str) -> None:
        self.house, self.said = house, ""
        self.project, self.bin = house.root / "project", house.root / "bin"
        self.lab, self.revived = house.root / "lab", house.root / "revived"
        for path in (self.project / ".hermes", self.bin, self.lab, house.root / "again"):
            path.mkdir(parents=True)
        self.registry = self.project / ".hermes" / "agent-sessions.yaml"
        self.registry.write_text(ROWS)
        self.daemon = self.bin / "wren-daemon"
        again = house.root / "again" / "wren"
        wren = OPENCODE.format(python=sys.executable).replace("signal.pause()\n", LEAVES)
        write_program(self.bin / "wren", wren)
        write_program(again, AGAIN.format(python=sys.executable))
        told = {"again": str(again), "told": str(self.revived)}
        write_program(self.daemon, DAEMON.format(python=sys.executable, **told))
        module = f"wren_{os.urandom(4).hex()}"
        offer(house, "wren-agent", {"knell.kinds": {"wren": f"{module}:KIND"}})
        (site(house) / f"{module}.py").write_text(KIND.format(daemon=self.daemon))
        patch.syspath_prepend(str(site(house)))
        configure(house, SETTINGS)
        house.env |= {"PATH": f"{self.bin}{os.pathsep}{house.env['PATH']}", "LAB": str(self.lab)}
        team = house.knell.team("red")
        leads = caller == "dissolve"
        if not leads:
            team.create()
        self.luna = self.start("luna", restart=0 if caller in STALLED else 3)
        self.ruby = self.start("ruby", tag="late")
        if leads:  # a leader holds no task of its team
            make_task(house, TASK)
            sql(house, "UPDATE orchestrator_task SET status = 'running', assigned_agent = 'luna'")
            team.create(leader="luna")
            return
        for name in ("luna", "ruby"):
            team.add(name)
        team.add_task("work", id=TASK)
        house.knell.task(TASK).claim("luna")

    def start(self, name: str, **wish: Any) -> Run:
        """One that has attached, and whose turn is open."""
        wish |= {"place": "headless", "cwd": str(self.project), "shared": True}
        env = {"KNELL_SESSION_DIR": "1"}
        spawned = self.house.knell.spawn("wren", name=name, env=env, **wish)
        eventually((self.lab / f"{spawned.agent.conversation}.up").exists)
        talks = self.house.home / ".wren" / "talks"
        talks.mkdir(parents=True, exist_ok=True)
        talk = talks / f"{spawned.agent.conversation}.jsonl"
        talk.write_text('{"said": "go"}\n')
        said_at = time.time() - LONG_SILENT
        os.utime(talk, (said_at, said_at))
        return spawned.run

    def conversation(self, name: str) -> str:
        agent = self.house.knell.world.store.runs.agent(name)
        assert agent
        return agent.conversation

    @property
    def server(self) -> int:
        return int((self.lab / "born").read_text().split()[0])

    def tell(self, *words: str, **options: Any) -> None:
        """`knell WORDS`, which succeeds."""
        done = self.house.run(*words, **options)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        self.said += done.stdout

    def use_tool(self, tool: Tool, **given: Any) -> None:
        operator = ToolCaller(Caller("operator"), operator=True)
        options = ServerOptions(self.house.env)
        answer = carry_out(options, operator, tool, given, threading.Event())
        assert answer["success"], answer

    def wait_for_stall(self, name: str) -> None:
        knell = self.house.knell

        def stalled() -> bool:
            [one] = knell.verdicts(name, older_than=1)
            return one.verdict.activity is Activity.STALLED

        eventually(stalled)

    def run_of(self, name: str) -> Run:
        return self.house.knell.world.store.runs.of(name)[0]


def write_program(path: Path, source: str) -> None:
    path.write_text(source)
    path.chmod(0o755)


# -- the callers -----------------------------------------------------------------------------------


def by_reap(stage: Stage, name: str) -> None:
    stage.house.knell.stop(name, mode="soft")
    stage.tell("reap", name, "--yes", "--json")


def by_approval(stage: Stage, name: str) -> None:
    stage.tell("ask", name)
    stage.tell("approve", name)
    stage.tell("confirm", name)


def by_stalled(stage: Stage, name: str) -> None:
    stage.wait_for_stall(name)
    stage.tell("stalled", name, "--kill", *PATIENT, "--cleanup")


def by_watch(stage: Stage, name: str) -> None:
    """Ruby is spared while luna is meant."""
    stage.wait_for_stall(name)
    spared = ("--policy", "tag:late=report") if name == "luna" else ()
    stage.tell("watch", "--once", "--stalled", "kill", *PATIENT, *spared)


def by_json_stalled(stage: Stage, name: str) -> None:
    stage.wait_for_stall(name)
    given = {"ACTION": "kill_stalled", "HEARTBEAT_TIMEOUT_SECONDS": 1}
    answer = ask(stage.house, KILL_STALLED, AGENT_ID=name, **given)
    assert answer["success"], answer
    assert name in json.dumps(answer)


def by_json(stage: Stage, name: str) -> None:
    answer = ask(stage.house, KILL_STALLED, AGENT_ID=name)
    assert answer["success"], answer


def by_failed_start(stage: Stage, name: str) -> None:
    """Its keeper is there, and is taken not to have reported in time."""
    call_off_start(stage.house.knell.world, stage.run_of(name), "its keeper did not report in time")


def by_session(stage: Stage, name: str) -> None:
    stage.tell("stop", "--session", name, cwd=stage.project)


def by_itself(stage: Stage, name: str, number: int = signal.SIGUSR1) -> None:
    """It says `knell stop`. Its keeper ends that command with everything else of the agent."""
    run = stage.run_of(name)
    assert run.process
    os.kill(run.process.pid, number)
    await_end(stage, name)
    stage.tell("watch", "--once")


def by_itself_with_reap(stage: Stage, name: str) -> None:
    """The same where no watch is."""
    run = stage.run_of(name)
    assert run.process
    os.kill(run.process.pid, signal.SIGUSR1)
    await_end(stage, name)
    stage.tell("reap", "--yes")


def by_own_approval(stage: Stage, name: str) -> None:
    """It approves and confirms; what ends it then is one of its own processes."""
    stage.tell("ask", name)
    by_itself(stage, name, signal.SIGUSR2)


def by_cut_off(stage: Stage, name: str) -> None:
    """The command that ends it is killed when the keeper has its order."""
    assert cut_off(stage.house, "stop", name) == -signal.SIGKILL
    await_end(stage, name)
    stage.tell("watch", "--once")


def cut_off(house: House, *words: str) -> int:
    """`knell WORDS`, killed as soon as a keeper was told to end its agent."""
    code = (
        "import os, signal\n"
        "from knell.processes.ending.loop import KeptEnding\n"
        "real = KeptEnding.apply\n"
        "def last(*told):\n"
        "    real(*told)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "KeptEnding.apply = last\n"
        "from knell.faces.cli import main\n"
        "main()"
    )
    # An interpreter of its own, which finds the stage's kind.
    argv = [sys.executable, "-c", code, *words]
    return subprocess.run(argv, env=house.env, cwd=house.root, check=False, timeout=300).returncode


def await_end(stage: Stage, name: str) -> None:
    """Until a look has recorded it."""

    def over() -> bool:
        stage.house.knell.list()
        return not stage.run_of(name).live

    eventually(over)


def by_overdue_answer(stage: Stage, name: str) -> None:
    """It was asked to leave, and its time to answer is over."""
    stage.tell("ask", name, "--deadline", "0.1")

    def ended() -> bool:
        stage.tell("watch", "--once")
        return not stage.run_of(name).live

    eventually(ended)


def by_whoever_finishes(stage: Stage, name: str) -> None:
    """The process that claimed the ending has died; the watch finishes it."""
    argv = [sys.executable, "-c", CLAIMS, stage.run_of(name).id]
    subprocess.run(argv, env=stage.house.env, check=True, timeout=300)
    stage.tell("watch", "--once")


CLAIMS = """
import sys
from knell import Knell
from knell.core.ports.ending_store import ClaimRequest
from knell.core.run import Ending, Outcome
world = Knell()._world
ending = Ending(Outcome.KILLED, "operator", "killed", "left")
world.store.endings.claim([ClaimRequest(sys.argv[1], ending)], world.processes.me())
"""

Deed = Callable[[Stage, str], None]
CALLERS: dict[str, Deed] = {
    "kill": lambda stage, name: stage.tell("kill", name, "--cleanup"),
    "stop": lambda stage, name: stage.tell("stop", name),
    "delete": lambda stage, name: stage.tell("delete", name),
    "reap": by_reap,
    "kill-agent": lambda stage, name: stage.use_tool(
        KILL, teamName="red", agentId=name, force=True
    ),
    "stop-agent": lambda stage, name: stage.use_tool(STOP, agentId=name),
    "approval": by_approval,
    "stalled": by_stalled,
    "watch": by_watch,
    "kill_stalled": by_json_stalled,
    "json kill": by_json,
    "dissolve": lambda stage, name: stage.tell("kill", name, "--dissolve", "--cleanup"),
    "restart": lambda stage, name: stage.tell("restart", name),
    "failed start": by_failed_start,
    "session": by_session,
    "itself": by_itself,
    "itself, reap": by_itself_with_reap,
    "own approval": by_own_approval,
    "cut off": by_cut_off,
    "overdue": by_overdue_answer,
    "finished": by_whoever_finishes,
}
ENDED_WITH_IT = ("itself", "itself, reap", "cut off")
STALLED = ("stalled", "watch", "kill_stalled")

# Every file of life that ends runs by the engine, and the callers above that come through it.
THROUGH = {
    "backends/join.py": ("kill",),  # ends the server itself, which is no agent: the step `reap`
    "end/kill.py": ("kill", "dissolve", "json kill", "restart"),
    "end/stop.py": ("stop", "delete", "stop-agent", "session", *ENDED_WITH_IT),
    "orchestrator/kill_stalled_agent.py": ("json kill", "kill_stalled"),
    "start/confirm.py": ("failed start",),
    "teams/ask.py": ("kill-agent", "approval", "own approval", "overdue"),
    "watch/loop.py": ("finished",),
    "watch/stalled.py": ("stalled", "watch"),
}
STEPS = ("row", "part", "reap", "revival", "cleanup", "tasks", "restart", "forgotten", "team")


# -- the cells that cannot be, each with its reason ------------------------------------------------

UNASKED = "unasked"  # the caller has no way to ask for it
WANTED = "wanted"  # an agent that stalled was not meant to be gone: it may come back
ITSELF = "itself"  # the caller starts it again
CLEANS = ("kill", "stalled", "kill_stalled", "json kill", "dissolve")
EXCEPT = {
    **{(one, "cleanup"): UNASKED for one in CALLERS if one not in CLEANS},
    **{(one, "team"): UNASKED for one in CALLERS if one != "dissolve"},
    **{(one, step): WANTED for one in STALLED for step in ("restart", "forgotten")},
    ("restart", "restart"): ITSELF,
}


# -- what is seen ----------------------------------------------------------------------------------


class Seen(NamedTuple):
    """Whether the effect of each step was seen."""

    row: bool
    part: bool
    reap: bool
    revival: bool
    cleanup: bool
    tasks: bool
    restart: bool
    forgotten: bool
    team: bool


def play(stage: Stage, deed: Deed) -> Seen:
    house, store = stage.house, stage.house.knell.world.store
    luna, conversation, server = stage.luna, stage.conversation("luna"), stage.server
    assert luna.process
    sessions = house.state / "sessions"
    assert (sessions / luna.id).exists()
    environment = house.state / "environments" / luna.id
    was_kept = environment.exists()
    words = (str(stage.daemon), str(luna.process.pid), conversation)
    with house.process(*words, stdout=-1) as daemon:
        assert daemon.stdout
        assert daemon.stdout.readline()
        try:
            deed(stage, "luna")
            eventually(stage.revived.exists)
            again = int(stage.revived.read_text())
            revived = alive(again)
        finally:
            daemon.kill()
    if revived:
        os.kill(again, signal.SIGKILL)
    assert not alive(luna.process.pid)
    receipt = store.endings.receipt(luna.id)
    assert receipt
    named = "revived" in [one.code for one in receipt.warnings] or '"revived"' in stage.said
    asked = (stage.lab / "log").read_text().split()
    row = stage.registry.read_text().partition("- name: ruby")[0]
    team = store.teams.team("red")
    seen = Seen(
        forgotten=was_kept and not environment.exists(),
        row=any(f"status: {word}" in row for word in row_words(stage)),
        part=f"/session/{conversation}/abort" in asked and alive(server),
        reap=False,
        revival=named and not revived,
        cleanup=not (sessions / luna.id).exists(),
        tasks=[one["id"] for one in receipt.tasks] == [TASK] and is_handed_back(stage),
        restart=is_called_off(stage),
        team=bool(team and team.dissolved_at),
    )
    if stage.run_of("luna").live:
        house.kill("luna", force=True)
    deed(stage, "ruby")
    return seen._replace(reap=not alive(server))


def row_words(stage: Stage) -> tuple[str, ...]:
    """What the row may say: that it has ended, or runs again under the number of another run."""
    again = stage.run_of("luna")
    if again.id != stage.luna.id and again.process:
        return (f"running\n  pane:\n    pid: {again.process.pid}",)
    return ("stopped", "terminated")


def is_handed_back(stage: Stage) -> bool:
    if stage.house.knell.world.store.orchestrator.task(TASK):
        return task_of(stage.house, TASK)["status"] == "failed"
    task = stage.house.knell.task(TASK).show()
    return (task.status, task.owner) == ("pending", "")


def is_called_off(stage: Stage) -> bool:
    """A round of the watch refuses to start luna again."""
    stage.house.knell.watch_once(policy="report")
    plans = stage.house.knell.world.store.restarts.plans()
    return [one.decision for one in plans if one.run == stage.luna.id] == ["refused"]


@pytest.mark.parametrize("caller", CALLERS)
def test_every_caller_gets_every_step(
    house: House, monkeypatch: pytest.MonkeyPatch, caller: str
) -> None:
    """Whoever ends a run, the effect of each step is there, except in the cells that are named"""
    seen = play(Stage(house, monkeypatch, caller), CALLERS[caller])._asdict()
    cells = {f"{caller} x {step}": EXCEPT.get((caller, step), "seen") for step in STEPS}
    found = {
        f"{caller} x {step}": "seen" if seen[step] else EXCEPT.get((caller, step), "missed")
        for step in STEPS
    }
    assert found == cells


def enders() -> set[str]:
    """The files of life that import the engine's `end`."""
    life = Path(engine.__file__).parent.parent
    return {
        path.relative_to(life).as_posix()
        for path in life.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == engine.__name__
        and "end" in {alias.name for alias in node.names}
    }


def test_no_caller_of_the_engine_is_left_out() -> None:
    """Whoever ends runs in a new place adds a caller above; nobody else ends processes of runs"""
    assert enders() == set(THROUGH)
    assert {caller for callers in THROUGH.values() for caller in callers} <= set(CALLERS)


# -- the test can fail -----------------------------------------------------------------------------


class FewerSteps(RoomSteps):
    """The real steps without one of them."""

    def __init__(self, world: World, left_out: str) -> None:
        super().__init__(world)
        self.aftermath = [step for step in AFTERMATH if step.name != left_out]


MISSED = {
    "registry: announce": "row",  # it finds the row
    "backends: part": "part",
    "cleanup": "cleanup",
    "registry: row": "row",
    "restart: forget": "forgotten",
    "backends: reap": "reap",
    "team": "team",
    "revival": "revival",
}


# Of single kinds, or on the disk: this stage does not play them, and they have tests of their own.
ELSEWHERE = ("daemon", "conversation: put back", "put away")


def test_every_step_of_the_list_is_walked() -> None:
    names = [step.name for step in AFTERMATH]
    assert [name for name in names if name not in ELSEWHERE] == list(MISSED)
    assert set(ELSEWHERE) < set(names)


@pytest.mark.parametrize("left_out", MISSED)
def test_a_step_that_is_left_out_is_missed(
    house: House, monkeypatch: pytest.MonkeyPatch, left_out: str
) -> None:
    """Without the step its effect is not there, and those of the others are"""
    stage = Stage(house, monkeypatch, "dissolve")
    world = house.knell.world
    vars(world)["steps"] = FewerSteps(world, left_out)

    def kill(_: Stage, name: str) -> None:
        house.knell.kill(name, dissolve=True, cleanup="safe")

    seen = play(stage, kill)._asdict()
    assert [step for step in STEPS if not seen[step]] == [MISSED[left_out]]


# -- what is left of a run that is over ------------------------------------------------------------


def test_reaping_what_an_agent_left_repeats_no_step(house: House) -> None:
    """Its run had every step when it ended: the row and the receipt stay as they are"""
    registry = house.root / ".hermes" / "agent-sessions.yaml"
    registry.parent.mkdir()
    registry.write_text(ROWS)
    up = house.root / "up"
    command = ("sh", "-c", f"sleep 97 & touch {up}; wait")
    keep = ("sleep 97*",)
    run = house.knell.spawn(
        command=command, name="luna", keep=keep, cwd=str(house.root), place="headless"
    ).run
    eventually(up.exists)
    house.kill("luna")
    before = registry.read_text(), house.knell.world.store.endings.receipt(run.id)
    assert "status: terminated" in before[0]
    [orphan] = house.knell.reap("luna").orphans
    done = house.run("reap", "luna", "--yes")
    assert done.returncode == 0, done.stderr
    assert not alive(orphan.process.pid)
    assert (registry.read_text(), house.knell.world.store.endings.receipt(run.id)) == before
