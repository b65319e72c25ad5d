"""Deeds that follow each other, as the users of the four systems do them."""

import json
from typing import Any

import pytest

from contracts.m_scenes import NAME, Shop, configure
from contracts.t_scenes import Puppet, gone, leader
from house import House, alive

DOTTED = "my.shop-creator-claude"  # tmux calls it my_shop-creator-claude


# -- the session's name ----------------------------------------------------------------------------


def test_K5_M48_a_session_whose_name_tmux_changes_is_seen_while_it_lives(house: House) -> None:
    shop = Shop(house)
    pid = shop.session(DOTTED).pid
    shop.list(shop.row_text(DOTTED, status="terminated", more="  terminated_at: 2026-06-17\n"))
    done = shop.run("verify", "--session", DOTTED)
    assert (done.returncode, f"NO  the tmux session {DOTTED} is there" in done.stdout) == (1, True)
    assert shop.stop("--mode", "hard", name=DOTTED).returncode == 0
    assert shop.run("verify", "--session", DOTTED).returncode == 0
    assert not alive(pid)


def test_K1_a_session_that_was_renamed_is_no_agent_without_a_row(house: House) -> None:
    shop = Shop(house)
    shop.list()
    shop.spawn(name="luna")
    house.tmux("rename-session", "-t", "=luna", "other")
    told = house.json("monitor", "--once", cwd=shop.folder)["drift"]
    assert "unlisted" not in [drift["class"] for drift in told], told
    shop.session("stranger-creator-claude")
    told = house.json("monitor", "--once", cwd=shop.folder)["drift"]
    assert [d["session"] for d in told if d["class"] == "unlisted"] == ["stranger-creator-claude"]
    assert shop.stop(name="luna").returncode == 0
    assert shop.row("luna")["status"] == "stopped"


# -- a soft stop -----------------------------------------------------------------------------------


def test_K1_M29_an_agent_that_was_let_go_is_an_orphan_and_not_alive_again(house: House) -> None:
    shop = Shop(house)
    shop.list()
    pid = shop.spawn(name="luna").processes[-1].pid
    shop.say("more", "luna")
    assert shop.stop("--mode", "soft", name="luna").returncode == 0
    listed = house.json("list", cwd=shop.folder)["agents"]
    told = house.json("monitor", "--once", cwd=shop.folder)["drift"]
    assert (listed, told) == ([], []), "the row says archived, and so it is"
    status = shop.run("status").stdout
    assert ("orphans: 1" in status, f"{pid} " in status, "drift" in status) == (True, True, False)
    assert shop.run("kill", "luna").returncode == 0
    assert not alive(pid)


@pytest.mark.parametrize("more", [("--graceful",), ("--grace", "5")])
@pytest.mark.parametrize("what", [("luna",), ("--session", NAME)])
def test_K8_a_soft_stop_takes_no_options_of_an_ending(
    house: House, what: tuple[str, ...], more: tuple[str, ...]
) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text())
    done = shop.run("stop", *what, "--mode", "soft", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"so {more[0]} has no effect" in done.stderr
    assert shop.file.read_text() == before


def test_K8_a_dry_run_of_a_soft_stop_says_that_it_would_let_go(house: House) -> None:
    shop = Shop(house)
    pid = shop.session().pid
    before = shop.list(shop.row_text())
    done = shop.stop("--mode", "soft", "--dry-run")
    assert f"Would let go of '{NAME}'" in done.stdout
    assert f"Would end '{NAME}'" in shop.stop("--mode", "hard", "--dry-run").stdout
    assert (alive(pid), shop.file.read_text()) == (True, before)


@pytest.mark.parametrize("option", [("--capture-id",), ("--reason", "timeout"), ("--graceful",)])
def test_M21_C1_a_stop_option_stops_where_soft_is_the_default(
    house: House, option: tuple[str, ...]
) -> None:
    shop = Shop(house)
    configure(house, '[stop]\ndefault_mode = "soft"\n')
    pid = shop.session().pid
    shop.list(shop.row_text())
    assert shop.stop(*option).returncode == 0
    assert (shop.row()["status"], alive(pid)) == ("stopped", False)
    assert shop.row()["termination_mode"] == ("graceful" if "--graceful" in option else "stop")


# -- an end whose ender ends with the agent --------------------------------------------------------


def member(house: House) -> Puppet:
    file = house.root / ".hermes" / "agent-sessions.yaml"
    file.parent.mkdir()
    file.write_text("tmux_sessions: []\n")
    return Puppet(house, "wendy", team="red", place="tmux", server="test", session="wendy")


def row_of_wendy(house: House) -> dict[str, Any]:
    from ruamel.yaml import YAML

    text = (house.root / ".hermes" / "agent-sessions.yaml").read_text()
    [row] = YAML(typ="safe", pure=True).load(text)["tmux_sessions"]
    return row


def test_K1_H52_M33_an_agent_that_stops_itself_is_stopped_in_its_row(house: House) -> None:
    leader(house)
    wendy = member(house)
    wendy.says("stop")
    gone(house, "wendy")
    row = row_of_wendy(house)
    assert (row["status"], row["stop_reason"]) == ("stopped", "self")
    assert row["termination_mode"] == "stop"
    assert row["stopped_at"].endswith("Z")
    assert row["stopped_at_epoch"] > 0
    assert house.json("show", "wendy")["outcome"] == "stopped"


@pytest.mark.parametrize("needs", ["60", "1"])
def test_K1_K3_T21_an_agent_that_leaves_as_asked_is_terminated_in_its_row(
    house: House, needs: str
) -> None:
    boss = leader(house)
    wendy = member(house)
    boss.asks("ask", "wendy")
    assert wendy.says("approve", "--needs", needs).code == 0
    if needs == "60":
        wendy.says("confirm")
    gone(house, "wendy")
    row = row_of_wendy(house)
    assert (row["status"], bool(row["terminated_at"])) == ("terminated", True)
    assert [view["name"] for view in house.json("list")["agents"]] == ["boss"]


# -- contradictions and numbers --------------------------------------------------------------------


@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "1e9"])
def test_K8_the_monitor_refuses_an_interval_that_makes_no_sense(house: House, seconds: str) -> None:
    done = house.run("monitor", "--once", "--interval", seconds)
    assert (done.returncode, "is not between 0.05 and 3600" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        ({"AGENT_ID": "luna", "CLEANUP": False, "FORCE_CLEANUP": True}, "FORCE_CLEANUP"),
        ({"ACTION": "kill_stalled", "CLEANUP": False, "FORCE_CLEANUP": True}, "FORCE_CLEANUP"),
        ({"AGENT_ID": "luna", "EVIDENCE": "heartbeat"}, "EVIDENCE"),
    ],
)
def test_K8_O15_a_json_command_refuses_what_contradicts_itself(
    house: House, params: dict[str, Any], wrong: str
) -> None:
    house.spawn(name="luna")
    done = house.run("invoke", "kill-stalled-agent", json.dumps(params))
    told = json.loads(done.stdout)
    assert (done.returncode, told["error"], told["parameter"]) == (1, "invalid_parameter", wrong)
    assert [view["name"] for view in house.json("list")["agents"]] == ["luna"]
