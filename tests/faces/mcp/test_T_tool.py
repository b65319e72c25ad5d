"""The tool kill-agent against its contract, called by the official client from real agents."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually
from mcp_desk import NOT_LEADER, Desk, is_live, plain_desk, refusals, task, team

FAILED = {"success": False, "method": "graceful", "phase": "requested", "reassignedTasks": []}
FORCED = {"success": True, "method": "force", "phase": "force_killed", "reassignedTasks": []}
ASKED = {"success": True, "method": "graceful", "phase": "requested", "reassignedTasks": []}


def tool(desk: Desk, name: str) -> dict[str, Any]:
    return next(one for one in desk.whole("tools")["tools"] if one["name"] == name)


def test_T1_T4_T5_T6_T7_T8_the_tool_and_its_schemas(house: House) -> None:
    with plain_desk(house) as desk:
        kill = tool(desk, "kill-agent")
    given = kill["inputSchema"]
    assert given["required"] == ["teamName", "agentId"]
    assert given["additionalProperties"] is False
    assert set(given["properties"]) == {"teamName", "agentId", "force", "reason"}
    for name in ("teamName", "agentId"):
        assert given["properties"][name]["type"] == "string"
        assert given["properties"][name]["minLength"] == 1
    assert given["properties"]["force"]["type"] == "boolean"
    assert given["properties"]["force"]["default"] is False
    assert given["properties"]["reason"]["type"] == "string"
    always = kill["outputSchema"]["required"]
    assert always == ["success", "method", "phase", "reassignedTasks"]
    told = kill["outputSchema"]["properties"]
    assert told["success"]["type"] == "boolean"
    assert told["method"]["enum"] == ["graceful", "force"]
    assert told["phase"]["enum"] == [
        "requested", "approved", "rejected", "confirmed", "force_killed",
    ]  # fmt: skip
    assert told["reassignedTasks"] == {"type": "array", "items": {"type": "string"}}
    assert told["error"]["type"] == "string"
    assert kill["annotations"]["destructiveHint"] is True
    assert kill["annotations"]["readOnlyHint"] is False


def test_T7_T14_T42_asking_is_told_to_the_agent_with_the_reason(house: House) -> None:
    ada = team(house, "", "luna")
    assert ada.kill("luna", reason="the work is done") == ASKED
    [message] = house.knell.messages.inbox("luna")
    assert message.type == "shutdown_request"
    assert '"the work is done"' in message.body
    assert ada.call("agent-status", agentId="luna")["status"] == "shutting_down"
    assert is_live(house, "luna")


def test_T25_T26_T28_T39_force_ends_it_and_hands_its_tasks_back(house: House) -> None:
    ada = team(house, "", "luna")
    task(house, "one", "luna")
    task(house, "two", "luna")
    task(house, "free")
    assert ada.kill("luna") == ASKED  # T26: in any status
    answer = ada.kill("luna", force=True)
    assert {**answer, "reassignedTasks": []} == FORCED
    assert sorted(answer["reassignedTasks"]) == ["one", "two"]
    assert not is_live(house, "luna")
    assert [one.status for one in house.knell.tasks("blue")] == ["pending"] * 3
    assert "luna" not in {one.agent for one in house.knell.team("blue").show().members}


@pytest.mark.parametrize("force", [False, True])
def test_T29_T3_T40_only_the_leader_of_the_named_team(house: House, *, force: bool) -> None:
    ada = team(house, "", "luna")
    worker = Desk(house, "bob")
    house.knell.team("blue").add("bob")
    expected = {**FAILED, "error": NOT_LEADER}
    if force:
        expected |= {"method": "force"}  # K3: and it claims no kill
    assert worker.kill("luna", force=force) == expected
    assert worker.kill("ada", force=force) == expected
    with plain_desk(house) as nobody:  # T43, G43: no identity is no leader
        assert nobody.kill("luna", force=force) == expected
    assert is_live(house, "luna")
    assert is_live(house, ada.name)
    assert [one["why"] for one in refusals(house)] == [NOT_LEADER] * 3


def test_T29_G43_a_copied_stamp_makes_no_leader(house: House) -> None:
    ada = team(house, "", "luna")
    with plain_desk(house, KNELL_RUN=ada.run.id, KNELL_AGENT="ada") as liar:
        assert liar.kill("luna", force=True)["error"] == NOT_LEADER
    worker = Desk(house, "bob", env=(("DESK_OPTIONS", '["--operator"]'),))
    assert worker.kill("luna", force=True)["error"] == NOT_LEADER, "an agent stays an agent"
    assert is_live(house, "luna")


def test_G43_the_team_must_be_that_of_the_agent(house: House) -> None:
    ada = team(house)
    house.spawn(name="stranger")
    assert ada.kill("stranger", force=True)["error"] == "Agent 'stranger' not found"
    assert ada.kill("stranger", team="red")["error"] == "Team 'red' does not exist"
    assert is_live(house, "stranger")


def test_T30_not_found(house: House) -> None:
    ada = team(house)
    assert ada.kill("nobody") == {**FAILED, "error": "Agent 'nobody' not found"}


def test_T31_already_terminated(house: House) -> None:
    ada = team(house, "", "luna")
    assert ada.kill("luna", force=True) == FORCED
    for force in (False, True):
        assert ada.kill("luna", force=force)["error"] == "Agent 'luna' is already terminated"


def test_T32_T46_already_in_shutdown(house: House) -> None:
    ada = team(house, "", "luna")
    assert ada.kill("luna") == ASKED
    error = "Agent already in shutdown. Use force=true to override."
    assert ada.kill("luna") == {**FAILED, "error": error}
    assert ada.kill("luna", force=True) == FORCED


def test_T48_an_agent_whose_pane_is_gone(house: House) -> None:
    """Taken over from somebody else's tmux, it shrugs off the hangup and lives on."""
    ada = team(house)
    deaf = "import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(600)"
    house.tmux("new-session", "-d", "-s", "work", f"exec {sys.executable} -S -c '{deaf}'")
    [pane] = house.panes()
    house.tmux("new-window", "-d", "sleep 600")  # else the server would leave with its last pane
    pid = int(house.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
    eventually(lambda: signal_ignored(pid, signal.SIGHUP))
    house.knell.adopt(str(pid), name="luna")
    house.knell.team("blue").add("luna")
    house.tmux("kill-pane", "-t", pane)
    assert alive(pid)
    assert ada.kill("luna", force=True) == FORCED
    assert not alive(pid)
    assert not is_live(house, "luna")


def signal_ignored(pid: int, number: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    mask = next(line.split()[1] for line in lines if line.startswith("SigIgn:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def test_T35_C27_a_rejection_is_told_and_asking_again_works(house: House) -> None:
    ada = team(house)
    luna = Desk(house, "luna")
    house.knell.team("blue").add("luna")
    assert ada.kill("luna") == ASKED
    told = luna.call("answer-shutdown", approved=False, reason="five more minutes")
    assert told.pop("requestId")
    assert told == {
        "success": True, "method": "graceful", "phase": "rejected", "reassignedTasks": [],
    }  # fmt: skip
    status = ada.call("agent-status", agentId="luna")
    assert status["status"] == "active"
    assert status["shutdown"]["phase"] == "rejected"
    assert status["shutdown"]["answer"] == "five more minutes"
    [message] = ada.call("poll-inbox", waitSeconds=10)["messages"]
    assert message["type"] == "shutdown_approved"
    assert '"approved": false' in message["message"]
    assert ada.kill("luna") == ASKED
    assert luna.call("answer-shutdown", approved=True, needsSeconds=600)["phase"] == "approved"
    assert is_live(house, "luna")
    told = luna.call("answer-shutdown", approved=True, phase="confirmed")
    assert told["phase"] == "confirmed"
    eventually(lambda: not is_live(house, "luna"))
    assert ada.kill("luna")["error"] == "Agent 'luna' is already terminated"


def test_T45_an_agent_without_tasks(house: House) -> None:
    ada = team(house, "", "luna")
    task(house, "others")
    assert ada.kill("luna", force=True) == FORCED


@pytest.mark.parametrize("force", [False, True])
def test_T47_the_leader_is_not_killed_by_the_tool(house: House, *, force: bool) -> None:
    ada = team(house)
    told = ada.kill("ada", force=force)
    assert told["success"] is False
    assert "leads team 'blue'" in told["error"]
    with plain_desk(house, DESK_OPTIONS='["--operator"]') as person:
        assert "leads team 'blue'" in person.kill("ada", force=force)["error"]
    assert alive(ada.run.process.pid if ada.run.process else 0)


def test_a_person_may_when_it_said_so(house: House) -> None:
    team(house, "", "luna")
    with plain_desk(house, DESK_OPTIONS='["--operator"]') as person:
        assert person.kill("luna", force=True) == FORCED
    events = [event.data for event in house.knell.events(agent="luna", limit=100)]
    assert "operator via mcp" in {data.get("by") for data in events}


def test_C26_all_keys_always_and_error_only_when_there_is_one(house: House) -> None:
    ada = team(house, "", "luna")
    keys = ["success", "method", "phase", "reassignedTasks"]
    assert list(ada.kill("luna")) == keys
    assert list(ada.kill("luna")) == [*keys, "error"]
    assert list(ada.call("kill-agent")) == [*keys, "error"]


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "teamName"),
    ({"teamName": "blue"}, "agentId"),
    ({"teamName": "", "agentId": "luna"}, "teamName"),
    ({"teamName": "blue", "agentId": ""}, "agentId"),
    ({"teamName": "b" * 201, "agentId": "luna"}, "teamName"),
    ({"teamName": "blue", "agentId": "l" * 201}, "agentId"),
    ({"teamName": 7, "agentId": "luna"}, "teamName"),
    ({"teamName": "blue", "agentId": ["luna"]}, "agentId"),
    ({"teamName": "blue", "agentId": None}, "agentId"),
    ({"teamName": "blue", "agentId": "lu\0na"}, "agentId"),
    ({"teamName": "blue", "agentId": "luna", "force": "yes"}, "force"),
    ({"teamName": "blue", "agentId": "luna", "force": 1}, "force"),
    ({"teamName": "blue", "agentId": "luna", "reason": 5}, "reason"),
    ({"teamName": "blue", "agentId": "luna", "reason": "r" * 2001}, "reason"),
    ({"teamName": "blue", "agentId": "luna", "grace": 5}, "grace"),
)


def test_T4_T5_T6_bad_input_does_nothing(house: House) -> None:
    ada = team(house, "", "luna")
    for given, word in BAD:
        answer = ada.call("kill-agent", **given)
        assert answer["success"] is False
        assert word in answer["error"]
        assert len(answer["error"]) < 300
        assert ada.call("agent-status", agentId="luna")["status"] == "active"
