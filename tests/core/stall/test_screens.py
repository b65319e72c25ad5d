"""Real screens: which of them stand still, and which of them ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.recorded import recorded
from knell.core.stall.screens import LONGEST, LOWER, asked, fingerprint, noticed, shows, still
from knell.kinds import kind

KINDS = ("claude", "codex", "gemini", "opencode")
ASKS = {
    ("claude", "permission"): "Do you want to proceed?",
    ("claude", "question"): "Which colour do you want?",
    ("claude", "plan"): "Exit plan mode?",
    ("claude", "trust"): "Quick safety check",
    ("claude", "mcp_trust"): "1. Use this MCP server",
    ("codex", "permission"): "Do you want to allow it?",
    ("gemini", "permission"): "Allow execution of [Shell]?",
    ("opencode", "permission"): "△ Permission required",
}
LIMITED = {
    ("claude", "limit_unified"): "API Error: Request rejected (429)",
    ("codex", "limit"): "try again at Nov 16th, 2026 12:55 AM.",
    ("gemini", "limit"): "Usage limit reached for all Pro models.",
}
RETRIES = {
    ("claude", "limit_plain"): "API error · Retrying in 5s",
    ("opencode", "limit"): "[retrying in 9m 52s attempt #1]",
}
BUSY = {
    *(("claude", scene) for scene in ("tool", "tool2", "subagent", "subagent2", "limit_plain")),
    *(("codex", scene) for scene in ("tool", "tool2")),
    *(("gemini", scene) for scene in ("tool", "held", "held2")),
    *(("opencode", scene) for scene in ("held", "held2", "limit")),
}
EVERY = [(name, scene) for name in KINDS for scene in recorded(name, "screens")]


@pytest.mark.parametrize(("name", "scene"), EVERY)
def test_each_screen_says_what_it_says_and_nothing_else(name: str, scene: str) -> None:
    screen, facts = recorded(name, "screens")[scene], kind(name)
    limited = noticed(screen, facts.limited)
    assert LIMITED.get((name, scene), "") in limited
    assert bool(limited) is ((name, scene) in LIMITED)
    retries = noticed(screen, facts.retries)
    assert RETRIES.get((name, scene), "") in retries
    assert bool(retries) is ((name, scene) in RETRIES)
    if not limited and not retries:
        question = asked(screen, facts.asks)
        assert ASKS.get((name, scene), "") in question
        assert bool(question) is ((name, scene) in ASKS)
    assert shows(screen, facts.busy) is ((name, scene) in BUSY)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("claude", "tool", "tool2"),
        ("claude", "subagent", "subagent2"),
        ("codex", "tool", "tool2"),
        ("gemini", "held", "held2"),
        ("opencode", "held", "held2"),
    ],
)
def test_seconds_later_only_what_blinks_has_changed(name: str, before: str, after: str) -> None:
    screens = recorded(name, "screens")
    assert fingerprint(screens[before]) == fingerprint(screens[after])


def test_different_scenes_differ() -> None:
    scenes = [scene for scene in recorded("claude", "screens").items() if scene[0][-1] != "2"]
    assert len({fingerprint(screen) for _, screen in scenes}) == len(scenes)


@pytest.mark.parametrize(("name", "scene"), [*ASKS, *LIMITED, *RETRIES])
def test_what_has_scrolled_up_asks_nothing(name: str, scene: str) -> None:
    facts = kind(name)
    screen = recorded(name, "screens")[scene] + "\n".join(["and then"] * (LOWER + 1))
    assert asked(screen, facts.asks) == ""
    assert noticed(screen, facts.limited) == ""
    assert noticed(screen, facts.retries) == ""


@pytest.mark.parametrize(("name", "scene"), [*ASKS, *LIMITED, *RETRIES])
def test_what_an_agent_quotes_above_its_prompt_asks_nothing(name: str, scene: str) -> None:
    """The text of a dialog is no dialog, and last hour's notice is none (kendex#1443)."""
    facts, screens = kind(name), recorded(name, "screens")
    below = screens["tool" if name in ("claude", "codex") else "held"]
    screen = screens[scene][-600:] + "\n" + below
    assert asked(screen, facts.asks) == ""
    assert noticed(screen, facts.limited) == ""
    assert noticed(screen, facts.retries) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("⠋ Loading", "⠙ Loading"),
        ("✻ Quantumizing… (59s · ↓ 999 tokens)", "✶ Herding… (1h 1m 56s · ↓ 1.2k tokens)"),
        ("[-] building 12%", "[/] building 99%"),
        ("12:01:59 up 3 min", "12:02:00 up 4 min"),
        ("⬝⬝■■■■■■  esc interrupt", "■■⬝⬝⬝⬝⬝⬝  esc interrupt"),
        ("(3.2 MB/s, 10 s)", "(812 kB/s, 9 s)"),
    ],
)
def test_what_merely_blinks_is_still(before: str, after: str) -> None:
    assert fingerprint(f"hello\n{before}") == fingerprint(f"hello\n{after}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("● Reading", "● Writing"),
        ("[##      ]", "[###     ]"),
        ("test_a PASSED", "test_a PASSED\ntest_b PASSED"),
        ("- one", "- one\n- more"),
    ],
)
def test_new_words_are_not(before: str, after: str) -> None:
    assert fingerprint(before) != fingerprint(after)


@pytest.mark.parametrize(
    "line",
    [
        "Continue? [y/N]",
        "Proceed (yes/no)?",
        "Do you want to continue? [Y/n] ",
        "Are you sure you want to continue connecting (yes/no/[fingerprint])?",
        "Password for ada:",
        "Enter passphrase for key '/home/ada/.ssh/id':",
        "Press any key to continue...",
    ],
)
def test_a_plain_question_asks_while_it_is_the_last_line(line: str) -> None:
    assert asked(f"some text\n{line}\n\n")
    assert asked(f"{line}\nyes\n") == ""


def test_a_sentence_about_a_question_is_none() -> None:
    assert asked("it prints [y/n] and waits for an answer") == ""
    assert asked("") == ""


@given(st.text())
def test_no_text_whatever_breaks_it(screen: str) -> None:
    assert not any(char.isascii() and char.isdigit() for char in still(screen))
    assert fingerprint(screen) == fingerprint(screen + "\n\n")
    for name in KINDS:
        question = asked(screen, kind(name).asks)
        assert len(question) <= LONGEST
        assert question.isprintable()
