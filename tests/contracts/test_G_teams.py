"""G26, G29, G30, G36, G37, G42, G45 and C3: the faults that teams of the original had."""

import json
import os
import signal
import sqlite3
from contextlib import closing
from typing import Any

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
    is_over,
    kill_agent,
    leader,
    member,
    members,
    refusals,
    requests,
    status,
    task,
)
from house import House, alive, eventually
from knell.core.errors import KnellError
from knell.core.ports.teams import Backend
from knell.core.shutdown import Move
from knell.core.teams import COLOURS
from knell.life.teams.answer import OpenRequests
from scenes import frozen


def watch_once(house: House) -> None:
    house.knell.watch_once()


def pass_time(house: House, seconds: float, *, asleep: float = 0.0) -> None:
    """The machine's clocks, as knell reads them, go on by that much."""
    world = house.knell.world
    now, clock = world.seconds, world.clock
    world.seconds = lambda: now() + seconds

    def later() -> Any:
        at = clock()
        return at._replace(
            wall=at.wall + seconds, awake=at.awake + seconds - asleep, up=at.up + seconds
        )

    world.clock = later


# -- G26: an ending that never ends ----------------------------------------------------------------


def test_G26_the_watch_carries_out_what_was_approved_and_forgotten(house: House) -> None:
    """As if whoever took the answer in had died the moment it was on record."""
    boss, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    asked = ask(house, boss)
    assert house.knell.world.store.shutdowns.move(asked.id, Move.APPROVE).moved
    assert alive(wendy.pid)
    watch_once(house)
    assert not alive(wendy.pid)
    assert requests(house)[0].phase == "confirmed"
    assert task(house, "T-1").status == "pending"
    assert house.knell.receipt("wendy").reason == "shutdown_approved"


def test_K3_the_watch_ends_one_that_agreed_and_is_late(house: House) -> None:
    """As if the process that waits for its confirmation had died."""
    boss, wendy = crew(house)
    asked, world = ask(house, boss).id, house.knell.world
    deadline = world.moment(world.seconds() + 60)
    assert world.store.shutdowns.move(asked, Move.APPROVE, "", deadline).moved
    watch_once(house)
    assert alive(wendy.pid)
    pass_time(house, 61)
    watch_once(house)
    assert not alive(wendy.pid)
    assert (requests(house)[0].phase, requests(house)[0].force) == ("force_killed", True)
    [message] = boss.inbox()
    assert "approved, but did not confirm by" in message["body"]


def test_G26_C3_silence_beyond_the_deadline_is_ended_by_the_watch(house: House) -> None:
    boss, wendy = crew(house)
    boss.asks("ask", "wendy", "--deadline", "60")
    watch_once(house)
    assert (alive(wendy.pid), status(house, "wendy")) == (True, "shutting_down")
    pass_time(house, 61)
    watch_once(house)
    assert not alive(wendy.pid)
    [request] = requests(house)
    assert (request.phase, request.force) == ("force_killed", True)
    receipt = house.knell.receipt("wendy")
    assert (receipt.by, receipt.detail) == ("watch", "its answer is overdue")


def test_G26_C3_without_a_deadline_it_may_take_for_ever(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss, deadline=0)
    pass_time(house, 1e7)
    watch_once(house)
    assert alive(wendy.pid)
    assert requests(house)[0].phase == "requested"


def test_G26_C3_the_default_deadline_is_a_setting(house: House) -> None:
    folder = house.home / ".config" / "knell"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[team]\nshutdown_wait = 0\n")
    boss, _ = crew(house)
    assert ask(house, boss).deadline_at == ""


def test_G26_policy_report_tells_once_and_ends_nobody(house: House) -> None:
    boss, wendy = crew(house)
    boss.asks("ask", "wendy", "--deadline", "1", "--overdue", "report")
    pass_time(house, 60)
    for _ in range(3):
        watch_once(house)
    assert alive(wendy.pid)
    assert len(events(house, "shutdown.overdue", "wendy")) == 1
    [message] = boss.inbox()
    assert (message["sender"], "has not answered" in message["body"]) == ("watch", True)
    wendy.leaves()
    gone(house, "wendy")


def test_G26_a_force_that_nobody_lived_to_carry_out_is_carried_out(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss, deadline=0)
    [request] = requests(house)
    house.knell.world.store.shutdowns.ask(request._replace(force=True))
    watch_once(house)
    assert not alive(wendy.pid)
    assert requests(house)[0].phase == "force_killed"


def test_G29_who_could_not_answer_while_the_machine_slept_gets_another_round(
    house: House,
) -> None:
    boss, wendy = crew(house)
    ask(house, boss, deadline=60)
    seer = OpenRequests(house.knell.world, "watch")
    pass_time(house, 7200, asleep=7190)
    seer.act()
    assert alive(wendy.pid)
    seer.act()
    assert not alive(wendy.pid)


def test_G26_G42_a_forced_ending_is_not_claimed_before_it_is_proven(house: House) -> None:
    """While something of it lives it is a member, in its colour, with its task."""
    boss, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    mine = colours(house)["wendy"]
    with frozen(wendy.pid):
        told = kill_agent(house, boss, force=True)
        assert (told.success, told.reassigned) == (False, ())
        assert f"PID {wendy.pid}" in told.error
        [request] = requests(house)
        assert (request.phase, request.force) == ("requested", True)
        assert colours(house)["wendy"] == mine
        assert task(house, "T-1").owner == "wendy"
        assert status(house, "wendy") == "shutting_down"
    gone(house, "wendy")
    assert requests(house)[0].phase == "force_killed"
    assert task(house, "T-1").owner == ""


# -- G28 to G30 ------------------------------------------------------------------------------------


def test_G30_an_end_is_one_transaction(house: House) -> None:
    """Whoever looks sees all of it or nothing: never a dead member, never a task of nobody."""
    boss, _ = crew(house)
    for number in range(5):
        add_task(house, f"T-{number}", owner="wendy")
    token = boss.token
    seen: set[tuple[bool, bool, int]] = set()

    def look() -> bool:
        queries = ("instances WHERE agent", "members WHERE agent", "team_tasks WHERE owner")
        with closing(sqlite3.connect(house.state / "knell.db", isolation_level=None)) as db:
            db.execute("BEGIN")  # one look at all of it
            found = [db.execute(f"SELECT count(*) FROM {q} = 'wendy'").fetchone() for q in queries]
        live, seated, held = (count for (count,) in found)
        seen.add((bool(live), bool(seated), held))
        return not live

    look()
    killer = begun(house, "kill", "wendy", KNELL_TOKEN=token)
    eventually(look)
    killer.communicate(timeout=300)
    assert seen == {(True, True, 5), (False, False, 0)}


# -- G36, G37 --------------------------------------------------------------------------------------


def test_G36_handing_back_is_a_move_of_its_own_and_works(house: House) -> None:
    """Forward-only states forbid in_progress → pending to everybody else."""
    boss, wendy = crew(house)
    add_task(house, "T-1", owner="wendy")
    assert kill_agent(house, boss, force=True).reassigned == ("T-1",)
    assert task(house, "T-1").status == "pending"
    add_task(house, "T-2")
    again = member(house, "wendy")
    assert again.says("task", "release", "T-2").code == 1
    assert again.says("task", "done", "T-2").code == 1
    assert not alive(wendy.pid)


def test_G37_a_server_is_counted_by_the_runs_that_live(house: House) -> None:
    """A run that dies with -9 counts no more; nothing is ever decremented twice."""
    _, wendy = crew(house)
    wanda = member(house, "wanda")
    store = house.knell.world.store
    store.backends.add(Backend("s-1", "opencode", "/project", None, 28_001))
    for agent in (wendy, wanda):
        assert store.backends.use("s-1", agent.run.id)
        assert store.backends.use("s-1", agent.run.id)
    os.kill(wendy.pid, signal.SIGKILL)
    gone(house, "wendy")
    assert [server.runs for server in store.backends.all()] == [(wanda.run.id,)]
    assert not store.backends.retire("s-1")
    house.kill("wanda")
    assert store.backends.retire("s-1")


# -- G42 -------------------------------------------------------------------------------------------


def test_G42_the_colour_is_free_only_when_the_end_is_proven(house: House) -> None:
    """While it dies, which takes its time, nobody else gets it."""
    boss, wendy = crew(house, env=(("DEAF", "1"),))
    mine = colours(house)["wendy"]
    with boss.call("kill", "wendy", "--grace", "3") as killing:
        eventually(lambda: events(house, "life.rung", "wendy"))
        wanda = member(house, "wanda")
        if alive(wendy.pid):
            assert colours(house)["wanda"] != mine
        killing.makefile().readline()
    assert not alive(wendy.pid)
    assert mine not in colours(house).values()
    assert colours(house)["wanda"] in COLOURS
    assert alive(wanda.pid)
    member(house, "willa")
    assert colours(house)["willa"] == mine


def test_G42_a_pool_that_is_exhausted_is_shared_by_the_longest_held(house: House) -> None:
    leader(house)
    for number in range(len(COLOURS)):
        Puppet(house, f"w-{number}", team="red")
    held = list(colours(house).values())
    assert held == [*COLOURS, COLOURS[0]]


# -- G45: messages and answers --------------------------------------------------------------------


def test_G45_each_message_is_read_once_and_none_is_lost(house: House) -> None:
    boss, wendy = crew(house)
    for number in range(20):
        house.knell.messages.send("wendy", text=str(number))
    calls = [wendy.call("inbox", "--limit", "3", "--json") for _ in range(9)]
    read: list[dict[str, Any]] = []
    for call in calls:
        with call:
            read += json.loads(json.loads(call.makefile().readline())[1])["messages"]
    assert sorted(int(one["body"]) for one in read) == list(range(20))
    assert len({one["id"] for one in read}) == 20
    assert alive(boss.pid)


MALFORMED = {
    "not JSON": "{approved: yes}",
    "no truth value": '{"approved": "true"}',
    "a number": '{"approved": 1}',
    "a list for an id": '{"approved": true, "requestId": [1]}',
    "an object for a reason": '{"approved": true, "reason": {"a": 1}}',
    "null": '{"approved": null}',
    "deep": '{"approved": ' + "[" * 30_000 + "]" * 30_000 + "}",
}


def test_G45_a_malformed_answer_is_refused_and_ends_nobody(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    for name, body in MALFORMED.items():
        said = wendy.with_token("send", "--type", "shutdown_approved", "boss", "--", body)
        assert said.code == 2, (name, said)
        assert (alive(wendy.pid), requests(house)[0].phase) == (True, "requested"), name
    assert boss.inbox() == []


def test_G45_only_the_one_who_was_asked_answers(house: House) -> None:
    boss, wendy = crew(house)
    wanda = member(house, "wanda")
    asked = ask(house, boss).id
    for agent in (wanda, boss):
        for words in (("approve", asked), ("approve", "wendy"), ("approve",)):
            assert agent.says(*words).code == 1
    body = json.dumps({"approved": True, "requestId": asked})
    assert wanda.says("send", "--type", "shutdown_approved", "boss", "--", body).code == 1
    assert (alive(wendy.pid), requests(house)[0].phase) == (True, "requested")
    assert len(refusals(house)) == 7


def test_G45_an_answer_that_comes_too_late_is_refused(house: House) -> None:
    boss, wendy = crew(house)
    asked = ask(house, boss).id
    assert boss.asks("ask", "wendy", "--withdraw")["phase"] == "withdrawn"
    assert status(house, "wendy") == "active"
    for words in (("approve", asked), ("approve",), ("approve", "no-such-request")):
        assert wendy.says(*words).code == 1
    wendy_again = ask(house, boss).id
    assert wendy.says("approve", asked).code == 1
    wendy.asks("reject", wendy_again)
    assert wendy.says("approve", wendy_again).code == 1, "an answer is given once"
    assert alive(wendy.pid)
    assert [request.phase for request in requests(house)] == ["rejected", "withdrawn"]


def test_G45_an_answer_of_a_former_life_binds_no_later_one(house: House) -> None:
    boss, _ = crew(house)
    asked = ask(house, boss).id
    house.kill("wendy")
    again = member(house, "wendy")
    assert again.says("approve", asked).code == 1
    with pytest.raises(KnellError):
        house.knell.shutdowns.approve(asked)
    assert alive(again.pid)
    assert not is_over(house, "wendy")


def test_a_shutdown_is_not_asked_for_by_message(house: House) -> None:
    boss, wendy = crew(house)
    said = boss.says("send", "--type", "shutdown_request", "wendy", "--", "{}")
    assert said.code == 2
    assert requests(house) == []
    assert alive(wendy.pid)


def test_who_is_asked_and_just_exits_has_left(house: House) -> None:
    boss, wendy = crew(house)
    ask(house, boss)
    wendy.says("stop")
    gone(house, "wendy")
    assert requests(house)[0].phase == "confirmed"


def test_who_is_asked_and_then_killed_was_forced(house: House) -> None:
    boss, _ = crew(house)
    ask(house, boss)
    boss.asks("kill", "wendy")
    assert (requests(house)[0].phase, requests(house)[0].force) == ("force_killed", True)


def test_a_leader_is_asked_only_without_a_threat(house: House) -> None:
    crew(house)
    with pytest.raises(KnellError, match="leads team"):
        house.knell.shutdowns.ask("boss")
    assert house.knell.shutdowns.ask("boss", overdue="report").phase == "requested"
    assert members(house) == ["boss", "wendy"]
