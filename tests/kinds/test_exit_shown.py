"""Before which screens of Claude's the exit keys may be sent with Enter, and before which not.

Drawn as 2.1.197 draws them, after Escape, C-c and `/exit` were typed.
"""

import re

import pytest

from knell.kinds.claude import KIND

RULE = "─" * 40
SIGN = "\u276f"


def box(*lines: str) -> str:
    return "\n".join((RULE, *lines, RULE))


PROMPT = box(f"{SIGN}\xa0/exit")
MENU = "/exit          Exit the CLI\n/context       Visualize current context usage"
PAST = f"{SIGN} /exit\n  ⎿  Bye!\n"  # of a resumed conversation

SURE = {
    "a prompt": PROMPT,
    "with its menu": f"{PROMPT}\n{MENU}",
    "with a status line": f"{PROMPT}\n  main {SIGN} opus {SIGN} 12 %",
    "with spaces at the ends of lines": PROMPT.replace("\n", "   \n") + f"  \n{MENU}   ",
    "below an exchange": f"{SIGN} say amber\n\n● answer 1: amber\n\n{PROMPT}\n{MENU}",
    "below an older prompt": f"{PAST}{PROMPT}\n{MENU}",
    "with the session's name in the rule": f"{RULE} luna ──\n{SIGN}\xa0/exit\n{RULE}\n{MENU}",
}
DOUBTFUL = {
    "nothing": "",
    "not yet drawn": box(f"{SIGN}\xa0"),
    "the last of several lines": box(f"{SIGN}\xa0delete the", "  /exit"),
    "the first of several lines": box(f"{SIGN}\xa0/exit", "  and delete the"),
    "in the middle of a line": box(f"{SIGN}\xa0/exit and delete the"),
    "after what a stopped turn put back": box(f"{SIGN}\xa0delete it/exit"),
    "a shell command": box("! /exit"),
    "a shell command, below an older prompt": f"{PROMPT}\n{box('! /exit')}",
    "only in the past": f"{PAST}{box('! make')}",
    "a question": f"{PAST}{RULE}\n Do you want to proceed?\n {SIGN} 1. Yes\n   2. No",
    "a question below a prompt": f"{PROMPT}\n Do you want to proceed?\n {SIGN} 1. Yes\n   2. No",
    "the settings": f"{SIGN} /config\n{RULE}\n  {SIGN} Auto-compact      true",
}


@pytest.mark.parametrize("name", SURE)
def test_enter_follows_where_the_exit_keys_stand_alone(name: str) -> None:
    assert re.search(KIND.exit_shown, SURE[name])


@pytest.mark.parametrize("name", DOUBTFUL)
def test_enter_does_not_follow_anywhere_else(name: str) -> None:
    assert not re.search(KIND.exit_shown, DOUBTFUL[name])


NOT_A_PROMPT = (
    "nothing", "a shell command", "a shell command, below an older prompt", "only in the past",
    "a question", "a question below a prompt", "the settings",
)  # fmt: skip


@pytest.mark.parametrize("name", [*SURE, *DOUBTFUL])
def test_R4_the_exit_keys_are_typed_into_a_prompt_only(name: str) -> None:
    screen = (SURE | DOUBTFUL)[name]
    assert bool(re.search(KIND.prompt_shown, screen)) is (name not in NOT_A_PROMPT)
