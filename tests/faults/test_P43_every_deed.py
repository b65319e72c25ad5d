"""P43: every method of the API that does something is refused to a caller that is not proven.

The list is computed from the classes: whoever adds a method says here that it only looks, that it
acts on nobody, or how it is called; then it is called, and must be refused. The command line, the
MCP server, the page and the fleet's orders reach life through the API alone (.importlinter).
"""

import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contracts.t_scenes import add_task
from house import House
from knell import Knell
from knell.api import parts
from knell.api.fleet import FleetVerbs
from knell.core.authority import Caller
from knell.core.codes import Code
from knell.core.errors import Refused
from knell.core.inputs import checked
from knell.faces.mcp import callers
from knell.faces.mcp.tools.call import TOOLS, carry_out
from knell.life.orchestrator.invoke import COMMANDS
from scenes import SLEEPS, end, stranger

UNPROVEN = Caller("unproven", doubt="it cannot be told")
# What changes nothing, or only writes down what is so.
LOOKS = """
Knell: close settings list show events follow receipt verify doctor repair kinds place_names foreign
  begun_endings team teams task tasks messages shutdowns hooks caller acting_as server mcp_snippet
  mcp_programs verdicts explain reconcile monitor is_operators_home fleet status snapshot changes
  has_moved found_last look_closely views_of logs follow_logs screen attach_command path night
  receipts recently_ended worktrees task_history samples sample_line last_ended ended_agents
  agent_of_conversation endings_underway bug_report skills
TeamHandle: show tasks
TaskHandle: show
MessageVerbs:
ShutdownVerbs: wait
HookVerbs: status
SkillVerbs: status
ServerVerbs: holder_of agent_behind note_refusal status_of recorded_run recorded_events clock new_id
  free_name
FleetVerbs: files store database close status hosts own_host check_operator picture recently_ended
  agents agents_text hosts_of receipt events follow orders keys
"""
# What acts on nobody, or asks the gate for each agent in its turn.
OPEN = {
    "Knell.spawn": "a new agent is nobody's; in the name or the team of others it is refused below",
    "Knell.run": "the same, in this terminal",
    "Knell.create": "the same, in a session",
    "Knell.open_conversation": "the same; of a conversation of an agent it is refused",
    "Knell.watch": "carries out what others decided; asks for each agent that it ends by policy",
    "Knell.watch_once": "the same, once",
    "Knell.invoke": "each command below",
    "ServerVerbs.check_spawn": "a check itself, of the role",
    "ShutdownVerbs.finish": "carries out what the agent has approved",
}
SLEEPER: list[int] = []  # a process of no agent
Call = Callable[[Knell], object]
CALLS: dict[str, Call] = {
    "Knell.kill": lambda k: k.kill("lone", yes=True),
    "Knell.stop": lambda k: k.stop("lone", yes=True),
    "Knell.reap": lambda k: k.reap(end=True),
    "Knell.reap_foreign": lambda k: k.reap_foreign(2),
    "Knell.prune": lambda k: k.prune(days=0),
    "Knell.adopt": lambda k: k.adopt(SLEEPER[0]),
    "Knell.resume": lambda k: k.resume("past"),
    "Knell.restart": lambda k: k.restart("lone", yes=True),
    "Knell.fork": lambda k: k.fork("lone"),
    "Knell.beat": lambda k: k.beat("lone"),
    "Knell.end_stalled": lambda k: k.end_stalled(yes=True),
    "Knell.switch_watch": lambda k: k.switch_watch(on=False),
    "Knell.watch_service": lambda k: k.watch_service(install=False),
    "TeamHandle.create": lambda k: k.team("blue").create(),
    "TeamHandle.add": lambda k: k.team("red").add("lone"),
    "TeamHandle.remove": lambda k: k.team("red").remove("wanda"),
    "TeamHandle.dissolve": lambda k: k.team("red").dissolve(),
    "TeamHandle.add_task": lambda k: k.team("red").add_task("more"),
    "TaskHandle.claim": lambda k: k.task("T2").claim("wanda"),
    "TaskHandle.complete": lambda k: k.task("T1").complete(),
    "TaskHandle.release": lambda k: k.task("T1").release(),
    "TaskHandle.delete": lambda k: k.task("T2").delete(),
    "MessageVerbs.send": lambda k: k.messages.send("wanda", text="hello"),
    "MessageVerbs.inbox": lambda k: k.messages.inbox("wanda"),
    "ShutdownVerbs.ask": lambda k: k.shutdowns.ask("lone"),
    "ShutdownVerbs.withdraw": lambda k: k.shutdowns.withdraw("wanda"),
    "ShutdownVerbs.approve": lambda k: k.shutdowns.approve("wanda"),
    "ShutdownVerbs.confirm": lambda k: k.shutdowns.confirm("wanda"),
    "ShutdownVerbs.reject": lambda k: k.shutdowns.reject("wanda"),
    "HookVerbs.install": lambda k: k.hooks.install("claude"),
    "HookVerbs.uninstall": lambda k: k.hooks.uninstall("claude"),
    "HookVerbs.check_may_uninstall": lambda k: k.hooks.check_may_uninstall(),
    "SkillVerbs.install": lambda k: k.skills.install(kinds=["claude"]),
    "SkillVerbs.uninstall": lambda k: k.skills.uninstall(kinds=["claude"]),
    "ServerVerbs.kin": lambda k: k.server.kin("lone"),
    "ServerVerbs.heartbeat": lambda k: k.server.heartbeat("lone"),
    "ServerVerbs.note": lambda k: k.server.note("any", {}),
    "ServerVerbs.take_back": lambda k: k.server.take_back("T1", 1),
    "FleetVerbs.init": lambda k: k.fleet.init("x"),
    "FleetVerbs.upgrade": lambda k: k.fleet.upgrade("x"),
    "FleetVerbs.join": lambda k: k.fleet.join("x"),
    "FleetVerbs.prune": lambda k: k.fleet.prune("x", days=1),
    "FleetVerbs.leave": lambda k: k.fleet.leave(),
    "FleetVerbs.remove": lambda k: k.fleet.remove("h", "x"),
    "FleetVerbs.new_key": lambda k: k.fleet.new_key(),
    "FleetVerbs.trust": lambda k: k.fleet.trust("key"),
    "FleetVerbs.distrust": lambda k: k.fleet.distrust("key"),
    "FleetVerbs.pin": lambda k: k.fleet.pin("h", "key"),
    "FleetVerbs.unpin": lambda k: k.fleet.unpin("h"),
    "FleetVerbs.link": lambda k: k.fleet.link(None),  # pyright: ignore[reportArgumentType]
    "FleetVerbs.order": lambda k: k.fleet.order("kill", "luna@h", {}),
    "FleetVerbs.order_runs": lambda k: k.fleet.order_runs("kill", [], {}),
    "FleetVerbs.cancel": lambda k: k.fleet.cancel("x"),
}
# What `spawn` and its like do beyond a new agent.
MORE: dict[str, Call] = {
    "in the name of another": lambda k: k.spawn(command=["true"], name="past", place="headless"),
    "in a team": lambda k: k.spawn(command=["true"], team="red", place="headless"),
    "team.kill": lambda k: refused_by(k.team("red").kill("wanda", force=True, operator=True).error),
}
PARTS = (
    parts.TeamHandle, parts.TaskHandle, parts.MessageVerbs, parts.ShutdownVerbs, parts.HookVerbs,
    parts.SkillVerbs, parts.ServerVerbs,
)  # fmt: skip


def refused_by(error: str) -> None:
    raise Refused(error, code=Code.CALLER_UNPROVEN if "leader" in error else Code.OTHER)


def public(kind: type) -> Iterator[str]:
    """The methods and properties that a class gives to others."""
    for name, value in inspect.getmembers(kind):
        if not name.startswith("_") and (callable(value) or isinstance(value, property)):
            yield f"{kind.__name__}.{name}"


def looking() -> set[str]:
    found: set[str] = set()
    kind = ""
    for word in LOOKS.split():
        kind = word.removesuffix(":") if word.endswith(":") else kind
        found |= set() if word.endswith(":") else {f"{kind}.{word}"}
    return found


def test_P43_every_method_is_known_to_look_or_to_ask_the_gate() -> None:
    offered = {name for kind in (Knell, *PARTS, FleetVerbs) for name in public(kind)}
    said = [*looking(), *OPEN, *CALLS, "TeamHandle.kill"]
    assert sorted(said) == sorted(offered)


@pytest.fixture
def scene(house: House) -> House:
    """A team with a member that has a task and is asked to leave, and agents of no team."""
    house.knell.team("red").create()
    house.spawn(name="wanda", team="red")
    add_task(house, "T1", owner="wanda")
    add_task(house, "T2")
    for name in ("lone", "past"):
        house.spawn(name=name)
    house.knell.kill("past")
    house.knell.shutdowns.ask("wanda", deadline=0)
    return house


def test_P43_whoever_is_not_proven_does_nothing(scene: House) -> None:
    knell = scene.knell.acting_as(UNPROVEN)
    pid, _ = stranger(scene, SLEEPS)
    SLEEPER[:] = [pid]
    for name, call in (CALLS | MORE).items():
        with pytest.raises(Refused) as refused:
            call(knell)
        assert refused.value.code is Code.CALLER_UNPROVEN, (name, refused.value)
    end(pid)
    assert [view.name for view in scene.knell.list()] == ["wanda", "lone"]
    assert [one.status for one in scene.knell.tasks("red")] == ["in_progress", "pending"]


# What each JSON command does to others; the two that make something act on nobody.
COMMAND_CALLS: dict[str, dict[str, Any]] = {
    "kill-stalled-agent": {"AGENT_ID": "lone", "ACTION": "kill_agent"},
    "auto-restart-agent": {"AGENT_ID": "past", "ACTION": "restart"},
    "cleanup-worktrees": {},
    "create-worktree": {},
    "spawn-agent-session": {},
    "monitor-agent-lifecycle": {},
}


def test_P43_every_json_command_is_known_to_the_gate(scene: House) -> None:
    assert set(COMMAND_CALLS) == set(COMMANDS)
    knell = scene.knell.acting_as(UNPROVEN)
    for name, params in COMMAND_CALLS.items():
        if params:
            answer = knell.invoke(name, params)
            assert "it is not proven who asks" in str(answer.get("message")), (name, answer)


@pytest.mark.parametrize("name", TOOLS)
def test_P43_every_mcp_tool_refuses_whom_it_does_not_know(house: House, name: str) -> None:
    """Without a look at what was asked for: the words need not even make sense."""
    options = callers.ServerOptions(house.env)
    tool = TOOLS[name]._replace(fields=())
    assert checked(tool.fields, {}) == {}
    stranger = callers.ToolCaller(callers.STRANGER)
    if name == "kill-agent":  # its contract has an answer of its own, for which it looks
        given = {"teamName": "red", "agentId": "wanda"}
        house.knell.team("red").create()
        answer = carry_out(options, stranger, TOOLS[name], given, threading.Event())
        assert answer["error"] == "Only the team leader can kill agents"
    else:
        answer = carry_out(options, stranger, tool, {}, threading.Event())
        assert answer["error"] == callers.UNKNOWN
    assert not answer["success"]
