"""What is on the screen when the exit keys are typed: nothing may be approved, sent or run."""

from pathlib import Path

import pytest

from e2e.claude_home import ClaudeHome, reached
from house import eventually

QUESTION = "Do you want to proceed?"


def asked_for_permission(home: ClaudeHome) -> None:
    """The model wants to run a command, and Claude asks whether it may."""
    home.spawn()
    home.say("run touch proof", QUESTION)


def test_G18_the_question_is_a_real_one(home: ClaudeHome) -> None:
    """Answered with Enter, the command runs: that is what an ending must not do."""
    asked_for_permission(home)
    home.press("Enter")
    eventually((home.project / "proof").exists)
    home.shows("the tool has answered")
    home.end("kill", "luna")


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_G18_an_open_question_is_not_answered(home: ClaudeHome, verb: str) -> None:
    """While Claude asks for permission to run a command, an ending does not grant it."""
    asked_for_permission(home)
    receipt = home.end(verb, "luna")
    assert not (home.project / "proof").exists()
    assert receipt["outcome"] == {"stop": "stopped", "kill": "killed"}[verb]
    assert not home.written("the tool has answered")
    if verb == "stop":
        assert reached(receipt) == ["exit_keys"]


def test_G16_a_half_typed_prompt_is_not_sent(home: ClaudeHome) -> None:
    """A half-typed prompt is cleared, not sent, and the exit keys still work."""
    home.spawn()
    home.say("say amber", "answer 1: amber")
    home.type("say never")
    receipt = home.end("stop", "luna")
    assert home.prompts() == {"say amber"}
    assert reached(receipt) == ["exit_keys"]


@pytest.mark.parametrize("last", [True, False], ids=["last-line", "middle-line"])
def test_G16_a_half_typed_prompt_of_several_lines_is_not_sent(
    home: ClaudeHome, *, last: bool
) -> None:
    """Nor is a half-typed prompt of three lines, wherever the cursor stands."""
    home.spawn()
    home.say("say amber", "answer 1: amber")
    for line in ("say never", "say again", "say more"):
        home.type(line)
        home.press("C-j")
    if not last:
        home.press("Up", "Up")
    home.end("stop", "luna")
    assert home.prompts() == {"say amber"}


def test_G16_a_half_typed_shell_command_is_not_run(home: ClaudeHome) -> None:
    """A half-typed command in Claude's shell mode is not run."""
    home.spawn()
    home.type("!")
    home.shows("! for shell mode")
    home.type("touch proof")
    home.press("C-j")
    home.type("touch proof2")
    home.end("stop", "luna")
    assert list(home.project.glob("proof*")) == []


@pytest.mark.parametrize("enter", [True, False], ids=["by-hand", "by-knell"])
def test_G16_an_open_menu_changes_nothing(home: ClaudeHome, *, enter: bool) -> None:
    """With the settings open, where Enter would switch one, an ending switches none."""
    home.spawn()
    home.type("/config")
    home.press("Enter")
    home.shows("Auto-compact")
    settings = home.house.home / ".claude/settings.json"
    if enter:  # so that it is known where a switched one would be seen
        home.press("Escape")
        home.shows("Enter/Space to change")
        home.press("Enter")
        eventually(lambda: "autoCompactEnabled" in text_of(settings))
    home.end("stop", "luna")
    assert ("autoCompactEnabled" in text_of(settings)) is enter


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_M24_a_turn_is_left_in_the_middle(home: ClaudeHome) -> None:
    """While the model answers: Claude hangs up, leaves, and what was said before stays."""
    home.spawn()
    home.say("say amber", "answer 1: amber")
    home.hold("on")
    receipt = home.end("stop", "luna")
    assert reached(receipt) == ["exit_keys"]
    assert home.model.hung_up.wait(10)
    home.records()
    home.resume()
    home.shows("answer 1: amber")
    home.say("say beryl", "answer 3: beryl after amber")
    home.end("kill", "luna")
