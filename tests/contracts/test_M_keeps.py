"""M6 to M10, M43, M45: what every ending leaves as it was."""

import difflib
import shlex

import pytest

from contracts.m_scenes import (
    AGY,
    NAME,
    OWN,
    Shop,
    agy_file,
    claude_file,
    files_below,
    notes,
    ready,
    texts,
)
from house import House, eventually

WAYS = (
    pytest.param(("--mode", "soft"), id="soft"),
    pytest.param(("--mode", "hard"), id="hard"),
    pytest.param((), id="graceful"),
    pytest.param(("--mode", "hard", "--reason", "api_error"), id="reason"),
)
WRITTEN = {
    *("status", "archived_at", "terminated_at", "terminated_at_epoch", "termination_mode"),
    *("stopped_at", "stopped_at_epoch", "stop_reason", "resumable", "last_visible_status"),
    *OWN.values(),
}


@pytest.mark.parametrize("way", WAYS)
def test_M6_the_pane_and_the_attachments_stay_for_the_audit(
    house: House, way: tuple[str, ...]
) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(pid=claude.pid))
    before = shop.row()
    assert shop.stop(*way).returncode == 0
    after = shop.row()
    assert after["pane"] == before["pane"] == {
        "pid": claude.pid, "cmd": "claude", "cwd": str(shop.folder)
    }  # fmt: skip
    assert after["mcp_attachments"] == ["files", "browser"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [NAME, AGY])
def test_M7_the_conversation_stays_on_disk(house: House, name: str, way: tuple[str, ...]) -> None:
    shop = Shop(house)
    agent = shop.session(name)
    shop.say("two plus two", name)
    shop.list(shop.row_text(name))
    assert shop.stop(*way, name=name).returncode == 0
    file = (agy_file if name == AGY else claude_file)(shop, agent.conversation)
    assert texts(file) == ["hello", "two plus two"]


def test_M7_so_that_resume_goes_on_with_it(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.say("two plus two")
    shop.list(shop.row_text())
    shop.delete()
    assert shop.resume(NAME)["conversation"] == claude.conversation
    eventually(lambda: "earlier: two plus two" in shop.screen())


def test_M8_the_start_command_stays_and_starts_the_same_again(house: House) -> None:
    shop = Shop(house)
    shop.session(args="--model opus")
    shop.list(shop.row_text())
    before = shop.row()["start_command"]
    shop.delete()
    assert shop.row()["start_command"] == before == "claude --model   opus"
    where = ("--in", "tmux", "--tmux-server", "test", "--session", NAME, "--cwd", str(shop.folder))
    shop.run("spawn", "--name", "again", *where, *shlex.split(before))
    eventually(lambda: len(ready(house)) > 1)
    assert shop.has_session()
    first, second = [words for _, words in notes(house) if words[0] == "ready"]
    assert first[2] == ["--model", "opus"] == second[2][-2:]
    assert first[3] == second[3] == str(shop.folder)


@pytest.mark.parametrize("way", WAYS)
def test_M9_every_other_field_line_and_comment_stays(house: House, way: tuple[str, ...]) -> None:
    shop = Shop(house)
    shop.session()
    before, fields = shop.list(shop.row_text(), shop.row_text(AGY)), shop.row()
    other = shop.row(AGY)
    assert shop.stop(*way).returncode == 0
    lines = [" ".join(line.split()) for line in before.split("\n")]  # but for its blanks
    after = [" ".join(line.split()) for line in shop.file.read_text().split("\n")]
    gone = [line[2:] for line in difflib.ndiff(lines, after) if line.startswith("- ")]
    assert all(line.split(":")[0].strip() in WRITTEN for line in gone), gone
    assert {k: v for k, v in shop.row().items() if k not in WRITTEN} == {
        k: v for k, v in fields.items() if k not in WRITTEN
    }
    assert shop.row(AGY) == other
    assert shop.data()["owner"] == "zoë"


@pytest.mark.parametrize("way", [*WAYS, pytest.param(("--capture-id",), id="capture")])
@pytest.mark.parametrize("name", [NAME, AGY])
def test_M10_M45_a_null_stays_null_for_who_never_said_a_word(
    house: House, name: str, way: tuple[str, ...]
) -> None:
    shop = Shop(house)
    shop.session(name, "silent")
    shop.list(shop.row_text(name))
    placeholder = f"  {OWN[name.rsplit('-', 1)[1]]}: null      # it never had one\n"
    assert shop.stop(*way, name=name).returncode == 0
    assert placeholder in shop.file.read_text()
    assert shop.row(name).get("resumable") is not True


def test_M10_nor_is_it_another_sessions_id(house: House) -> None:
    """The only conversation in this workspace is that of the session beside it."""
    shop = Shop(house)
    shop.session("shop-creator-claude-b")
    shop.list(shop.row_text(), shop.row_text("shop-creator-claude-b"))
    assert shop.stop(name="shop-creator-claude-b").returncode == 0
    shop.session(NAME, "silent noteless")
    assert shop.stop().returncode == 0
    assert shop.row()["claude_session_id_own"] is None


@pytest.mark.parametrize("way", WAYS)
def test_M43_nothing_on_disk_is_deleted_unasked(house: House, way: tuple[str, ...]) -> None:
    """Not of the conversation, nor of anything else that the programs keep."""
    shop = Shop(house)
    shop.session(NAME, "noteless")
    shop.session(AGY)
    shop.list(shop.row_text(), shop.row_text(AGY))
    before = files_below(house.home)
    for name in (NAME, AGY):
        assert shop.stop(*way, name=name).returncode == 0
    assert files_below(house.home) == before
