"""Teams of real Claudes: what a leader's model asks of knell's tools is done, and no more."""

import json
from typing import Any

from contracts.t_scenes import add_task, events, members, refusals, requests, task
from e2e.claude_home import STUBBORN, ClaudeHome, Told, reached
from e2e.model import ToolCall, ToolResult
from e2e.report import Figures, ToolFigure
from house import alive, descendants, eventually, state_and_parent
from scenes import SLEEPS, Played, started

SERVER = "mcp__knell__"
LIMIT = 60.0  # seconds for an answer, with two Claudes on a busy machine
TOOLS = (
    *("agent-status", "answer-shutdown", "claim-task", "complete-task", "explain-agent"),
    *("heartbeat", "kill-agent", "list-agents", "list-tasks", "poll-inbox", "resume-agent"),
    *("send-message", "spawn-agent", "stop-agent"),
)
# A child; one in a session of its own that ignores TERM; a daemon without an environment.
FAMILY = """
child(SLEEP)
child(DEAF, session=True)
child(SLEEP, session=True, environment={}, orphan=True)
tell()
sleep()
"""
FORCED = {"teamName": "red", "agentId": "wendy", "force": True}


# -- the scene -----------------------------------------------------------------------------------


def allow_tools(home: ClaudeHome) -> None:
    """As if the person had said once that Claude may use knell's tools unasked."""
    settings = home.house.home / ".claude/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"permissions": {"allow": [SERVER.rstrip("_")]}}))


def spawn_leader(home: ClaudeHome, *options: str, args: tuple[str, ...] = ()) -> Told:
    """luna, a Claude, at the head of team red."""
    allow_tools(home)
    luna = home.spawn("luna", *options, args=args)
    home.knell("team", "create", "red", "--leader", "luna")
    return luna


def spawn_wendy(home: ClaudeHome) -> Played:
    """A member that is no Claude, with a family, at work on task T-1."""
    wendy = started(home.house, FAMILY, name="wendy", team="red")
    add_task(home.house, "T-1", owner="wendy")
    return wendy


def family_of(keeper: int, *, at_least: int) -> list[int]:
    """All below a keeper, the daemons too, once so many are there."""

    def below() -> list[int]:
        found = [keeper]
        everybody = {pid: state_and_parent(pid)[1] for pid in descendants()}
        for above in found:  # grows while we walk
            found += [pid for pid, parent in everybody.items() if parent == above]
        return found[1:] if len(found) > at_least else []

    return eventually(below)


def keeper_of(home: ClaudeHome, agent: str) -> int:
    [run] = [run for run in home.house.knell.world.store.runs.live() if run.agent == agent]
    assert run.keeper
    return run.keeper.pid


def begin(home: ClaudeHome, agent: Told, tool: str, **given: Any) -> None:
    """The model of that Claude asks for the tool; nothing is waited for."""
    word = f"{agent['name']}{len(home.model.calls)}"
    home.model.calls[word] = ToolCall(SERVER + tool, given)
    home.turn_to(agent)
    home.shows("? for shortcuts")  # the turn before is over
    home.type(f"call {word}")
    home.press("Enter")


def call(home: ClaudeHome, agent: Told, tool: str, **given: Any) -> ToolResult:
    """The same, and what the model is told of it in the next request."""

    def results() -> list[ToolResult]:
        return [one for one in home.model.results if one.tool == SERVER + tool]

    before = len(results())
    begin(home, agent, tool, **given)
    eventually(lambda: len(results()) > before, LIMIT)
    return results()[-1]


def told(result: ToolResult, *, success: bool = True) -> dict[str, Any]:
    answer = json.loads(result.text)
    assert answer["success"] is success, answer
    assert result.failed is not success
    return answer


def messages(home: ClaudeHome, agent: Told) -> list[dict[str, Any]]:
    """Type and sender with the body of what the Claude finds in its inbox."""
    found = told(call(home, agent, "poll-inbox", waitSeconds=20))["messages"]
    return [
        {"type": one["type"], "from": one["from"], **json.loads(one["message"])} for one in found
    ]


def statuses(home: ClaudeHome, agent: Told) -> list[str]:
    """Those of the team's tasks, as the Claude finds them."""
    found = told(call(home, agent, "list-tasks", teamName="red"))["tasks"]
    return [one["status"] for one in found]


def lives(home: ClaudeHome, agent: Told) -> None:
    """It still talks to its model."""
    assert alive(agent["pid"])
    home.turn_to(agent)
    home.shows("? for shortcuts")
    home.say("say amber", ": amber")


def note(figures: Figures, what: str, result: ToolResult, home: ClaudeHome | None = None) -> None:
    """For docs/e2e.md; with `home`, what wendy's receipt says too."""
    answer = json.loads(result.text)
    word = answer.get("error") or answer["phase"]
    if home is None:
        figures.calls.append(ToolFigure(what, word, result.seconds))
        return
    receipt = home.house.knell.receipt("wendy").to_json()
    rungs = " → ".join(reached(receipt))
    figures.calls.append(ToolFigure(what, word, result.seconds, len(receipt["processes"]), rungs))


# -- the tests -----------------------------------------------------------------------------------


def test_T28_a_leader_ends_a_member_through_the_tool(home: ClaudeHome, figures: Figures) -> None:
    """A Claude that leads a team ends a member, all of it, with `kill-agent`; its task is free."""
    config = home.house.root / "knell.mcp.json"
    config.write_text(home.knell("mcp", "--config", "claude").stdout)
    luna = spawn_leader(home, args=("--mcp-config", str(config)))
    wendy = spawn_wendy(home)
    family = family_of(wendy.keeper, at_least=4)
    result = call(home, luna, "kill-agent", **FORCED)
    assert told(result) == {
        "success": True,
        "method": "force",
        "phase": "force_killed",
        "reassignedTasks": ["T-1"],
    }
    assert not any(map(alive, [wendy.keeper, *family]))
    receipt = home.house.knell.receipt("wendy")
    assert (receipt.proof, receipt.by, receipt.outcome) == ("proven", "agent:luna", "terminated")
    assert {process.pid for process in receipt.processes} == set(family)
    assert receipt.survivors == ()
    free = task(home.house, "T-1")
    assert (free.status, free.owner) == ("pending", "")
    assert free.warning == "Reassigned: previous owner wendy terminated"
    assert members(home.house) == ["luna"]
    lives(home, luna)
    note(figures, "`kill-agent`, `force`", result, home)
    again = call(home, luna, "kill-agent", **FORCED)
    assert told(again, success=False)["error"] == "Agent 'wendy' is already terminated"
    offered = [name for name in home.model.asked[-1].tools if name.startswith(SERVER)]
    assert sorted(offered) == [SERVER + name for name in TOOLS]
    figures.offered = len(offered)
    home.end("kill", "luna", "--yes")


def test_C27_a_member_rejects_and_then_approves(home: ClaudeHome, figures: Figures) -> None:
    """Asked by one Claude, another rejects and works on; asked again it approves and is ended."""
    luna = spawn_leader(home, "--mcp")
    home.serve_mcp(STUBBORN)
    wendy = home.spawn("wendy", "--team", "red", "--mcp")
    add_task(home.house, "T-1")
    assert told(call(home, wendy, "claim-task", taskId="T-1"))
    keeper = keeper_of(home, "wendy")
    family = family_of(keeper, at_least=4)  # Claude, knell mcp, the stubborn server, its child
    wish = {"teamName": "red", "agentId": "wendy", "reason": "the sprint is over"}
    asked = call(home, luna, "kill-agent", **wish)
    assert (told(asked)["method"], told(asked)["phase"]) == ("graceful", "requested")
    note(figures, "`kill-agent`", asked)
    [request] = messages(home, wendy)
    assert (request["type"], request["from"]) == ("shutdown_request", "luna")
    assert request["reason"] == "the sprint is over"
    no = call(home, wendy, "answer-shutdown", approved=False, reason="one more test")
    assert told(no)["phase"] == "rejected"
    note(figures, "`answer-shutdown`, rejects", no)
    [answer] = messages(home, luna)
    assert (answer["from"], answer["approved"]) == ("wendy", False)
    assert answer["reason"] == "one more test"
    lives(home, wendy)
    assert told(call(home, luna, "kill-agent", **wish))["phase"] == "requested"
    twice = told(call(home, luna, "kill-agent", **wish), success=False)
    assert twice["error"] == "Agent already in shutdown. Use force=true to override."
    begin(
        home, wendy, "answer-shutdown", approved=True, needsSeconds=0
    )  # it may not live to be told
    eventually(lambda: statuses(home, luna) == ["pending"], LIMIT)
    assert {one.phase for one in requests(home.house)} == {"rejected", "confirmed"}
    assert not any(map(alive, [keeper, *family]))
    receipt = home.house.knell.receipt("wendy")
    assert (receipt.proof, receipt.by) == ("proven", "agent:luna")
    assert [one["id"] for one in receipt.tasks] == ["T-1"]
    assert members(home.house) == ["luna"]
    assert [one["approved"] for one in messages(home, luna)] == [True]
    lives(home, luna)
    home.end("kill", "luna", "--yes")


def test_T29_a_worker_ends_nobody(home: ClaudeHome, figures: Figures) -> None:
    """A Claude that only works in a team is refused by the tool, and the refusal is on record."""
    allow_tools(home)
    boss = started(home.house, SLEEPS, name="boss")
    home.knell("team", "create", "red", "--leader", "boss")
    wendy = spawn_wendy(home)
    family = family_of(wendy.keeper, at_least=4)
    rex = home.spawn("rex", "--team", "red", "--mcp")
    for wish in (FORCED, {**FORCED, "force": False}, {**FORCED, "agentId": "boss"}):
        result = call(home, rex, "kill-agent", **wish)
        answer = told(result, success=False)
        assert answer["error"] == "Only the team leader can kill agents"
        assert answer["reassignedTasks"] == []
    note(figures, "`kill-agent` by a worker", result)
    assert all(map(alive, [boss.pid, wendy.keeper, *family]))
    assert members(home.house) == ["boss", "wendy", "rex"]
    assert task(home.house, "T-1").owner == "wendy"
    assert requests(home.house) == []
    assert [refusal["by"] for refusal in refusals(home.house)] == ["agent:rex"] * 3
    lives(home, rex)
    home.house.kill("all", yes=True, force=True)
    home.assert_nothing_left()


def test_T9_a_leader_starts_a_member_and_ends_it(home: ClaudeHome, figures: Figures) -> None:
    """Whom a Claude started with `spawn-agent` is in its team, and ended by it leaves nothing."""
    luna = spawn_leader(home, "--mcp")
    ready = home.house.root / "wendy.ready"
    body = ("sh", "-c", f"setsid sleep 120 & sleep 120 & touch {ready}; wait")
    wish = {"name": "wendy", "kind": "command", "args": list(body), "teamName": "red"}
    born = told(call(home, luna, "spawn-agent", **wish))
    eventually(ready.exists)
    assert born["agentId"] == "wendy"
    family = family_of(keeper_of(home, "wendy"), at_least=3)
    assert born["pid"] in family
    assert members(home.house) == ["luna", "wendy"]
    result = call(home, luna, "kill-agent", **FORCED)
    assert told(result)["phase"] == "force_killed"
    note(figures, "`kill-agent`, `force`, of one that it started", result, home)
    assert not any(map(alive, family))
    assert events(home.house, "authority.override") == []
    lives(home, luna)
    home.end("kill", "luna", "--yes")
