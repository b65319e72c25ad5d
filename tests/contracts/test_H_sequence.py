"""H11 to H17: what `kill` does, in which order. C3, C4, C12, C14, C20: how it may be changed."""

import os
import sqlite3
import time

import pytest

from contracts.h_scenes import desk, farewell, heard, hears, rows, words_of
from house import House, alive, descendants
from scenes import DEAF, SLEEPS, started

STUBBORN = -1  # lingers for ever after TERM


def test_H11_every_process_of_the_group_gets_term_first(house: House) -> None:
    """All at once: nobody's TERM waits until another has finished."""
    luna = started(house, hears(house, linger=0.9, children=2))
    group = sorted(pid for pid in descendants() if os.getpgid(pid) == luna.pid)
    assert len(group) == 3
    receipt = house.json("kill", "luna", "--grace", "60")["receipts"][0]
    told = heard(house)
    assert sorted(told[:3]) == [(pid, "SIGTERM") for pid in group]
    assert sorted(told[3:]) == [(pid, "finished") for pid in group]
    assert (receipt["rungs"][0]["rung"], receipt["rungs"][0]["reached"]) == ("term", True)


def test_H12_two_seconds_pass_between_term_and_kill(house: House) -> None:
    """Never less, by knell's own clock; how much more says how busy the machine is."""
    luna = started(house, hears(house, linger=STUBBORN))
    receipt = house.json("kill", "luna")["receipts"][0]
    assert (words_of(house, luna.pid), alive(luna.pid)) == (["SIGTERM"], False)
    assert time.time() - (house.root / "heard").stat().st_mtime > 1.9
    assert receipt["rungs"][1]["at_ms"] > 1900


def test_H12_the_wait_ends_with_the_last_process(house: House) -> None:
    started(house, SLEEPS)
    assert house.json("kill", "luna", "--grace", "100")["receipts"][0]["duration_ms"] < 50_000


def test_H13_sigkill_comes_if_it_is_still_alive(house: House) -> None:
    luna = started(house, DEAF)
    receipt = house.json("kill", "luna")["receipts"][0]
    assert not alive(luna.pid)
    assert [(rung["rung"], rung["reached"]) for rung in receipt["rungs"]] == [
        ("term", True),
        ("kill", True),
    ]
    assert (receipt["exit_signal"], receipt["processes"][0]["ended_by"]) == (9, "kill")


def test_H13_and_only_then(house: House) -> None:
    """Whoever leaves within the grace leaves by itself, with everything it wanted to do."""
    luna = started(house, hears(house, linger=1))
    receipt = house.json("kill", "luna", "--grace", "60")["receipts"][0]
    assert words_of(house, luna.pid) == ["SIGTERM", "finished"]
    assert receipt["rungs"][-1] == {"rung": "kill", "at_ms": 0, "reached": False}
    assert (receipt["exit_code"], receipt["exit_signal"]) == (0, None)


@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_H14_the_pane_of_a_managed_terminal_is_closed(house: House, place: str) -> None:
    own = desk(house)
    luna = started(house, SLEEPS, place=place, server="test" if place == "tmux" else "")
    receipt = house.json("kill", "luna")["receipts"][0]
    assert receipt["pane"]["closed"] is (True if place == "tmux" else None)
    assert house.panes() == [own]
    assert not alive(luna.pid)


def test_H11_to_H14_no_pane_is_closed_before_the_last_signal(house: House) -> None:
    """A pane that is closed first hangs its program up in the middle of a write."""
    desk(house)
    luna = started(house, hears(house, linger=STUBBORN), place="tmux", server="test")
    receipt = house.json("kill", "luna", "--grace", "1")["receipts"][0]
    assert words_of(house, luna.pid) == ["SIGTERM"]
    assert (receipt["exit_signal"], receipt["pane"]["closed"]) == (9, True)


def test_H15_a_stopped_event_with_reason_killed_is_logged(house: House) -> None:
    started(house, SLEEPS)
    house.run("kill", "luna")
    told = farewell(house)
    assert (told["action"], told["reason"], told["by"]) == ("stopped", "killed", "operator")
    line = house.run("events", "luna").stdout.splitlines()[-1]
    assert "life.stopped" in line
    assert "reason=killed" in line


def test_H16_the_instance_row_is_deleted(house: House) -> None:
    started(house, SLEEPS, name="luna")
    nova = started(house, SLEEPS, name="nova")
    assert rows(house, "SELECT agent FROM instances ORDER BY agent") == [("luna",), ("nova",)]
    house.run("kill", "luna")
    assert rows(house, "SELECT agent FROM instances") == [("nova",)]
    assert alive(nova.pid)


def test_H17_the_children_in_the_group_die_too(house: House) -> None:
    before = set(descendants())
    started(house, "child(SLEEP)\nchild(DEAF)\ntell()\nsleep()")
    assert len(set(descendants()) - before) >= 4  # keeper, agent, two children
    assert house.run("kill", "luna").returncode == 0
    assert set(descendants()) <= before


def test_H11_to_H16_happen_in_this_order(house: House) -> None:
    desk(house)
    started(house, DEAF, place="tmux", server="test")
    house.run("kill", "luna")
    events = house.json("events", "luna")["events"]
    told = [(event["type"], event["data"].get("rung")) for event in events]
    assert told[-4:] == [
        ("life.stopping", None),
        ("life.rung", "term"),
        ("life.rung", "kill"),
        ("life.stopped", None),
    ]


# -- the decisions --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [("--grace", "0"), ("--force",)])
def test_C3_without_grace_there_is_no_term(house: House, how: tuple[str, ...]) -> None:
    luna = started(house, hears(house, linger=0))
    receipt = house.json("kill", "luna", *how)["receipts"][0]
    assert not alive(luna.pid)
    assert heard(house) == []
    assert receipt["exit_signal"] == 9


def test_C3_the_grace_can_be_given_per_call(house: House) -> None:
    started(house, DEAF)
    receipt = house.json("kill", "luna", "--grace", "3")["receipts"][0]
    waited = {rung["rung"]: rung["at_ms"] for rung in receipt["rungs"]}
    assert waited["kill"] > 2900  # the usual is two seconds


def test_C3_the_grace_can_be_configured(house: House) -> None:
    config = house.root / "config.toml"
    config.write_text("[kill]\ngrace = 3\n")
    started(house, DEAF)
    receipt = house.json("kill", "luna", env=house.env | {"KNELL_CONFIG": str(config)})
    waited = {rung["rung"]: rung["at_ms"] for rung in receipt["receipts"][0]["rungs"]}
    assert waited["kill"] > 2900  # the usual is two seconds


@pytest.mark.parametrize("grace", ["-1", "nan", "1e9", "soon"])
def test_C3_a_grace_that_nobody_can_mean_is_a_usage_error(house: House, grace: str) -> None:
    luna = started(house, SLEEPS)
    assert house.run("kill", "luna", "--grace", grace).returncode == 2
    assert alive(luna.pid)


def test_C4_agent_and_run_stay_on_record(house: House) -> None:
    luna = started(house, SLEEPS)
    house.run("kill", "luna")
    assert rows(house, "SELECT name FROM agents") == [("luna",)]
    assert rows(house, "SELECT id, outcome, reason FROM runs") == [
        (luna.run.id, "killed", "killed")
    ]
    assert house.json("list")["agents"] == []
    everybody = house.json("list", "--all")["agents"]
    assert [(one["state"], one["outcome"]) for one in everybody] == [("ended", "killed")]


def test_C4_an_ended_run_is_final(house: House) -> None:
    started(house, SLEEPS)
    house.run("kill", "luna")
    db = sqlite3.connect(house.state / "knell.db")
    with pytest.raises(sqlite3.IntegrityError, match="final"):
        db.execute("UPDATE runs SET outcome = 'completed'")
    db.close()


@pytest.mark.parametrize("habit", ["setsid", "daemon", "scrubbed_daemon", "own_group"])
def test_C12_every_member_is_ended_not_only_the_group(house: House, habit: str) -> None:
    before = set(descendants())
    house.spawn(habit, name="luna")
    receipt = house.json("kill", "luna")["receipts"][0]
    assert set(descendants()) <= before
    assert (receipt["result"], receipt["proof"]) == ("ended", "proven")
    assert len(receipt["processes"]) == 2


def test_C14_the_pane_is_closed_after_the_process_has_gone(house: House) -> None:
    """Closing it first would hang up a program in the middle of a write."""
    desk(house)
    luna = started(house, hears(house, linger=1), place="tmux", server="test")
    receipt = house.json("kill", "luna")["receipts"][0]
    assert receipt["pane"] == {
        "place": "tmux",
        "id": luna.run.place.pane,
        "closed": True,
        "retry": "",
    }
    assert words_of(house, luna.pid) == ["SIGTERM", "finished"]


def test_C20_the_reason_is_killed_and_the_text_is_kept_beside_it(house: House) -> None:
    started(house, SLEEPS)
    receipt = house.json("kill", "luna", "--reason", "it loops")["receipts"][0]
    assert (receipt["reason"], receipt["detail"]) == ("killed", "it loops")
    told = farewell(house)
    assert (told["reason"], told["detail"]) == ("killed", "it loops")
