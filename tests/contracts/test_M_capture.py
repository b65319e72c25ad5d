"""M22: which conversation a session is in: what is sure, else the nearest one, under its word."""

import json
import os
import uuid
from pathlib import Path

import pytest

from contracts.m_scenes import AGY, NAME, Shop, agy_file, claude_file, notes, ready
from house import House, eventually


def written(file: Path, age: float = 0) -> str:
    """A conversation that somebody left there, `age` seconds older than now; its id."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"text": "hello"}) + "\n")
    now = file.stat().st_mtime
    os.utime(file, (now - age, now - age))
    return file.stem


def some_id() -> str:
    return str(uuid.uuid4())


def listed(shop: Shop, conversation: str = "null", more: str = "") -> None:
    text = shop.row_text().replace("own: null", f"own: {conversation}")
    shop.list(text)
    shop.file.write_text(shop.file.read_text() + more)


def found(shop: Shop, *options: str) -> tuple[str, str]:
    """What `stop --capture-id` wrote into the row, and how it was learnt."""
    told = shop.receipt("stop", "--session", NAME, "--capture-id", *options)["conversation"]
    assert shop.row()["claude_session_id_own"] == told["id"]
    assert (shop.row()["resumable"], told["exists"]) == (True, True)
    return told["id"], told["source"]


def test_M22_the_programs_own_note_beats_everything(house: House) -> None:
    """The row and a newer file say otherwise; /clear had begun another conversation."""
    shop = Shop(house)
    claude = shop.session()
    listed(shop, written(claude_file(shop, some_id()), age=50))
    written(claude_file(shop, some_id()), age=-50)
    assert found(shop) == (claude.conversation, "noted")


def test_M22_a_note_by_a_process_that_had_this_number_before_is_none(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    note = house.home / ".claude" / "sessions" / f"{claude.pid}.json"
    note.write_text(json.dumps({"sessionId": some_id(), "procStart": "1"}))
    listed(shop)
    assert found(shop) == (claude.conversation, "scan")


def test_M22_what_its_command_line_says(house: House) -> None:
    shop = Shop(house)
    mine = some_id()
    shop.session(NAME, "noteless", args=f"--session-id {mine}")
    written(claude_file(shop, some_id()), age=-50)
    listed(shop)
    assert found(shop) == (mine, "given")


def test_M22_tier_1_the_row(house: House) -> None:
    """Though another conversation of this workspace was written to later."""
    shop = Shop(house)
    shop.session(NAME, "noteless silent")
    mine = written(claude_file(shop, some_id()), age=50)
    written(claude_file(shop, some_id()))
    listed(shop, mine)
    assert found(shop) == (mine, "row")


def test_M22_tier_1_only_if_its_conversation_is_there(house: House) -> None:
    shop = Shop(house)
    claude = shop.session(NAME, "noteless")
    listed(shop, some_id())
    assert found(shop) == (claude.conversation, "scan")


def test_M22_tier_2_the_newest_of_this_workspace_and_no_other(house: House) -> None:
    shop, other = Shop(house), Shop(house, "other")
    shop.session(NAME, "noteless silent")
    written(claude_file(shop, some_id()), age=50)
    newest = written(claude_file(shop, some_id()))
    written(claude_file(other, some_id()), age=-50)
    listed(shop)
    assert found(shop) == (newest, "scan")


def test_M22_tier_3_the_cache_for_this_very_directory(house: House) -> None:
    shop, other = Shop(house), Shop(house, "other")
    shop.session(NAME, "noteless silent")
    mine = written(claude_file(other, some_id()))  # the workspace was moved since
    cache = f"agent_identities: {{claude: {{project_cwd: {shop.folder}, session_id: {mine}}}}}\n"
    listed(shop, more=cache)
    assert found(shop) == (mine, "cache")


def test_M22_the_cache_of_another_directory_is_none(house: House) -> None:
    shop, other = Shop(house), Shop(house, "other")
    shop.session(NAME, "noteless silent")
    theirs = written(claude_file(other, some_id()))
    cache = f"agent_identities: {{claude: {{project_cwd: {other.folder}, session_id: {theirs}}}}}\n"
    listed(shop, more=cache)
    assert shop.stop("--capture-id").returncode == 0
    assert shop.row()["claude_session_id_own"] is None


@pytest.mark.parametrize("way", [("--capture-id",), ("--capture-id", "--mode", "hard"), ()])
def test_M22_agy_has_its_conversation_open(house: House, way: tuple[str, ...]) -> None:
    shop = Shop(house)
    agy = shop.session(AGY)
    written(agy_file(shop, some_id()), age=-50)  # of some other directory
    shop.list(shop.row_text(AGY))
    told = shop.receipt("stop", "--session", AGY, *way)["conversation"]
    assert (told["id"], told["source"]) == (agy.conversation, "held")
    row = shop.row(AGY)
    assert (row["agy_conversation_id_own"], row["resumable"]) == (agy.conversation, True)


def test_M22_the_next_resume_needs_no_guess(house: House) -> None:
    """A newer conversation appears in the workspace between the stop and the resume."""
    shop = Shop(house)
    claude = shop.session()
    listed(shop)
    found(shop)
    written(claude_file(shop, some_id()), age=-50)
    assert shop.resume(NAME)["verdict"] == "resumed"
    assert ready(house)[-1].conversation == claude.conversation
    [_, told] = [w[2] for _, w in notes(house) if w[0] == "ready"]
    assert told[-2:] == ["--resume", claude.conversation]


def test_M22_soft_can_record_it_too(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    listed(shop)
    assert shop.stop("--mode", "soft", "--capture-id").returncode == 0
    assert shop.row()["claude_session_id_own"] == claude.conversation


def test_M22_of_a_dead_session_what_it_left_on_disk(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    listed(shop)
    house.tmux("kill-server")
    eventually(lambda: ["left", "SIGHUP"] in [words for _, words in notes(house)])
    assert found(shop) == (claude.conversation, "scan")


def test_M22_a_file_that_breaks_off_is_said_to(house: House) -> None:
    shop = Shop(house)
    shop.session(NAME, "torn")
    listed(shop)
    told = shop.receipt("stop", "--session", NAME)["conversation"]
    assert (told["exists"], told["complete"]) == (True, False)


def test_M22_the_receipt_has_the_line_that_goes_on(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    listed(shop)
    told = shop.receipt("stop", "--session", NAME)["conversation"]
    assert told["complete"] is True
    assert told["resume"] == f"cd {shop.folder} && claude --resume {claude.conversation}"
    shell = ("env", f"PATH={house.env['PATH']}", "sh", "-c", told["resume"])
    house.tmux("new-session", "-d", "-s", "by-hand", "--", *shell)
    eventually(lambda: len(ready(house)) > 1)
    assert ready(house)[-1].conversation == claude.conversation
