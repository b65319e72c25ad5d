"""K1, K2: the registry file says what runs, whoever wrote it; its companions create and monitor."""

import re
from pathlib import Path
from typing import Any

import pytest

from contracts.m_scenes import NAME, OWN, Shop, ready
from house import House, alive, eventually
from knell.core.agent import derived_session_name

ENDED = "  terminated_at: '2026-06-17T10:00:00Z'\n  terminated_at_epoch: 1781690400\n"
WHERE = ("--in", "tmux", "--tmux-server", "test", "--session", NAME)
SKILLS = Path(__file__).parents[2] / "src/knell/plugin/skills"
TEMPLATE = "tmux-agent-orchestrate-{}"


def drifts(shop: Shop, *options: str) -> list[tuple[str, str, str]]:
    found = shop.house.json("watch", "--once", *options, cwd=shop.folder)["drift"]
    return [(one["class"], one["session"], one["done"]) for one in found]


def listed(shop: Shop, *options: str) -> dict[str, Any]:
    found = shop.house.json("list", *options, cwd=shop.folder)["agents"]
    return {one["name"]: one for one in found}


# -- K1: spawn, resume and adopt write the row ----------------------------------------------------


def test_K1_a_spawn_over_a_row_that_says_terminated_can_be_stopped(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text(status="terminated", more=ENDED))
    done = shop.run("spawn", *WHERE, "--name", "fresh", "claude")
    assert (done.returncode, done.stderr) == (0, "")
    claude = eventually(lambda: ready(house))[0]
    row = shop.row()
    assert (row["status"], "terminated_at" in row, row["start_command"]) == (
        "running", False, "claude",
    )  # fmt: skip
    pane = house.tmux("list-panes", "-t", f"={NAME}:", "-F", "#{pane_id}").strip()
    assert (row["pane"]["id"], row["pane"]["pid"]) == (pane, claude.pid)
    assert shop.stop().returncode == 0
    assert (alive(claude.pid), shop.row()["status"]) == (False, "stopped")
    assert shop.run("spawn", *WHERE, "--name", "fresh", "claude").returncode == 0
    again = eventually(lambda: ready(house)[1:])[0]
    assert shop.row()["status"] == "running"
    assert shop.stop("--mode", "hard").returncode == 0
    assert (alive(again.pid), shop.row()["status"]) == (False, "terminated")


def test_K1_an_agent_in_tmux_gets_a_row(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text("another", status="stopped"))
    done = shop.run(
        "spawn", *WHERE, "--name", "fresh", "--role", "creator", "claude", "--model", "x"
    )
    assert done.returncode == 0
    claude = eventually(lambda: ready(house))[0]
    row = shop.row()
    wanted = {"status": "running", "tmux_server": "test", "start_command": "claude --model x"}
    assert {key: row[key] for key in wanted} == wanted
    assert (row["role"], row["mcp_attachments"], row[OWN["claude"]]) == ("creator", [], None)
    assert (row["pane"]["pid"], row["pane"]["cmd"]) == (claude.pid, "claude")
    assert Path(row["pane"]["cwd"]).samefile(shop.folder)
    assert drifts(shop) == [("conversation", NAME, "recorded")]
    shop.run("spawn", "--in", "tmux", "-L", "test", "--name", "extra", "--", "sleep", "99")
    assert shop.row("extra")["start_command"] == "sleep 99"
    assert drifts(shop) == []
    house.kill("extra")
    assert shop.row("extra")["status"] == "terminated"


def test_K1_two_agents_in_one_session_have_a_row_each(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text("another", status="stopped"))
    done = shop.run("spawn", *WHERE, "--count", "2", "--name", "pair", "--", "sleep", "99")
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["name"] for row in shop.data()["tmux_sessions"]] == ["another", NAME, "pair-2"]
    house.kill("pair-1")
    assert [shop.row(name)["status"] for name in (NAME, "pair-2")] == ["terminated", "running"]
    assert drifts(shop) == []
    house.kill("pair-2")
    assert shop.row("pair-2")["status"] == "terminated"


def test_K1_adopt_writes_the_row_too(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(status="stopped", more="  stopped_at: x\n"))
    assert shop.run("adopt", NAME, "-L", "test", "--name", "luna").returncode == 0
    row = shop.row()
    assert (row["status"], row["pane"]["pid"], "stopped_at" in row) == (
        "running", claude.pid, False,
    )  # fmt: skip


def test_K1_no_row_without_a_registry_file_and_none_for_the_headless(house: House) -> None:
    shop = Shop(house)
    shop.run("spawn", *WHERE, "--name", "one", "claude")
    assert not shop.file.exists()
    before = shop.list(shop.row_text("another", status="stopped"))
    shop.run("spawn", "--in", "headless", "--name", "two", "--", "sleep", "99")
    assert shop.file.read_text() == before


# -- K1: a row that says ended while its agent lives ----------------------------------------------


@pytest.mark.parametrize("status", ["terminated", "stopped"])
def test_K1_a_live_session_whose_row_says_ended_is_drift_and_is_ended(
    house: House, status: str
) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text(status=status, more=ENDED))
    assert drifts(shop) == [("alive", NAME, "")]
    assert shop.file.read_text() == before
    assert f"the row says {status}" in shop.run("status").stdout
    assert shop.stop("--mode", "hard").returncode == 0
    assert (alive(claude.pid), shop.row()["status"]) == (False, "terminated")
    assert drifts(shop) == []


def test_K1_the_row_of_a_live_agent_of_knells_is_mended(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text("another", status="stopped"))
    shop.run("spawn", *WHERE, "--name", "fresh", "claude")
    claude = eventually(lambda: ready(house))[0]
    shop.file.write_text(shop.file.read_text().replace("status: running", "status: terminated"))
    assert ("alive", NAME, "") in drifts(shop, "--dry-run")
    assert ("alive", NAME, "running") in drifts(shop)
    assert shop.row()["status"] == "running"
    assert alive(claude.pid)


# -- K1, M15: create and monitor ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workspace", "agent", "name"),
    [
        ("/srv/landing_page/refer_landing_page", "claude",
         "landing-page-refer-landing-page-creator-claude"),
        ("/srv/Shop", "agy", "srv-shop-creator-agy"),
        ("/x", "claude", "x-creator-claude"),
    ],
)  # fmt: skip
def test_M15_the_sessions_name_is_derived(workspace: str, agent: str, name: str) -> None:
    assert derived_session_name(workspace, agent) == name


def test_K1_create_makes_file_row_and_session_and_relaunches_what_stopped(house: House) -> None:
    shop = Shop(house)
    name = derived_session_name(str(shop.folder), "claude")
    create = ("create", "--tmux-server", "test", "--role", "creator")
    done = shop.run(*create, "--agent", "claude", "--", "--model", "opus")
    assert (done.returncode, done.stderr) == (0, "")
    claude = eventually(lambda: ready(house))[0]
    assert shop.has_session(name)
    assert name in done.stdout
    row = shop.row(name)
    assert (row["status"], row["start_command"]) == ("running", "claude --model opus")
    again = shop.run("create", "--session", name)
    assert again.returncode == 1
    assert f"knell stop --session {name}" in again.stderr
    assert shop.stop("--mode", "hard", name=name).returncode == 0
    assert not alive(claude.pid)
    done = shop.run("create", "--session", name)
    assert (done.returncode, done.stderr) == (0, "")
    second = eventually(lambda: ready(house)[1:])[0]
    assert b"--model\0opus" in Path(f"/proc/{second.pid}/cmdline").read_bytes()
    assert (shop.row(name)["status"], shop.row(name)["tmux_server"]) == ("running", "test")


def test_K1_create_needs_an_agent_or_a_row(house: House) -> None:
    shop = Shop(house)
    done = shop.run("create")
    assert done.returncode == 2
    assert "--agent" in done.stderr
    assert not shop.file.exists()


def test_K1_monitor_reports_and_mends_drift(house: House) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text())
    done = shop.run("monitor", "--once", "--dry-run")
    assert (done.returncode, shop.file.read_text()) == (0, before)
    assert NAME in done.stdout
    done = shop.run("monitor", "--once")
    assert (done.returncode, shop.row()["status"]) == (0, "terminated")
    assert shop.house.json("monitor", "--once", cwd=shop.folder) == {"drift": []}


@pytest.mark.parametrize("word", ["create", "resume", "monitor", "status", "stop", "delete"])
def test_K1_each_companion_is_a_skill_whose_commands_exist(house: House, word: str) -> None:
    text = (SKILLS / TEMPLATE.format(word) / "SKILL.md").read_text()
    assert text.startswith(f"---\nname: {TEMPLATE.format(word)}\ndescription: ")
    commands = re.findall(r"^knell .*", text, re.MULTILINE)
    assert any(line.startswith(f"knell {word}") for line in commands)
    for line in commands:
        words = line.partition("#")[0].partition(" -- ")[0].split()
        known = house.run(words[1], "--help").stdout
        for option in [
            one.partition("=")[0] for one in words if one.startswith("--") and one != "--"
        ]:
            assert option in known, line


# -- K2: rows written by hand ---------------------------------------------------------------------


def test_K2_C22_list_show_and_status_see_rows_that_others_wrote(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    gone = shop.row_text("old-creator-agy", status="stopped", more="  stopped_at: '2026-06-19'\n")
    before = shop.list(shop.row_text(), gone)
    found = listed(shop)
    assert set(found) == {NAME}
    one = found[NAME]
    assert (one["kind"], one["state"], one["pid"], one["place"]) == (
        "claude", "running", claude.pid, "tmux",
    )  # fmt: skip
    assert one["note_code"] == "only_in_registry"
    both = listed(shop, "--all")
    assert (both["old-creator-agy"]["state"], both["old-creator-agy"]["outcome"]) == (
        "ended", "stopped",
    )  # fmt: skip
    assert NAME in shop.run("list").stdout
    assert NAME in shop.run("status").stdout
    shown = house.json("show", NAME, cwd=shop.folder)
    assert (shown["name"], shown["kind"], shown["pid"]) == (NAME, "claude", claude.pid)
    assert f"knell stop --session {NAME}" in shop.run("show", NAME).stdout
    assert (shop.file.read_text(), alive(claude.pid)) == (before, True)


def test_K2_C22_what_knell_started_is_listed_once(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text("another", status="stopped"))
    shop.run("spawn", *WHERE, "--name", "fresh", "claude")
    assert set(listed(shop)) == {"fresh"}
    assert set(listed(shop, "--all")) == {"fresh", "another"}


def test_K2_a_file_that_cannot_be_read_hides_no_agent(house: House) -> None:
    shop = Shop(house)
    shop.run("spawn", "--in", "headless", "--name", "luna", "--", "sleep", "99")
    shop.file.write_text("tmux_sessions: {\n")
    done = shop.run("list")
    assert (done.returncode, "luna" in done.stdout) == (0, True)
    assert shop.run("status").returncode == 0


def test_K2_a_start_command_with_an_open_quote_is_read_by_its_words(house: House) -> None:
    shop = Shop(house)
    row = shop.row_text(status="stopped")
    shop.list(row.replace("'claude --model   opus'", '"claude \'half"'))
    for words in (("list", "--all"), ("show", NAME), ("status",)):
        done = shop.run(*words)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_P16_a_row_whose_command_held_a_secret_is_not_started_from_the_rest(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text(status="stopped").replace("--model   opus", "--key [redacted]"))
    done = shop.run("create", "--session", NAME)
    assert (done.returncode, "held a secret" in done.stderr) == (2, True), done.stderr
