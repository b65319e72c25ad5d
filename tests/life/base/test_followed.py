"""R5, R7: agents that replay gemini: followed through /clear, and nothing lost by leaving."""

import shutil
from pathlib import Path

import pytest

from house import House
from stand_ins import StandIn


@pytest.fixture
def gemini(house: House) -> StandIn:
    return StandIn(house, "gemini")


def chats(gemini: StandIn) -> Path:
    return gemini.house.home / ".gemini" / "tmp" / "project" / "chats"


def file_with(gemini: StandIn, text: str) -> Path:
    [path] = [path for path in chats(gemini).iterdir() if f'"{text}"' in path.read_text()]
    return path


def say(gemini: StandIn, name: str, text: str) -> None:
    gemini.type(name, text, f"done: {text}")


def test_R5_a_cleared_gemini_comes_back_in_its_new_conversation(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    first, source = gemini.conversation("ada")
    assert source == "given"
    say(gemini, "ada", "/clear")
    say(gemini, "ada", "beta")
    second, source = gemini.conversation("ada")
    assert second != first
    assert (source, file_with(gemini, "beta").name[-14:-6]) == ("noted", second[:8])
    gemini.knell("stop", "ada")
    gemini.resume("ada", shows="gemini is here: ['beta']")
    say(gemini, "ada", "gamma")
    assert gemini.conversation("ada")[0] == second
    gemini.knell("kill", "ada")


def test_R5_two_in_one_directory_that_clear_and_get_the_same_prompt(gemini: StandIn) -> None:
    for name in ("ada", "bob"):
        gemini.spawn(name, shows="gemini is here")
        say(gemini, name, f"first of {name}")
        say(gemini, name, "/clear")
        say(gemini, name, "the same")
        say(gemini, name, f"last of {name}")
    gemini.knell("stop", "ada", "bob")
    for name in ("ada", "bob"):
        gemini.resume(name, shows=f"['the same', 'last of {name}']")
    gemini.knell("kill", "ada", "bob")


def test_R5_while_a_person_chooses_another_conversation_it_is_unsure(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    first = gemini.conversation("ada")[0]
    say(gemini, "ada", "/new")
    say(gemini, "ada", "beta")
    say(gemini, "ada", f"/resume {first}")
    shown = gemini.shown("ada")
    assert shown["conversation_source"] == "unsure"
    assert shown["resume"] == ""
    gemini.knell("kill", "ada")
    told = gemini.knell("resume", "ada", code=1)
    assert "is not known surely" in told
    assert "--conversation ID" in told
    told = gemini.knell("stop", "ada", "--purge-conversation", "--yes", code=1)
    assert "its conversation was not deleted: unsure" in told
    assert len(list(chats(gemini).iterdir())) == 2


def test_R5_the_next_prompt_makes_it_sure_again(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    first = gemini.conversation("ada")[0]
    say(gemini, "ada", "/new")
    say(gemini, "ada", "beta")
    assert gemini.conversation("ada")[0] != first
    say(gemini, "ada", f"/resume {first}")
    say(gemini, "ada", "gamma")
    assert gemini.conversation("ada") == (first, "noted")
    gemini.knell("kill", "ada")


def test_R5_a_log_that_cannot_be_read_is_unsure(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    log = chats(gemini).parent / "logs.json"
    log.symlink_to("/etc/passwd")
    assert gemini.conversation("ada")[1] == "unsure"
    log.unlink()
    assert gemini.conversation("ada")[1] == "given"
    gemini.knell("kill", "ada")


# -- R7 -------------------------------------------------------------------------------------------


def test_R7_a_first_turn_that_stop_cuts_short_is_not_lost(gemini: StandIn) -> None:
    """Gemini's own exit deletes it, because the Escape has taken the prompt out of it."""
    gemini.spawn("ada", shows="gemini is here")
    gemini.type("ada", "hold", "done: hold")
    receipt = gemini.receipt("stop", "ada")
    assert receipt["conversation"]["exists"] is True
    assert f"--resume {receipt['conversation']['id']}" in receipt["conversation"]["resume"]
    gemini.resume("ada", shows="gemini is here: ['hold']")
    gemini.knell("kill", "ada")


def test_R7_a_conversation_without_a_word_is_not_brought_back(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    receipt = gemini.receipt("stop", "ada")
    assert (receipt["conversation"]["exists"], receipt["conversation"]["resume"]) == (False, "")
    assert "is not on disk" in gemini.knell("resume", "ada", code=1)
    assert list(chats(gemini).iterdir()) == []


def test_R7_a_resumed_conversation_that_the_next_gemini_deletes_comes_back(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    gemini.knell("stop", "ada")
    gemini.resume("ada", shows="['alpha']")
    gemini.knell("stop", "ada")
    gemini.spawn("bob", shows="gemini is here")
    assert not any("alpha" in path.read_text() for path in chats(gemini).iterdir())
    gemini.resume("ada", shows="gemini is here: ['alpha']")
    gemini.knell("kill", "ada", "bob")


def test_R7_a_purge_deletes_the_copies_too(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    gemini.knell("stop", "ada", "--purge-conversation", "--yes")
    assert list(chats(gemini).iterdir()) == []
    assert list(gemini.house.state.rglob("session-*")) == []
    assert "is not on disk" in gemini.knell("resume", "ada", code=1)


def test_R7_a_copy_is_put_back_through_no_link(gemini: StandIn, tmp_path: Path) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    gemini.knell("stop", "ada")
    shutil.rmtree(chats(gemini))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    chats(gemini).symlink_to(elsewhere)
    assert "is not on disk" in gemini.knell("resume", "ada", code=1)
    assert list(elsewhere.iterdir()) == []


def test_a_file_of_the_same_eight_characters_is_another_conversation(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    id = gemini.conversation("ada")[0]
    other = chats(gemini) / f"session-2025-01-01T00-00-{id[:8]}.jsonl"
    other.write_text(f'{{"sessionId": "{id[:8]}-0000-4000-8000-000000000000"}}\n')
    gemini.knell("stop", "ada", "--purge-conversation", "--yes")
    assert list(chats(gemini).iterdir()) == [other]


# -- its log is written by several, and anew each time ---------------------------------------------


def test_R5_a_log_that_is_half_written_is_unsure_until_it_is_whole(gemini: StandIn) -> None:
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    log = chats(gemini).parent / "logs.json"
    whole = log.read_text()
    log.write_text(whole[:-9])
    assert gemini.conversation("ada")[1] == "unsure"
    log.write_text(whole)
    assert gemini.conversation("ada")[1] == "given"
    gemini.knell("kill", "ada")


def test_R5_a_log_that_gemini_put_aside_is_unsure_until_the_next_move(gemini: StandIn) -> None:
    """It begins another log then, and what it had logged of /clear is gone."""
    gemini.spawn("ada", shows="gemini is here")
    say(gemini, "ada", "alpha")
    say(gemini, "ada", "/clear")
    say(gemini, "ada", "beta")
    log = chats(gemini).parent / "logs.json"
    log.rename(f"{log}.invalid_json.1794961452674.bak")
    assert gemini.conversation("ada")[1] == "unsure"
    gemini.knell("kill", "ada")
    assert "is not known surely" in gemini.knell("resume", "ada", code=1)


def test_R5_a_line_that_a_neighbour_wrote_over_makes_it_unsure(gemini: StandIn) -> None:
    for name in ("ada", "bob"):
        gemini.spawn(name, shows="gemini is here")
        say(gemini, name, f"first of {name}")
    log = chats(gemini).parent / "logs.json"
    before = log.read_text()
    say(gemini, "ada", "/clear")
    say(gemini, "ada", "second of ada")
    log.write_text(before)
    assert gemini.conversation("ada")[1] == "unsure"
    assert gemini.conversation("bob")[1] == "unsure"  # it might have been bob's
    say(gemini, "bob", "second of bob")
    assert gemini.conversation("bob")[1] == "given"
    gemini.knell("kill", "ada", "bob")
