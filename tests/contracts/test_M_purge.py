"""M14, M31, M39, M50, C15, C16: the conversation is deleted, when that was said twice."""

import re
import uuid
from pathlib import Path

import pytest

from contracts.m_scenes import (
    AGY,
    NAME,
    Shop,
    Started,
    agy_file,
    at_terminal,
    claude_file,
    files_below,
    notes_of,
)
from house import House, alive, eventually

PURGE = ("--purge-conversation", "--yes")


def played(house: House, name: str = NAME) -> tuple[Shop, Started, Path]:
    shop = Shop(house)
    agent = shop.session(name)
    shop.list(shop.row_text(name))
    return shop, agent, (agy_file if name == AGY else claude_file)(shop, agent.conversation)


def dead(house: House, pid: int) -> None:
    """The machine was restarted, as far as tmux is concerned."""
    house.tmux("kill-server")
    eventually(lambda: not alive(pid))


def test_M14_M39_of_claude_the_file_and_what_belongs_to_it(house: House) -> None:
    shop, claude, file = played(house)
    beside = file.with_name(f"{uuid.uuid4()}.jsonl")
    beside.write_text("{}\n")
    extra = file.with_suffix("") / "subagents" / "one.jsonl"
    extra.parent.mkdir(parents=True)
    extra.write_text("{}\n")
    done = shop.delete(*PURGE)
    assert (done.returncode, alive(claude.pid)) == (0, False)
    assert (file.exists(), extra.parent.parent.exists(), beside.exists()) == (False, False, True)


def test_M14_M39_of_agy_the_database_and_its_brain(house: House) -> None:
    shop, agy, file = played(house, AGY)
    journal = file.with_name(f"{file.name}-wal")
    journal.write_text("")
    brain = file.parent.parent / "brain" / agy.conversation
    other = brain.with_name("other")
    other.mkdir()
    assert brain.is_dir()
    assert shop.delete(*PURGE, name=AGY).returncode == 0
    assert not any(path.exists() for path in (file, journal, brain))
    assert other.exists()


def test_M14_after_that_nobody_can_resume_it(house: House) -> None:
    shop, claude, _ = played(house)
    shop.delete(*PURGE)
    done = shop.run("resume", NAME)
    assert (done.returncode, claude.conversation in done.stderr) == (1, True)
    assert shop.row()["status"] == "terminated"


@pytest.mark.parametrize("end", ["running", "stopped", "terminated", "archived", "dead"])
def test_M31_any_state_can_be_purged(house: House, end: str) -> None:
    shop, claude, file = played(house)
    first = {"stopped": "graceful", "terminated": "hard", "archived": "soft"}.get(end)
    if first:
        assert shop.stop("--mode", first, "--capture-id").returncode == 0
    elif end == "dead":
        shop.file.write_text(shop.file.read_text().replace("null", claude.conversation))
        dead(house, claude.pid)
    assert file.exists()
    done = shop.stop(*PURGE)
    assert (done.returncode, file.exists(), alive(claude.pid)) == (0, False, False)
    assert shop.row()["resumable"] is False
    assert done.stdout.splitlines()[-1] == "stop complete"


def test_M31_also_by_the_name_of_an_agent(house: House) -> None:
    shop = Shop(house)
    shop.spawn()
    shop.list(shop.row_text("luna"))
    file = claude_file(shop, house.json("show", "luna")["conversation"])
    assert file.exists()
    assert shop.run("stop", "luna", *PURGE).returncode == 0
    assert (file.exists(), shop.row("luna")["resumable"]) == (False, False)


def test_M31_the_id_of_a_row_whose_agent_knell_never_saw(house: House) -> None:
    shop, claude, file = played(house)
    dead(house, claude.pid)
    shop.list(shop.row_text(status="terminated").replace("null", claude.conversation))
    assert shop.delete(*PURGE).returncode == 0
    assert not file.exists()


@pytest.mark.parametrize("by", ["session", "name"])
def test_M39_a_row_that_names_another_conversation_is_not_called_purged(
    house: House, by: str
) -> None:
    """After /clear the agent is in another one than its row says: that one can still be resumed."""
    shop, _, file = played(house)
    other = file.with_name(f"{uuid.uuid4()}.jsonl")
    other.write_bytes(file.read_bytes())
    shop.file.write_text(shop.file.read_text().replace("null", other.stem))
    if by == "name":
        assert shop.stop().returncode == 0
        shop.file.write_text(shop.file.read_text().replace(file.stem, other.stem))
    done = shop.delete(*PURGE) if by == "session" else shop.run("stop", NAME, *PURGE)
    assert (file.exists(), other.exists()) == (False, True)
    assert (done.returncode, shop.row().get("resumable")) == (1, None if by == "session" else True)
    assert f"its row names {other.stem}, which is still there" in done.stderr
    assert "purged_at" not in shop.row()


def test_M31_an_agent_that_lives_on_keeps_its_conversation(house: House) -> None:
    shop, claude, file = played(house)
    for _ in range(2):  # let go of now, and before
        done = shop.stop("--mode", "soft", *PURGE)
        assert (done.returncode, alive(claude.pid), file.exists()) == (1, True, True)
        assert "its conversation was not deleted" in done.stderr
    assert "resumable" not in shop.row()


def test_C16_the_status_stays_and_the_purge_is_recorded(house: House) -> None:
    shop, claude, file = played(house)
    shop.stop("--capture-id", *PURGE)
    row = shop.row()
    assert (row["status"], row["resumable"]) == ("stopped", False)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row["purged_at"])
    assert row["purged_paths"] == str(file)
    events = [
        e["data"] for e in house.json("events")["events"] if e["type"] == "conversation.purged"
    ]
    assert [e["conversation"] for e in events] == [claude.conversation]
    assert events[0]["purged_paths"] == [str(file)]


def test_C15_nobody_there_to_ask_means_no(house: House) -> None:
    shop, claude, file = played(house)
    before = shop.file.read_text()
    done = shop.delete("--purge-conversation")
    assert (done.returncode, alive(claude.pid), file.exists()) == (1, True, True)
    assert "--yes" in done.stderr
    assert (notes_of(house, claude.pid)[1:], shop.file.read_text()) == ([], before)


@pytest.mark.parametrize(("answer", "code", "there"), [("y\n", 0, False), ("n\n", 1, True)])
def test_C15_a_person_is_asked(house: House, answer: str, code: int, there: object) -> None:
    shop, claude, file = played(house)
    done, screen = at_terminal(shop, answer, "delete", "--session", NAME, "--purge-conversation")
    assert (done, file.exists(), alive(claude.pid)) == (code, there, there)
    assert "Delete the conversation for good?" in screen


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR"])
def test_M50_the_environment_may_move_the_conversations(house: House, variable: str) -> None:
    elsewhere = house.root / "elsewhere" / "projects"
    is_root = variable == "CLAUDE_PROJECT_DIR"
    house.env[variable] = str(elsewhere if is_root else elsewhere.parent)
    shop, claude, usual = played(house)
    moved = elsewhere / usual.parent.name / usual.name
    usual.parent.mkdir(parents=True)
    usual.write_text("{}\n")
    assert moved.exists()
    assert shop.delete(*PURGE).returncode == 0
    assert (moved.exists(), usual.exists(), alive(claude.pid)) == (False, True, False)


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", ["''", "null", "'../..'", "'*'", "'.'"])
def test_M39_an_empty_or_evil_id_deletes_nothing(house: House, own: str) -> None:
    shop, claude, _ = played(house)
    dead(house, claude.pid)
    shop.list(shop.row_text(status="terminated").replace("null", own))
    before = files_below(house.home)
    done = shop.delete(*PURGE)
    assert before
    assert files_below(house.home) == before
    assert shop.row().get("purged_paths", "") == ""
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("link", ["file", "folder"])
def test_M39_a_link_out_of_the_root_is_not_followed(house: House, link: str) -> None:
    shop, mine = Shop(house), str(uuid.uuid4())
    file, outside = claude_file(shop, mine), house.root / "outside"
    outside.mkdir()
    file.parent.parent.mkdir(parents=True)
    if link == "folder":
        file.parent.symlink_to(outside)
        (outside / file.name).write_text('{"text": "precious"}\n')
    else:
        file.parent.mkdir()
        (outside / "precious").write_text('{"text": "precious"}\n')
        file.symlink_to(outside / "precious")
    before = files_below(outside)
    shop.session(args=f"--session-id {mine}")
    shop.list(shop.row_text())
    done = shop.delete(*PURGE)
    assert files_below(outside) == before
    assert (done.returncode, "not deleted" in done.stderr) == (1, True)
    assert not {"purged_at", "resumable"} & set(shop.row())


def test_M39_a_link_inside_what_is_deleted_loses_only_itself(house: House) -> None:
    shop, _, file = played(house)
    outside = house.root / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    file.with_suffix("").mkdir()
    (file.with_suffix("") / "link").symlink_to(outside)
    assert shop.delete(*PURGE).returncode == 0
    assert (file.with_suffix("").exists(), (outside / "precious").exists()) == (False, True)


@pytest.mark.parametrize("ended_before", [True, False])
def test_M50_receipt_and_verify_know_that_it_was_deleted(
    house: House, *, ended_before: bool
) -> None:
    shop, _, file = played(house)
    if ended_before:
        assert shop.stop("--mode", "hard", "--capture-id").returncode == 0
    assert shop.stop(*PURGE).returncode == 0
    kept = house.json("receipt", NAME)["conversation"]
    assert (kept["resume"], kept["purged"]) == ("", [str(file)])
    done = shop.run("verify", "--session", NAME)
    assert (done.returncode, "its conversation is deleted, as asked" in done.stdout) == (0, True)
    file.write_text("{}\n")
    assert f"NO  its conversation is still there: {file}" in shop.run("verify", NAME).stdout
