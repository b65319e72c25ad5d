"""M16 to M20, M35: what is looked at before anything is done. Bad names and bad rows."""

import sys

import pytest

from contracts.m_scenes import NAME, Shop, at_terminal, notes_of
from house import House, alive, eventually

OLD = "2026-06-17T10:00:00Z"
ENDED = f"  terminated_at: '{OLD}'\n  terminated_at_epoch: 1781690400\n"
NOT_LISTED = (
    "NOT in YAML — refusing to {} (no audit trail). Use tmux-agent-orchestrate-create first, "
    "or pass --force-no-yaml."
)


@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_M16_M35_a_session_without_a_row_is_refused(house: House, verb: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text("another"))
    done = shop.run(verb, "--session", NAME)
    assert (done.returncode, alive(claude.pid)) == (1, True)
    assert done.stdout == NOT_LISTED.format(verb) + "\n"
    assert (notes_of(house, claude.pid)[1:], shop.file.read_text()) == ([], before)


def test_M16_so_it_is_without_any_file(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    done = shop.delete()
    assert (done.returncode, alive(claude.pid), shop.file.exists()) == (1, True, False)
    assert done.stdout == NOT_LISTED.format("delete") + "\n"


def test_M17_force_no_yaml_ends_it_all_the_same(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text("another"))
    env = house.env | {"TMUX_SERVER_NAME": "test"}
    done = shop.run("delete", "--session", NAME, "--force-no-yaml", env=env)
    assert (done.returncode, alive(claude.pid)) == (0, False)
    assert shop.file.read_text() == before
    assert house.json("receipt", NAME)["outcome"] == "terminated"


def test_M17_without_a_server_it_means_the_usual_one(house: House) -> None:
    shop = Shop(house)
    named, usual = shop.session(server="test"), shop.session(server="default")
    assert shop.stop("--force-no-yaml").returncode == 0
    assert (alive(named.pid), alive(usual.pid)) == (True, False)
    assert notes_of(house, usual.pid)[1:] == [["left", "exit"]]


@pytest.mark.parametrize("listed", [True, False])
def test_M17_what_is_nowhere_cannot_be_ended(house: House, listed: object) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text("another")) if listed else ""
    done = shop.stop("--force-no-yaml")
    assert (done.returncode, f"'{NAME}' not found" in done.stderr) == (1, True)
    assert not listed or shop.file.read_text() == before


@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_M18_a_terminated_row_is_said_and_left(house: House, verb: str) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text(status="terminated", more=ENDED))
    done = shop.run(verb, "--session", NAME)
    assert done.stdout.splitlines() == [
        f"Already terminated at {OLD}",
        "Re-running will just refresh the timestamp. Continue? (--yes to skip)",
    ]
    assert (done.returncode, shop.file.read_text()) == (0, before)


@pytest.mark.parametrize(("answer", "written"), [("y\n", True), ("n\n", False)])
def test_M18_a_person_is_asked(house: House, answer: str, written: object) -> None:
    shop = Shop(house)
    shop.list(shop.row_text(status="terminated", more=ENDED))
    code, screen = at_terminal(shop, answer, "delete", "--session", NAME)
    assert code == 0
    assert f"Already terminated at {OLD}" in screen
    assert "Re-running will just refresh the timestamp. Continue? (--yes to skip)" in screen
    assert (shop.row()["terminated_at_epoch"] > 1781690400) == written
    assert ("delete complete" in screen) == written


def test_M19_yes_skips_the_question_and_refreshes_the_time(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text(status="terminated", more=ENDED))
    before = shop.row()
    done = shop.delete("--yes")
    row = shop.row()
    assert (done.returncode, "Continue?" in done.stdout) == (0, False)
    assert row.pop("terminated_at_epoch") > before.pop("terminated_at_epoch")
    assert row.pop("terminated_at") > before.pop("terminated_at")
    assert row == before


def test_M19_a_session_that_lives_though_its_row_says_terminated_is_ended(house: House) -> None:
    """What the row says is old; `tmux already dead` would be a lie."""
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(status="terminated", more=ENDED))
    done = shop.delete("--yes")
    assert (done.returncode, alive(claude.pid), shop.has_session()) == (0, False, False)
    assert "tmux already dead" not in done.stdout
    assert shop.row()["terminated_at_epoch"] > 1781690400


@pytest.mark.parametrize("status", ["  status: null\n", "  status:\n", ""])
def test_M20_a_missing_status_is_unknown_and_can_be_ended(house: House, status: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(f"- name: {NAME}\n{status}  tmux_server: test\n")
    assert shop.delete().returncode == 0
    assert (alive(claude.pid), shop.row()["status"]) == (False, "terminated")


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pane", ["", "  pane:\n", "  pane: {}\n", "  pane: {pid: no, id: 7}\n"])
def test_M35_a_row_without_a_pane_is_found_by_its_session(house: House, pane: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(f"- name: {NAME}\n  status: running\n  tmux_server: test\n{pane}")
    assert shop.delete().returncode == 0
    assert (alive(claude.pid), shop.row()["status"]) == (False, "terminated")


def test_M35_a_session_that_is_there_twice_is_refused_with_both_lines(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text(), shop.row_text())
    done = shop.delete()
    assert (done.returncode, alive(claude.pid), shop.file.read_text()) == (1, True, before)
    assert "line 5 and on line 16" in done.stderr


@pytest.mark.parametrize("meant", ["shop-creator-claude", "shop-creator-claude-2", "shop"])
def test_M35_a_name_that_begins_like_another_means_only_itself(house: House, meant: str) -> None:
    shop = Shop(house)
    names = ("shop", "shop-creator-claude", "shop-creator-claude-2")
    agents = {name: shop.session(name).pid for name in names}
    shop.list(*(shop.row_text(name) for name in names))
    assert shop.delete(name=meant).returncode == 0
    assert [name for name, pid in agents.items() if not alive(pid)] == [meant]
    assert [name for name in names if shop.row(name)["status"] == "terminated"] == [meant]


def test_M35_the_beginning_of_a_name_is_nobody(house: House) -> None:
    """tmux itself would take `shop` for the session that begins so."""
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(), shop.row_text("shop"))
    done = shop.delete(name="shop")
    assert (done.returncode, alive(claude.pid)) == (0, True)
    assert "tmux already dead" in done.stdout


def test_M35_a_pane_of_before_a_restart_is_somebody_elses(house: House) -> None:
    """The row's %0 is another session's by now; which of its own two is meant, nobody knows."""
    shop = Shop(house)
    stranger = shop.session("stranger")
    shop.shell(NAME)
    house.tmux("split-window", "-d", "-t", f"={NAME}:", "sleep", "1000")
    theirs = house.tmux("list-panes", "-t", "=stranger:", "-F", "#{pane_id}").strip()
    row = f"- name: {NAME}\n  status: running\n  tmux_server: test\n"
    before = shop.list(f"{row}  pane: {{id: '{theirs}', pid: {stranger.pid}}}\n")
    done = shop.delete()
    assert (done.returncode, alive(stranger.pid), shop.has_session()) == (1, True, True)
    assert "ambiguous" in done.stderr
    assert (notes_of(house, stranger.pid)[1:], shop.file.read_text()) == ([], before)


def test_M35_among_several_panes_the_agents_is_meant(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    split = ("split-window", "-d", "-P", "-F", "#{pane_pid}", "-t", f"={NAME}:", "sleep", "1000")
    other = int(house.tmux(*split))
    shop.list(shop.row_text())
    done = shop.stop()
    assert (done.returncode, alive(claude.pid), alive(other)) == (0, False, True)
    assert f"the tmux session {NAME} still runs: it has another pane" in done.stderr
    assert shop.row()["status"] == "stopped"


def test_M35_session_and_a_target_are_one_too_many(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    done = shop.run("stop", "luna", "--session", NAME)
    assert (done.returncode, alive(claude.pid)) == (2, True)


@pytest.mark.parametrize("reason", ["two\nlines", "bell\a", "x" * 201, "\x1b[2J"])
def test_M23_a_reason_is_one_line_of_text(house: House, reason: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text())
    done = shop.stop("--reason", reason)
    assert (done.returncode, alive(claude.pid), shop.file.read_text()) == (2, True, before)
    assert "a reason is one line" in done.stderr


def test_M35_whoever_runs_in_the_session_cannot_end_it_from_inside(house: House) -> None:
    """It would end itself in the middle; the file would never hear of it."""
    shop = Shop(house)
    shop.shell(NAME)
    before = shop.list(shop.row_text())
    delete = f"{sys.executable} -m knell delete --session {NAME}; echo code $?"
    house.tmux("send-keys", "-t", f"={NAME}:", delete, "Enter")
    eventually(lambda: "code 1" in shop.screen())
    assert "runs this command" in shop.screen()
    assert shop.file.read_text() == before
