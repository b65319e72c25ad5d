"""T7 to T22, T35, T42 to T46: an agent is asked to leave, answers, and what comes of it."""

import json
import os
import signal

import pytest

from contracts.t_scenes import (
    add_task,
    ask,
    colours,
    crew,
    events,
    gone,
    kill_agent,
    member,
    members,
    requests,
    status,
    task,
)
from house import House, alive, eventually
from knell.core.teams import MessageType


def test_T11_T12_T42_the_request_is_a_message_in_the_inbox(house: House) -> None:
    boss, wendy = crew(house)
    asked = boss.asks("ask", "wendy", "--reason", "the sprint is over")
    assert (asked["success"], asked["method"], asked["phase"]) == (True, "graceful", "requested")
    assert asked["reassignedTasks"] == []
    [message] = wendy.asks("inbox")["messages"]
    assert (message["type"], message["sender"], message["team"]) == (
        "shutdown_request",
        "boss",
        "red",
    )
    body = json.loads(message["body"])
    assert body["id"] == asked["request"]["id"]
    told = {key: body[key] for key in ("requesterAgentId", "targetAgentId", "teamName", "phase")}
    assert told == {
        "requesterAgentId": "boss",
        "targetAgentId": "wendy",
        "teamName": "red",
        "phase": "requested",
    }
    assert body["force"] is False
    assert body["requestedAt"]
    assert alive(wendy.pid)


def test_T7_the_reason_is_sent_to_the_agent(house: House) -> None:
    boss, wendy = crew(house)
    assert kill_agent(house, boss, reason="too expensive").success
    assert json.loads(wendy.inbox()[0]["body"])["reason"] == "too expensive"


def test_T13_it_is_shutting_down_as_long_as_the_request_is_open(house: House) -> None:
    boss, wendy = crew(house)
    assert status(house, "wendy") == "active"
    ask(house, boss)
    assert status(house, "wendy") == "shutting_down"
    listed = {agent["name"]: agent["team_status"] for agent in house.json("list")["agents"]}
    assert listed == {"boss": "active", "wendy": "shutting_down"}
    wendy.asks("reject")
    assert status(house, "wendy") == "active"
    ask(house, boss)
    wendy.leaves()
    gone(house, "wendy")
    assert status(house, "wendy") == "terminated"


def test_T14_the_tool_answers_at_once_and_nobody_is_ended(house: House) -> None:
    boss, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    told = kill_agent(house, boss)
    assert (told.success, told.method, told.phase) == (True, "graceful", "requested")
    assert told.reassigned == ()
    assert alive(wendy.pid)
    assert task(house, "T-1").owner == "wendy"


# -- the answer, by every way it can come ----------------------------------------------------------

YES = {
    "verb": ("approve", "--reason", "all pushed"),
    "words": ("send", "--type", "shutdown_approved", "boss", "--", "all pushed"),
    "json": ("send", "--type", "shutdown_approved", "boss", "--", '{"approved": true}'),
}
NO = {
    "verb": ("reject", "--reason", "half a merge"),
    "message": ("send", "--type", "shutdown_rejected", "boss", "--", "half a merge"),
    "approved false": (
        *("send", "--type", "shutdown_approved", "boss", "--"),
        '{"approved": false, "reason": "half a merge"}',
    ),
}


@pytest.mark.parametrize("words", YES.values(), ids=YES)
def test_T15_T16_T21_an_agent_that_agrees_is_ended(house: House, words: tuple[str, ...]) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.inbox()
    assert wendy.says(*words).code == 0
    wendy.says("confirm")
    gone(house, "wendy")
    assert not alive(wendy.pid)
    [request] = requests(house)
    assert (request.phase, request.force) == ("confirmed", False)
    assert request.responded_at
    assert request.completed_at
    receipt = house.knell.receipt("wendy")
    told = (receipt.outcome, receipt.by, receipt.reason)
    assert told == ("terminated", "agent:boss", "shutdown_approved")
    assert alive(boss.pid)
    [message] = boss.inbox()
    assert (message["type"], message["sender"]) == ("shutdown_approved", "wendy")
    assert json.loads(message["body"])["approved"] is True


@pytest.mark.parametrize("words", NO.values(), ids=NO)
def test_T15_T17_the_leader_hears_the_reason_of_a_rejection(
    house: House, words: tuple[str, ...]
) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    assert wendy.says(*words).code == 0
    [message] = boss.inbox()
    body = json.loads(message["body"])
    assert (message["type"], body["approved"]) == (MessageType.SHUTDOWN_APPROVED, False)
    assert body["reason"] == "half a merge"
    assert alive(wendy.pid)
    [request] = requests(house)
    assert (request.phase, request.answer) == ("rejected", "half a merge")


def test_T17_C27_who_rejected_may_be_asked_again_and_then_agree(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.asks("reject")
    assert kill_agent(house, boss).phase == "requested"
    wendy.leaves()
    gone(house, "wendy")
    assert [request.phase for request in requests(house)] == ["confirmed", "rejected"]


def test_T17_who_rejected_may_be_forced(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.asks("reject")
    told = kill_agent(house, boss, force=True)
    assert (told.success, told.phase) == (True, "force_killed")
    assert not alive(wendy.pid)


def test_T35_who_waits_for_the_answer_is_told_of_the_rejection(house: House) -> None:
    boss, wendy = crew(house)
    with boss.call("ask", "wendy", "--wait", "30", "--json") as waiting:
        eventually(lambda: requests(house))
        wendy.asks("reject", "--reason", "not now")
        code, out, _ = json.loads(waiting.makefile().readline())
    told = json.loads(out)
    assert (code, told["success"], told["method"]) == (0, True, "graceful")
    assert (told["phase"], told["reassignedTasks"]) == ("rejected", [])
    assert told["request"]["answer"] == "not now"


def test_who_waits_for_the_answer_is_told_of_the_end_and_the_tasks(house: House) -> None:
    boss, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    with boss.call("ask", "wendy", "--wait", "40", "--json") as waiting:
        eventually(lambda: requests(house))
        wendy.leaves()
        _, out, _ = json.loads(waiting.makefile().readline())
    told = json.loads(out)
    assert (told["phase"], told["reassignedTasks"]) == ("confirmed", ["T-1"])


# -- what an approval brings about -----------------------------------------------------------------


def test_T18_all_that_it_owned_waits_for_somebody_else(house: House) -> None:
    boss, wendy = crew(house)
    for name in ("T-1", "T-2"):
        add_task(house, name, owner="wendy")
    ask(house, boss)
    wendy.leaves()
    gone(house, "wendy")
    assert [(t.status, t.owner) for t in house.knell.tasks("red")] == [("pending", "")] * 2


def test_T19_its_pane_is_closed(house: House) -> None:
    boss, wendy = crew(house, place="tmux", server="test")
    assert len(house.panes()) == 1
    ask(house, boss)
    wendy.leaves()
    gone(house, "wendy")
    eventually(lambda: house.panes() == [])


def test_T20_its_colour_is_free_again(house: House) -> None:
    boss, wendy = crew(house)
    before = colours(house)["wendy"]
    ask(house, boss)
    wendy.leaves()
    gone(house, "wendy")
    assert list(colours(house)) == ["boss"]
    member(house, "wanda")
    assert colours(house)["wanda"] == before


def test_T22_T44_it_is_no_member_any_more_and_terminated(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.leaves()
    gone(house, "wendy")
    assert members(house) == ["boss"]
    shown = house.json("show", "wendy")
    assert (shown["team_status"], shown["outcome"]) == ("terminated", "terminated")
    assert shown["ended_at"]


def test_T45_an_agent_without_tasks_leaves_all_the_same(house: House) -> None:
    boss, wendy = crew(house)
    add_task(house, "T-1")
    ask(house, boss)
    wendy.leaves()
    gone(house, "wendy")
    assert house.knell.receipt("wendy").tasks == ()
    assert task(house, "T-1").warning == ""
    assert requests(house)[0].phase == "confirmed"


def test_T46_T32_who_is_asked_already_is_not_asked_again(house: House) -> None:
    boss, wendy = crew(house)
    assert kill_agent(house, boss).success
    told = kill_agent(house, boss)
    assert (told.success, told.phase, told.reassigned) == (False, "requested", ())
    assert told.error == "Agent already in shutdown. Use force=true to override."
    assert len(requests(house)) == 1
    assert len(wendy.inbox()) == 1
    assert kill_agent(house, boss, force=True).success
    assert requests(house)[0].phase == "force_killed"


def test_T10_an_agent_that_is_not_there_or_has_ended_is_not_asked(house: House) -> None:
    boss, _ = crew(house)
    assert kill_agent(house, boss, "nobody").error == "Agent 'nobody' not found"
    house.kill("wendy")
    assert kill_agent(house, boss).error == "Agent 'wendy' is already terminated"
    assert requests(house) == []


# -- nobody has to be there ------------------------------------------------------------------------


def test_an_approval_ends_the_agent_though_the_approver_dies_at_once(house: House) -> None:
    """The verb that took the answer in is killed as soon as the answer is on record."""
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.call("approve", "--needs", "0").close()
    eventually(lambda: requests(house)[0].phase != "requested")
    gone(house, "wendy")
    assert requests(house)[0].phase == "confirmed"
    assert len(events(house, "life.stopped", "wendy")) == 1


def test_the_approval_of_an_adopted_agent_ends_it_too(house: House) -> None:
    """It has no keeper that would finish; and no token, as knell did not start it."""
    from scenes import adopted

    boss = crew(house).boss
    luna = adopted(house, "tell()\nsleep()")
    house.knell.team("red").add("luna")
    ask(house, boss, "luna")
    assert house.json("approve", "luna")["phase"] == "approved"
    assert alive(luna.pid)
    assert house.json("confirm", "luna")["phase"] == "confirmed"
    assert not alive(luna.pid)


# -- K3: an agent that agrees finishes its work ----------------------------------------------------


def test_K3_C37_T16_an_agent_that_agrees_works_on_until_it_confirms(house: House) -> None:
    boss, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    ask(house, boss)
    assert wendy.asks("approve", "--needs", "600")["phase"] == "approved"
    [message] = boss.inbox()
    assert json.loads(message["body"])["deadlineAt"] == requests(house)[0].deadline_at != ""
    house.knell.watch_once()
    wendy.asks("task", "done", "T-1")
    assert task(house, "T-1").status == "completed"
    assert (alive(wendy.pid), status(house, "wendy")) == (True, "shutting_down")
    assert events(house, "life.stopping", "wendy") == []
    assert wendy.says("confirm").code in (0, -1)
    gone(house, "wendy")
    [request] = requests(house)
    assert (request.phase, request.force) == ("confirmed", False)
    assert house.knell.receipt("wendy").reason == "shutdown_approved"
    assert task(house, "T-1").owner == "wendy"


def test_T16_K3_whoever_names_no_time_may_finish_all_the_same(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.asks("approve")
    [request] = requests(house)
    assert request.deadline_at > request.responded_at
    assert events(house, "life.stopping", "wendy") == []
    assert (alive(wendy.pid), status(house, "wendy")) == (True, "shutting_down")


def test_T32_T46_an_agent_that_agreed_is_in_shutdown_until_it_is_gone(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.asks("approve", "--needs", "600")
    again = kill_agent(house, boss)
    assert again.error == "Agent already in shutdown. Use force=true to override."
    forced = kill_agent(house, boss, force=True)
    assert (forced.success, forced.phase) == (True, "force_killed")


def test_K3_its_own_exit_confirms_too(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.asks("approve", "--needs", "600")
    os.kill(wendy.pid, signal.SIGKILL)  # as it ends by itself: knell sends nothing
    gone(house, "wendy")
    [request] = requests(house)
    assert (request.phase, request.force) == ("confirmed", False)
    assert events(house, "life.stopping", "wendy") == []


def test_K3_after_its_time_the_ladder_climbs_and_the_leader_is_told(house: House) -> None:
    """No watch runs: the process that the approval left behind sees to it."""
    boss, wendy = crew(house)
    ask(house, boss)
    assert wendy.asks("approve", "--needs", "1")["phase"] == "approved"
    gone(house, "wendy")
    [request] = requests(house)
    assert (request.phase, request.force) == ("force_killed", True)
    assert house.knell.receipt("wendy").detail == "it did not confirm in time"
    told = [message["body"] for message in boss.inbox() if message["type"] == "plain"]
    assert told == [
        f"wendy approved, but did not confirm by {request.deadline_at}: it is ended now"
    ]
    assert len(events(house, "shutdown.overdue", "wendy")) == 1


def test_K3_the_leader_is_told_though_a_person_asked(house: House) -> None:
    boss, wendy = crew(house)
    house.run("ask", "wendy")
    wendy.asks("approve", "--needs", "0.5")
    gone(house, "wendy")
    assert ["did not confirm" in message["body"] for message in boss.inbox()] == [True]


def test_K3_the_time_to_finish_is_a_setting(house: House) -> None:
    folder = house.home / ".config" / "knell"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[team]\nfinish_wait = 0\n")
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.says("approve")
    gone(house, "wendy")
    assert requests(house)[0].phase == "confirmed"


def test_K3_only_one_who_approved_confirms(house: House) -> None:
    boss, wendy = crew(house)
    assert wendy.says("confirm").code == 1
    ask(house, boss)
    said = wendy.says("confirm")
    assert (said.code, "it is not approved" in said.err) == (1, True)
    wendy.asks("reject")
    assert wendy.says("confirm").code == 1
    ask(house, boss)
    for bad in ("-1", "nan", "1e9", "x"):
        assert wendy.says("approve", "--needs", bad).code == 2
    assert alive(wendy.pid)


def test_K3_a_message_confirms_too(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    answer = ("send", "--type", "shutdown_approved", "boss", "--")
    assert wendy.says(*answer, '{"approved": true, "needs": 600}').code == 0
    assert requests(house)[0].phase == "approved"
    wendy.says(*answer, '{"approved": true, "phase": "confirmed"}')
    gone(house, "wendy")
    assert requests(house)[0].phase == "confirmed"
