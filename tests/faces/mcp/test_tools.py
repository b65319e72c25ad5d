"""The other tools: who may do what to whom, and what they tell."""

import json
import sys
from datetime import datetime

from house import House, eventually
from knell.faces.mcp.tools.call import TOOLS
from mcp_desk import AGENT, Desk, is_live, member, plain_desk, refusals, task, team

SLEEP = ["sleep", "600"]


def test_the_palette_is_short_described_and_annotated(house: House) -> None:
    quiet = Desk(house, "bob")
    tools = {one["name"]: one for one in quiet.whole("tools")["tools"]}
    assert set(tools) == {
        *("kill-agent", "spawn-agent", "list-agents", "agent-status", "explain-agent"),
        *("stop-agent", "resume-agent", "heartbeat", "send-message", "poll-inbox"),
        *("answer-shutdown", "claim-task", "complete-task", "list-tasks"),
    }
    hints = {name: one["annotations"] for name, one in tools.items()}
    assert {name for name, hint in hints.items() if hint["readOnlyHint"]} == {
        *("list-agents", "agent-status", "explain-agent", "list-tasks"),
    }
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {
        *("kill-agent", "stop-agent", "answer-shutdown"),
    }
    assert {"stop-agent", "heartbeat"} <= {n for n, h in hints.items() if h["idempotentHint"]}
    for one in tools.values():
        assert 0 < len(one["description"]) < 300
        assert one["outputSchema"]["required"][0] == "success"
        assert one["inputSchema"]["additionalProperties"] is False
        assert all(field["description"] for field in one["inputSchema"]["properties"].values())


def test_nobody_may_do_nothing_and_each_no_is_on_record(house: House) -> None:
    """G43: whoever is not known is neither the operator nor a leader."""
    house.spawn(name="luna")
    needed = {"agentId": "luna", "kind": "command", "to": "luna", "message": "hello"}
    needed |= {"approved": True, "taskId": "one", "teamName": "blue"}
    with plain_desk(house) as nobody:
        for tool in TOOLS.values():
            given = {f.name: needed[f.name] for f in tool.fields if f.name in needed}
            refused = nobody.call(tool.name, **given)
            assert refused["success"] is False
            if tool.failed is None:  # else the contract says which keys there are
                assert (refused["code"], bool(refused["error"])) == ("caller_unproven", True)
        assert nobody.whole("resources") == {"raised": "it is not known who calls"}
        assert nobody.whole("read", uri="knell://receipt/luna")["raised"]
    assert is_live(house, "luna")
    assert len(refusals(house)) == len(TOOLS) + 2
    assert {one["by"] for one in refusals(house)} == {"unknown via mcp"}


# -- starting ----------------------------------------------------------------------------------


def test_what_an_agent_spawns_is_its_own(house: House) -> None:
    bob = Desk(house, "bob")
    told = bob.call("spawn-agent", kind="command", args=SLEEP, name="kid", place="headless")
    assert told["success"] is True
    kid = house.knell.world.store.runs.run(told["run"])
    assert kid
    assert kid.parent == bob.run.id
    assert told["pid"] == (kid.process.pid if kid.process else 0)
    assert bob.call("stop-agent", agentId="kid")["result"] == "ended"
    assert bob.call("stop-agent", agentId="kid")["result"] == "already_ended"
    assert bob.call("resume-agent", agentId="kid")["success"] is True
    assert is_live(house, "kid")


def test_only_a_leader_spawns_into_its_team(house: House) -> None:
    ada = team(house)
    bob = Desk(house, "bob")
    house.knell.team("blue").add("bob")
    new = {"kind": "command", "args": SLEEP, "place": "headless"}
    error = "Only the team leader can spawn agents"
    assert bob.call("spawn-agent", **new, teamName="blue")["error"] == error
    assert bob.call("spawn-agent", **new)["error"] == error, "a worker's role does not allow it"
    assert ada.call("spawn-agent", **new, teamName="red")["error"] == "Team 'red' does not exist"
    told = ada.call("spawn-agent", **new, teamName="blue", name="luna", role="reviewer")
    assert told["agentId"] == "luna"
    members = {one.agent: one.role for one in house.knell.team("blue").show().members}
    assert members["luna"] == "reviewer"
    assert [one["why"] for one in refusals(house)] == [error, error]


def test_a_command_needs_words_and_a_kind_a_name(house: House) -> None:
    quiet = Desk(house, "bob")
    assert "args" in quiet.call("spawn-agent", kind="command")["hint"]
    assert ", claude, " in quiet.call("spawn-agent", kind="emacs")["hint"]
    told = quiet.call("spawn-agent", kind="command", args=["a", 1])
    assert ("args" in told["error"], told["code"]) == (True, "bad_parameter")
    told = quiet.call("spawn-agent", kind="command", args=SLEEP, name="../../etc")
    assert "is not usable" in told["error"]


# -- stopping and resuming ---------------------------------------------------------------------


def test_strangers_and_ancestors_are_not_stopped_or_resumed(house: House) -> None:
    house.spawn(name="stranger")
    bob = Desk(house, "bob")
    for tool in ("stop-agent", "resume-agent"):
        told = bob.call(tool, agentId="stranger")
        assert told["error"] == "'bob' neither started 'stranger' nor leads its team"
    nobody = bob.call("stop-agent", agentId="nobody")
    assert nobody["error"] == "Agent 'nobody' not found"
    assert nobody["code"] == "agent_not_found"
    assert is_live(house, "stranger")
    assert len(refusals(house)) == 2


def test_no_agent_stops_what_it_runs_in(house: House) -> None:
    """A desk that another agent has started through knell knows it as its parent."""
    folder = house.root / "desk-kid"
    folder.mkdir()
    bob = Desk(house, "bob")
    words = [sys.executable, str(AGENT), str(folder), "stdio"]
    assert bob.call("spawn-agent", kind="command", args=words, name="kid", place="headless")[
        "success"
    ]
    eventually((folder / "ready").exists)
    call = {"do": "stop-agent", "given": {"agentId": "bob"}, "progress": False}
    (folder / "new").write_text(json.dumps(call))
    (folder / "new").rename(folder / "0.call")
    answer = folder / "0.answer"
    eventually(answer.exists)
    told = json.loads(answer.read_text())["told"]
    assert told["error"] == "'bob' runs this agent: no agent may manage its own ancestors"
    assert is_live(house, "bob")


def test_a_leader_stops_and_resumes_its_members(house: House) -> None:
    ada = team(house, "", "luna")
    task(house, "one", "luna")
    told = ada.call("stop-agent", agentId="luna", reason="lunch")
    assert (told["result"], told["proof"]) == ("ended", "proven")
    assert told["reassignedTasks"] == ["one"]
    read = ada.whole("read", uri=told["receipts"][0]["resource"])
    receipt = json.loads(read["contents"][0]["text"])
    assert receipt["by"] == "agent:ada"
    assert receipt["reason"] == "lunch"
    assert "screen" not in receipt
    assert ada.call("resume-agent", agentId="luna")["success"] is True


# -- looking -----------------------------------------------------------------------------------


def test_everybody_known_may_look(house: House) -> None:
    team(house, "", "luna")
    house.spawn(name="other")
    bob = Desk(house, "bob")
    names = {one["name"]: one["status"] for one in bob.call("list-agents")["agents"]}
    assert names == dict.fromkeys(("ada", "luna", "other", "bob"), "active")
    blue = bob.call("list-agents", teamName="blue")["agents"]
    assert {one["name"] for one in blue} == {"ada", "luna"}
    assert bob.call("list-agents", teamName="red")["error"] == "Team 'red' does not exist"
    house.kill("other")
    ended = bob.call("list-agents", includeTerminated=True)["agents"]
    assert {one["name"]: one["status"] for one in ended}["other"] == "terminated"
    status = bob.call("agent-status", agentId="luna")
    assert (status["teamName"], status["status"]) == ("blue", "active")
    assert status["colour"].startswith("#")
    assert bob.call("agent-status", agentId="nobody")["error"] == "Agent 'nobody' not found"
    told = bob.call("explain-agent", agentId="luna")
    assert told["activity"]
    assert told["evidence"]


def test_receipts_are_resources(house: House) -> None:
    bob = Desk(house, "bob")
    house.spawn(name="luna")
    house.kill("luna")
    [template] = bob.whole("templates")["resourceTemplates"]
    assert template["uriTemplate"] == "knell://receipt/{name}"
    [one] = bob.whole("resources")["resources"]
    assert one["uri"] == "knell://receipt/luna"
    read = bob.whole("read", uri=one["uri"])["contents"][0]
    assert read["mimeType"] == "application/json"
    assert json.loads(read["text"])["proof"] == "proven"
    for uri in ("knell://receipt/nobody", "knell://receipt/", "knell://receipt/..%2f..%2fknell.db"):
        assert bob.whole("read", uri=uri)["raised"]


# -- heartbeat ---------------------------------------------------------------------------------


def test_a_heartbeat_is_answered_with_the_next_deadline(house: House) -> None:
    ada = team(house, "", "luna")
    told = ada.call("heartbeat", agentId="ada", teamName="blue", metadata={"turn": 3})
    first, next_one = (datetime.fromisoformat(told[key]) for key in ("heartbeatTs", "nextDeadline"))
    assert (next_one - first).total_seconds() == 60
    assert told["agentStatus"] == "active"
    assert ada.call("heartbeat", agentId="ada", status="idle")["agentStatus"] == "idle"
    status = ada.call("agent-status", agentId="ada")
    assert status["heartbeatHealthy"] is True
    assert status["heartbeatAge"] < 60


def test_a_heartbeat_that_cannot_be(house: House) -> None:
    ada = team(house, "", "luna")
    assert "itself" in ada.call("heartbeat", agentId="luna", teamName="blue")["error"]
    assert ada.call("heartbeat", agentId="x")["error"] == "Agent 'x' not found"
    assert ada.call("heartbeat", agentId="ada", teamName="red")["error"] == "Agent 'ada' not found"
    assert "metadata" in ada.call("heartbeat", agentId="ada", metadata={"x": "y" * 5000})["error"]
    with plain_desk(house, DESK_OPTIONS='["--operator"]') as person:
        house.kill("luna")
        told = person.call("heartbeat", agentId="luna")
    assert told["error"] == "Cannot heartbeat for terminated agent"


# -- messages and tasks -------------------------------------------------------------------------


def test_a_message_is_read_once(house: House) -> None:
    ada = team(house)
    bob = Desk(house, "bob")
    house.knell.team("blue").add("bob")
    sent = ada.call("send-message", to="*", message="hello", summary="a greeting")
    assert sent["recipients"] == ["bob"]
    [message] = bob.call("poll-inbox", peek=True)["messages"]
    assert bob.call("poll-inbox")["messages"] == [message]
    assert message["from"] == "ada"
    assert message["id"] == sent["messageIds"][0]
    assert bob.call("poll-inbox")["messages"] == []
    assert bob.call("poll-inbox", waitSeconds=31)["error"].startswith("waitSeconds must be")
    assert bob.call("poll-inbox", agentId="ada")["success"] is False
    assert ada.call("send-message", to="nobody", message="?")["error"] == "Agent 'nobody' not found"
    assert "65536" in ada.call("send-message", to="bob", message="x" * 70_000)["error"]
    request = ada.call("send-message", to="bob", message="{}", type="shutdown_request")
    assert request["success"] is False


def test_a_poll_waits_for_the_first_message(house: House) -> None:
    bob = Desk(house, "bob")
    answer = bob.begin("poll-inbox", waitSeconds=30)
    house.knell.messages.send("bob", text="at last")
    eventually(answer.exists)
    assert json.loads(answer.read_text())["told"]["messages"][0]["message"] == "at last"


def test_tasks_are_claimed_and_completed_by_token(house: House) -> None:
    ada = team(house)
    bob = Desk(house, "bob")
    house.knell.team("blue").add("bob")
    member(house, "luna")
    task(house, "one")
    assert ada.call("claim-task", taskId="one")["success"] is False, "leaders hand out"
    claimed = bob.call("claim-task", taskId="one")["task"]
    assert (claimed["owner"], claimed["status"]) == ("bob", "in_progress")
    assert bob.call("claim-task", taskId="one")["success"] is False
    stale = bob.call("complete-task", taskId="one", token=claimed["token"] - 1)
    assert stale["success"] is False
    done = bob.call("complete-task", taskId="one", token=claimed["token"])
    assert done["task"]["status"] == "completed"
    assert [one["id"] for one in ada.call("list-tasks", status="completed")["tasks"]] == ["one"]
    assert ada.call("list-tasks", teamName="red")["success"] is False
    assert bob.call("claim-task", taskId="nothing")["success"] is False


def test_answers_that_nobody_asked_for(house: House) -> None:
    ada = team(house)
    for given in ({"approved": True}, {"approved": False, "requestId": "x"}):
        assert ada.call("answer-shutdown", **given)["success"] is False
    assert "approved" in ada.call("answer-shutdown", approved="yes")["error"]
    assert is_live(house, "ada")
