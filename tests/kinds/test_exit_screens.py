"""R4: what the exit facts of each kind make of screens that its real program drew.

The files in `exit_screens` were captured from the programs that the kinds name, 80 to 100
columns wide, before and after the clear keys and the exit keys were typed by hand. The second word
of a file's name says what it shows:

alone      the exit keys stand alone in the prompt: here, and nowhere else, Enter may follow
draft      a prompt with something in it: the exit keys may be typed, but not be sent
empty      an empty prompt: no further key is pressed to clear it
no-prompt  a question, a menu or the shell mode: nothing may be typed
"""

import re
from pathlib import Path

import pytest

from knell import kinds

FILES = sorted((Path(__file__).parent / "exit_screens").glob("*.txt"))


def kind_of(file: Path) -> str:
    return file.stem.split("-")[0]


def word_of(file: Path) -> str:
    """alone, draft, empty or no."""
    return file.stem.split("-")[1]


def shown(file: Path) -> set[str]:
    """Which of the facts the screen matches."""
    kind, text = kinds.kind(kind_of(file)), file.read_text().strip("\n")
    facts = {"empty": kind.prompt_empty, "prompt": kind.prompt_shown, "alone": kind.exit_shown}
    return {name for name, pattern in facts.items() if pattern and re.search(pattern, text)}


def expected(file: Path) -> set[str]:
    word = word_of(file)
    if word == "no":
        return set()
    if word == "empty" and not kinds.kind(kind_of(file)).prompt_empty:
        word = "draft"  # it is cleared all the same
    return {"prompt", word} - {"draft"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_R4_a_real_screen_is_read_for_what_it_is(file: Path) -> None:
    assert shown(file) == expected(file)


def test_R4_every_kind_of_screen_was_recorded_for_each_program() -> None:
    words = {(kind_of(file), word_of(file)) for file in FILES}
    for kind in ("codex", "gemini", "opencode"):
        assert {word for name, word in words if name == kind} == {"alone", "draft", "empty", "no"}


CUT_SHORT = {  # what stands above or below the exit keys that must not be sent with them
    "codex": ("\u203a /quit", "\u203a say never\n  /quit", "\u203a /quit\n\n  say never\n"),
    "gemini": (" > /quit", " > say never\n   /quit", " > /quit\n   say never"),
    "opencode": ("┃  /exit", "┃  say never\n  ┃\n  ┃  /exit", "┃  /exit\n  ┃  say never"),
}


@pytest.mark.parametrize(
    ("kind", "draft"),
    [(kind, draft) for kind, (_, *drafts) in CUT_SHORT.items() for draft in drafts],
)
def test_R4_exit_keys_beside_other_lines_are_never_sent(kind: str, draft: str) -> None:
    """A draft that was cleared only in part, with the exit keys on its first or last line."""
    alone = CUT_SHORT[kind][0]
    for file in FILES:
        if (kind_of(file), word_of(file)) == (kind, "alone"):
            head, sign, tail = file.read_text().strip("\n").rpartition(f"{alone}\n")
            assert sign
            assert not re.search(kinds.kind(kind).exit_shown, f"{head}{draft}\n{tail}")


@pytest.mark.parametrize("kind", ["claude", "codex", "gemini", "opencode"])
@pytest.mark.parametrize("sign", ["\u203a ", " > ", "  ┃  ", "\u276f ", "─" * 9])
def test_R4_a_screen_made_to_be_slow_is_read_in_time(kind: str, sign: str) -> None:
    """What an agent prints must not hold up its own ending: a search that never ends fails here."""
    facts = kinds.kind(kind)
    screen = "\n".join(f"{sign}{'/quit · ' * 30}" for _ in range(120))
    for pattern in (facts.prompt_empty, facts.prompt_shown):
        re.search(pattern, screen)
    assert not re.search(facts.exit_shown, screen)
