"""T1 to T8, T23 to T49: members that are ended without being asked, and their tasks."""

import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contracts.t_scenes import (
    Puppet,
    add_task,
    ask,
    begun,
    colours,
    crew,
    events,
    gone,
    kill_agent,
    leader,
    member,
    members,
    requests,
    status,
    task,
)
from house import House, alive, eventually
from knell.core.codes import Code
from knell.core.ports.teams import Backend
from knell.core.process import ProcessId
from knell.core.teams import TeamTask
from knell.life.teams.kill_agent import KillAgentAnswer, KillAgentWish
from scenes import frozen

DEAF = (("DEAF", "1"),)


def test_T1_T2_one_tool_asks_or_ends_and_hands_the_tasks_back(house: House) -> None:
    boss, wendy = crew(house, place="tmux", server="test")
    add_task(house, "T-1", owner="wendy")
    assert kill_agent(house, boss).phase == "requested"
    assert kill_agent(house, boss, force=True).reassigned == ("T-1",)
    assert not alive(wendy.pid)
    assert house.panes() == []
    assert status(house, "wendy") == "terminated"


def test_T5_an_agent_is_named_by_its_name_or_the_id_of_its_run(house: House) -> None:
    boss, wendy = crew(house)
    assert kill_agent(house, boss, wendy.run.id).success
    assert kill_agent(house, boss, wendy.run.id, force=True).success
    assert not alive(wendy.pid)
    told = kill_agent(house, boss, wendy.run.id)
    assert told.error == f"Agent '{wendy.run.id}' is already terminated"


def test_T6_force_is_off_unless_it_is_asked_for() -> None:
    assert KillAgentWish("red", "wendy").force is False


def test_T6_without_force_it_is_asked_and_lives(house: House) -> None:
    boss, wendy = crew(house)
    told = kill_agent(house, boss)
    assert (told.success, told.method, told.phase) == (True, "graceful", "requested")
    assert alive(wendy.pid)


def test_T8_C26_every_key_is_there_on_success_and_on_failure(house: House) -> None:
    boss, _ = crew(house)
    for told in (kill_agent(house, None), kill_agent(house, boss), kill_agent(house, boss)):
        assert isinstance(told, KillAgentAnswer)
        assert told.method in ("graceful", "force")
        assert told.phase in ("requested", "approved", "rejected", "confirmed", "force_killed")
        assert told.reassigned == ()


def test_K3_T8_C26_a_force_that_failed_does_not_claim_the_kill(house: House) -> None:
    """Refused, not found, or ended before: the phase is not that of a kill that never was."""
    boss, wendy = crew(house)
    refused = [
        kill_agent(house, wendy, force=True),
        kill_agent(house, boss, "nobody", force=True),
        kill_agent(house, boss, "boss", force=True),
    ]
    house.kill("wendy")
    refused.append(kill_agent(house, boss, force=True))
    told = {(one.success, one.method, one.phase, one.reassigned) for one in refused}
    assert told == {(False, "force", "requested", ())}


def test_K3_T8_a_force_that_something_survived_does_not_claim_the_kill(house: House) -> None:
    boss, wendy = crew(house)
    with frozen(wendy.pid):
        told = kill_agent(house, boss, force=True)
        assert (told.success, told.method, told.phase) == (False, "force", "requested")
        assert f"PID {wendy.pid}" in told.error
        assert requests(house)[0].phase == "requested"
    gone(house, "wendy")
    assert requests(house)[0].phase == "force_killed"


def test_K3_C38_force_is_TERM_then_two_seconds_then_KILL(house: House) -> None:
    """Decision 39: an agent may clean up, and gets no more time for it than a plain kill gives."""
    boss, _ = crew(house, env=DEAF)
    assert kill_agent(house, boss, force=True).success
    receipt = house.knell.receipt("wendy")
    term, kill = receipt.rungs
    assert [(rung.rung, rung.reached) for rung in (term, kill)] == [("term", True), ("kill", True)]
    assert kill.at_ms - term.at_ms >= 1900  # each is noted some milliseconds after it was taken


def test_T25_only_the_leader_forces(house: House) -> None:
    _, wendy = crew(house)
    wanda = member(house, "wanda")
    told = kill_agent(house, wanda, force=True)
    assert (told.success, told.error) == (False, "Only the team leader can kill agents")
    assert alive(wendy.pid)


def test_T29_no_agent_is_the_operator_whatever_its_server_says(house: House) -> None:
    """As `knell mcp --operator` passes it on: only a caller that is no agent is a person."""
    _, wendy = crew(house)
    sid = member(house, "sid")
    told = kill_agent(house, wendy, "sid", force=True, operator=True)
    assert (told.success, told.error) == (False, "Only the team leader can kill agents")
    assert alive(sid.pid)


@pytest.mark.parametrize("before", ["active", "asked", "rejected", "stopped by Ctrl-Z"])
def test_T26_whatever_it_is_doing(house: House, before: str) -> None:
    boss, wendy = crew(house)
    if before in ("asked", "rejected"):
        assert kill_agent(house, boss).success
    if before == "rejected":
        wendy.asks("reject")
    if before.startswith("stopped"):
        os.kill(wendy.pid, signal.SIGSTOP)
    told = kill_agent(house, boss, force=True)
    assert (told.success, told.method, told.phase) == (True, "force", "force_killed")
    assert not alive(wendy.pid)


def test_T27_what_was_forced_says_so_and_leaves_nothing_held(house: House) -> None:
    boss, wendy = crew(house, place="tmux", server="test")
    add_task(house, "T-1", owner="wendy")
    held = colours(house)["wendy"]
    assert kill_agent(house, boss, force=True, reason="runs wild").success
    [request] = requests(house)
    assert (request.phase, request.force, request.reason) == ("force_killed", True, "runs wild")
    assert (request.by, request.run) == ("boss", wendy.run.id)
    assert house.panes() == []
    assert members(house) == ["boss"]
    assert held not in colours(house).values()
    assert (task(house, "T-1").status, task(house, "T-1").owner) == ("pending", "")
    receipt = house.knell.receipt("wendy")
    told = (receipt.outcome, receipt.by, receipt.reason, receipt.detail)
    assert told == ("terminated", "agent:boss", "force_killed", "runs wild")


def test_T28_the_answer_names_what_was_handed_back(house: House) -> None:
    boss, _ = crew(house)
    for name in ("T-1", "T-2"):
        add_task(house, name, owner="wendy")
    add_task(house, "T-3")
    told = kill_agent(house, boss, force=True)
    assert (told.success, told.method, told.phase) == (True, "force", "force_killed")
    assert told.reassigned == ("T-1", "T-2")
    assert told.error == ""


def test_what_it_started_goes_with_it(house: House) -> None:
    boss, wendy = crew(house)
    words = ("spawn", "--json", "--name", "child", "--in", "headless", "--", "sleep", "100")
    child = wendy.says(*words).json["agents"][0]["pid"]
    assert kill_agent(house, boss, force=True).success
    assert not alive(child)
    assert house.json("list")["agents"][0]["name"] == "boss"


# -- servers that several share --------------------------------------------------------------------


def test_T23_T24_C28_a_shared_server_is_free_when_its_last_run_ends(house: House) -> None:
    """Counted by the runs that use it, not by a counter, however they end."""
    boss, wendy = crew(house)
    wanda = member(house, "wanda")
    store = house.knell.world.store
    server = Backend("s-1", "opencode", "/project", ProcessId(wendy.pid, 1, "boot"), 28_001)
    store.backends.add(server)
    assert all(store.backends.use("s-1", agent.run.id) for agent in (wendy, wanda))
    assert kill_agent(house, boss, force=True).success
    assert [s.runs for s in store.backends.all()] == [(wanda.run.id,)]
    assert [s.id for s in store.backends.all() if not s.runs] == []
    ask(house, boss, "wanda")
    wanda.leaves()
    gone(house, "wanda")
    assert [s.id for s in store.backends.all() if not s.runs] == ["s-1"]


# -- what is refused -------------------------------------------------------------------------------


def test_T29_not_the_leader(house: House) -> None:
    crew(house)
    assert kill_agent(house, None).error == "Only the team leader can kill agents"


def test_T30_no_such_agent(house: House) -> None:
    boss, _ = crew(house)
    assert kill_agent(house, boss, "nemo").error == "Agent 'nemo' not found"


def test_T31_one_that_has_ended(house: House) -> None:
    boss, _ = crew(house)
    assert kill_agent(house, boss, force=True).success
    for force in (False, True):
        told = kill_agent(house, boss, force=force)
        assert (told.success, told.error) == (False, "Agent 'wendy' is already terminated")


def test_T33_a_pane_that_cannot_be_closed_is_a_warning(house: House) -> None:
    """tmux is not to be found by the leader, and the pane stays as it was told to."""
    house.tmux("new-session", "-d", "-s", "main", "sleep", "600")
    house.tmux("set-option", "-g", "remain-on-exit", "on")
    boss, wendy = crew(house, place="tmux", server="test", session="main")
    add_task(house, "T-1", owner="wendy")
    empty = house.root / "empty"
    empty.mkdir()
    said = boss.says("kill", "wendy", "--json", env={"PATH": str(empty)})
    assert said.code == 0, said
    [receipt] = said.json["receipts"]
    assert receipt["pane"]["closed"] is False
    assert any("pane close failed for tmux" in warning["text"] for warning in receipt["warnings"])
    assert not alive(wendy.pid)
    assert [t["id"] for t in receipt["tasks"]] == ["T-1"]
    assert members(house) == ["boss"]


def test_T34_tasks_that_cannot_be_handed_back_are_a_warning(house: House) -> None:
    boss, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    with closing(sqlite3.connect(house.state / "knell.db")) as db, db:
        db.execute(
            "CREATE TRIGGER stuck BEFORE UPDATE ON team_tasks BEGIN"
            " SELECT RAISE(ABORT, 'stuck'); END"
        )
    told = kill_agent(house, boss, force=True)
    assert (told.success, told.phase, told.reassigned) == (True, "force_killed", ())
    assert [w for w in told.warnings if w.code is Code.TASKS_NOT_RETURNED]
    assert not alive(wendy.pid)
    assert status(house, "wendy") == "terminated"
    assert members(house) == ["boss"]
    assert task(house, "T-1").owner == "wendy"
    [orphaned] = events(house, "task.orphaned", "wendy")
    assert "stuck" in orphaned["why"]


# -- tasks -----------------------------------------------------------------------------------------


def test_T36_T37_T38_T39_only_what_was_under_way_is_reassigned(house: House) -> None:
    boss, wendy = crew(house)
    wanda = member(house, "wanda")
    add_task(house, "T-1", owner="wendy")
    add_task(house, "T-2", owner="wendy")
    wendy.asks("task", "done", "T-2")
    add_task(house, "T-3", owner="wanda")
    add_task(house, "T-4")
    meant = TeamTask("T-5", "red", "meant for wendy", owner="wendy")
    house.knell.world.store.team_tasks.add(meant)
    told = kill_agent(house, boss, force=True)
    assert told.reassigned == ("T-1",)
    freed = task(house, "T-1")
    assert (freed.status, freed.owner, freed.claimed_at) == ("pending", "", "")
    assert freed.warning == "Reassigned: previous owner wendy terminated"
    assert task(house, "T-2").status == "completed"
    assert (task(house, "T-3").owner, task(house, "T-3").status) == ("wanda", "in_progress")
    assert task(house, "T-4").warning == ""
    wanda.asks("task", "claim", "T-1")
    wanda.asks("task", "done", "T-1")


def test_C29_what_was_only_meant_for_it_is_freed_and_told_apart(house: House) -> None:
    boss, _ = crew(house)
    add_task(house, "T-1", owner="wendy")
    meant = TeamTask("T-2", "red", "meant for wendy", owner="wendy")
    house.knell.world.store.team_tasks.add(meant)
    told = kill_agent(house, boss, force=True)
    assert told.reassigned == ("T-1",)
    assert told.receipt
    assert [(t["id"], t["was"], t["now"]) for t in told.receipt.tasks] == [
        ("T-1", "in_progress", "pending"),
        ("T-2", "pending", "pending"),
    ]
    assert (task(house, "T-2").owner, task(house, "T-2").warning) == ("", "")


ENDS = {
    "kill": ("kill", "wendy"),
    "kill --force": ("kill", "wendy", "--force"),
    "stop": ("stop", "wendy"),
    "stop --mode hard": ("stop", "wendy", "--mode", "hard"),
}


@pytest.mark.parametrize("words", ENDS.values(), ids=ENDS)
def test_T39_every_way_to_end_a_member_tells_its_tasks(
    house: House, words: tuple[str, ...]
) -> None:
    crew(house)
    add_task(house, "T-1", owner="wendy")
    [receipt] = house.json(*words)["receipts"]
    assert [(t["id"], t["was"], t["now"]) for t in receipt["tasks"]] == [
        ("T-1", "in_progress", "pending")
    ]
    assert task(house, "T-1").status == "pending"


def test_an_agent_that_just_exits_loses_no_task_either(house: House) -> None:
    _, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    os.kill(wendy.pid, signal.SIGKILL)
    gone(house, "wendy")
    assert (task(house, "T-1").status, task(house, "T-1").owner) == ("pending", "")
    assert members(house) == ["boss"]


# -- after it --------------------------------------------------------------------------------------


def test_T43_T44_terminated_pane_closed_tasks_handed_back_no_member(house: House) -> None:
    boss, wendy = crew(house, place="tmux", server="test", env=DEAF)
    add_task(house, "T-1", owner="wendy")
    assert kill_agent(house, boss, force=True).success
    assert not alive(wendy.pid)
    assert house.panes() == []
    assert task(house, "T-1").owner == ""
    shown = house.json("show", "wendy")
    assert (shown["team_status"], bool(shown["ended_at"])) == ("terminated", True)
    assert "wendy" not in members(house)


def test_T48_an_agent_whose_pane_is_gone_is_ended_all_the_same(house: House) -> None:
    """It ignores the hangup; nobody keeps it, as knell did not start it."""
    boss = leader(house)
    told = house.root / "told"
    source = (
        "import os, signal, time\nsignal.alarm(1200)\n[signal.signal(n, 1) for n in (1, 15)]\n"
        f"open({str(told)!r}, 'w').write(str(os.getpid()))\nwhile True: time.sleep(9)"
    )
    argv = house.script(source)
    house.tmux("new-session", "-d", "-s", "old", *argv)
    eventually(lambda: told.exists() and told.read_text())
    [pane] = house.panes()
    house.knell.adopt(pane, name="wendy", server="test")
    house.knell.team("red").add("wendy")
    house.tmux("kill-pane", "-t", pane)
    pid = int(Path(told).read_text())
    assert alive(pid)
    answer = kill_agent(house, boss, force=True)
    assert (answer.success, answer.phase) == (True, "force_killed")
    assert not alive(pid)
    assert members(house) == ["boss"]


def test_T49_of_many_who_force_at_once_one_ends_it(house: House) -> None:
    boss, wendy = crew(house, env=DEAF)
    add_task(house, "T-1", owner="wendy")
    token = boss.token
    killers = [begun(house, "kill", "wendy", "--json", KNELL_TOKEN=token) for _ in range(8)]
    answers = [json.loads(killer.communicate(timeout=300)[0]) for killer in killers]
    results = sorted(answer["receipts"][0]["result"] for answer in answers)
    assert results == ["already_ended"] * 7 + ["ended"]
    assert len(events(house, "life.stopped", "wendy")) == 1
    assert len(events(house, "task.reassigned", "wendy")) == 1
    assert not alive(wendy.pid)


def test_T4_a_team_that_is_not_there(house: House) -> None:
    boss = Puppet(house, "boss")
    told = kill_agent(house, boss, team="green")
    assert (told.success, told.error) == (False, "Team 'green' does not exist")
