"""M44, M46, M47, M57, C17: what the file says against what is there, and who may mend it."""

import json
import os
import signal
from typing import Any

import pytest

from contracts.m_scenes import AGY, NAME, Shop, claude_file, files_below, ready
from house import House, alive, eventually
from scenes import state_letter


def watch(shop: Shop, *options: str) -> list[dict[str, Any]]:
    done = shop.run("watch", "--once", "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["drift"]


def drift(shop: Shop, *options: str) -> list[tuple[str, str, str]]:
    return [(one["class"], one["session"], one["done"]) for one in watch(shop, *options)]


# -- a stop of what is dead already ---------------------------------------------------------------


@pytest.mark.parametrize("how", ["no server", "no session", "crash"])
@pytest.mark.parametrize(
    ("way", "status"), [("hard", "terminated"), ("graceful", "stopped"), ("soft", "archived")]
)
def test_M44_a_row_that_outlived_its_session_is_brought_up_to_date(
    house: House, how: str, way: str, status: str
) -> None:
    shop = Shop(house)
    if how == "no session":
        shop.session("another")
    elif how == "crash":
        claude = shop.session()
        os.kill(claude.pid, signal.SIGKILL)
        eventually(lambda: not shop.has_session())
    shop.list(shop.row_text())
    done = shop.stop("--mode", way)
    assert (done.returncode, shop.row()["status"]) == (0, status)
    assert done.stdout.splitlines() == ["tmux already dead, just update YAML", "stop complete"]


def test_M44_the_number_in_the_row_is_somebody_elses_by_now(house: House) -> None:
    shop = Shop(house)
    other = house.process("sleep", "1000")
    shop.list(shop.row_text(pid=other.pid))
    assert shop.delete().returncode == 0
    assert (other.poll(), shop.row()["pane"]["pid"]) == (None, other.pid)
    other.kill()
    other.wait()


def test_M44_an_agent_of_knells_that_died_by_itself(house: House) -> None:
    shop = Shop(house)
    luna = shop.spawn()
    assert luna.process
    shop.list(shop.row_text("luna"))
    os.kill(luna.process.pid, signal.SIGKILL)
    eventually(lambda: not shop.has_session("luna"))
    done = shop.delete(name="luna")
    assert (done.returncode, shop.row("luna")["status"]) == (0, "terminated")


def test_M44_M46_a_tmux_that_does_not_answer_is_not_a_dead_one(house: House) -> None:
    """Not seeing is not dying: the row stays, and the command says that it could not look."""
    shop = Shop(house)
    claude = shop.session()
    server = int(house.tmux("display-message", "-p", "#{pid}"))
    before = shop.list(shop.row_text())
    os.kill(server, signal.SIGSTOP)
    try:
        eventually(lambda: state_letter(server) == "T")
        done = shop.delete()
        seen = drift(shop)
    finally:
        os.kill(server, signal.SIGCONT)
    assert (done.returncode, shop.file.read_text(), alive(claude.pid)) == (1, before, True)
    assert "did not answer" in done.stderr
    assert seen == [("unseen", NAME, "")]


# -- the watch ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["running", "null"])
def test_M46_the_watch_marks_a_dead_row_terminated(house: House, status: str) -> None:
    shop = Shop(house)
    shop.list(shop.row_text(status=status))
    assert drift(shop) == [("dead", NAME, "terminated")]
    row = shop.row()
    assert (row["status"], row["termination_mode"]) == ("terminated", "auto-detected")
    assert row["terminated_at"]
    assert isinstance(row["terminated_at_epoch"], int)
    assert drift(shop) == []


def test_M46_a_row_whose_session_lives_is_left(house: House) -> None:
    shop = Shop(house)
    shop.session(NAME, "silent")
    before = shop.list(shop.row_text())
    assert (drift(shop), shop.file.read_text()) == ([], before)


def test_M46_watch_and_stop_do_not_fight(house: House) -> None:
    """The watch comes first, and the stop has nothing left to do."""
    shop = Shop(house)
    shop.list(shop.row_text())
    drift(shop)
    before = shop.file.read_text()
    done = shop.delete()
    assert (done.returncode, shop.file.read_text()) == (0, before)
    assert "Already terminated at" in done.stdout


@pytest.mark.parametrize("mode", ["graceful", "hard", "soft"])
def test_M47_C17_an_end_that_was_decided_stays(house: House, mode: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    shop.stop("--mode", mode)
    if mode == "soft":
        house.tmux("kill-server")
        eventually(lambda: not alive(claude.pid))
    before = shop.file.read_text()
    assert (drift(shop), shop.file.read_text()) == ([], before)


def test_M47_a_stop_that_could_not_be_written_is_written_as_a_stop_later(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    shop.file.chmod(0o444)
    assert shop.stop("--reason", "api_error").returncode == 1
    shop.file.chmod(0o644)
    assert (alive(claude.pid), shop.row()["status"]) == (False, "running")
    assert drift(shop) == [("dead", NAME, "stopped")]
    assert (shop.row()["status"], shop.row()["stop_reason"]) == ("stopped", "api_error")


def test_C17_only_a_resume_leads_out_of_an_end(house: House) -> None:
    """A session of that name lives again: the watch still leaves the row."""
    shop = Shop(house)
    shop.session(NAME, "silent")
    before = shop.list(shop.row_text(status="stopped"))
    drift(shop)
    assert shop.file.read_text() == before


def test_C17_a_stop_that_could_not_be_written_is_written_later(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text())
    shop.file.chmod(0o444)
    assert shop.stop("--reason", "user_request").returncode == 1
    assert (alive(claude.pid), shop.file.read_text()) == (False, before)
    shop.file.chmod(0o644)
    assert drift(shop) == [("dead", NAME, "stopped")]
    assert (shop.row()["status"], shop.row()["stop_reason"]) == ("stopped", "user_request")


@pytest.mark.parametrize("ours", [True, False])
def test_M46_a_session_without_a_row_is_reported(house: House, ours: object) -> None:
    shop = Shop(house)
    if ours:
        shop.spawn(name="luna")
    else:
        shop.session("luna")
    house.tmux("new-session", "-d", "-s", "desk", "sleep", "1000")  # a person's own
    shop.session()
    before = shop.list(shop.row_text())
    found = [one for one in drift(shop, "--dry-run") if one[0] == "unlisted"]
    assert (found, shop.file.read_text()) == ([("unlisted", "luna", "")], before)


@pytest.mark.parametrize("ours", [True, False])
def test_M46_a_conversation_that_is_not_recorded_is_recorded(house: House, ours: object) -> None:
    shop = Shop(house)
    if ours:
        shop.spawn(name=NAME)
    else:
        shop.session()
    shop.list(shop.row_text())
    assert drift(shop) == [("conversation", NAME, "recorded")]
    assert shop.row()["claude_session_id_own"] == ready(house)[0].conversation
    assert (shop.row()["status"], drift(shop)) == ("running", [])


@pytest.mark.parametrize("ours", [True, False])
def test_M46_one_in_which_nothing_was_said_is_none(house: House, ours: object) -> None:
    shop = Shop(house)
    if ours:
        shop.spawn(habits="silent", name=NAME)
    else:
        shop.session(NAME, "silent")
    before = shop.list(shop.row_text())
    assert (drift(shop), shop.file.read_text()) == ([], before)


def test_M46_clear_begins_another_conversation(house: House) -> None:
    shop = Shop(house)
    luna = shop.spawn(name=NAME)
    shop.list(shop.row_text())
    drift(shop)
    assert luna.process
    new = "00000000-0000-4000-8000-000000000000"
    claude_file(shop, new).write_text('{"text": "anew"}\n')
    note = house.home / ".claude" / "sessions" / f"{luna.process.pid}.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "sessionId": new}))
    assert drift(shop) == [("conversation", NAME, "recorded")]
    assert shop.row()["claude_session_id_own"] == new
    assert house.json("show", NAME)["conversation"] == new


def test_M46_a_dry_run_changes_nothing(house: House) -> None:
    shop = Shop(house)
    shop.session()
    before = shop.list(shop.row_text(), shop.row_text(AGY))
    files = files_below(shop.folder)
    assert drift(shop, "--dry-run") == [("conversation", NAME, ""), ("dead", AGY, "")]
    assert (shop.file.read_text(), files_below(shop.folder)) == (before, files)


def test_M46_for_people_it_is_one_line_each(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text())
    done = shop.run("watch", "--once")
    assert done.stdout.split()[:2] == ["dead", f"{NAME}:"]
    assert done.stdout.endswith("→ terminated\n")
    assert (
        shop.run("watch", "--once").stderr == "no drift: registry file, store and machine agree\n"
    )


def test_M46_a_broken_file_is_said_and_left(house: House) -> None:
    shop = Shop(house)
    shop.file.write_text("tmux_sessions: [")
    done = shop.run("watch", "--once")
    assert (done.returncode, shop.file.read_text()) == (1, "tmux_sessions: [")
    assert "line 1" in done.stderr


# -- the status view ------------------------------------------------------------------------------


def test_M57_stopped_sessions_are_shown_as_such(house: House) -> None:
    shop = Shop(house)
    shop.session()
    shop.list(shop.row_text())
    shop.stop()
    line = next(line for line in shop.run("list", "--all").stdout.splitlines() if NAME in line)
    assert "ended: stopped" in line
    assert "1 stopped" in shop.run("status").stdout
    assert house.json("status")["outcomes"] == {"stopped": 1}
