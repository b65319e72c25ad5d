"""What the screens of the programs say, as the programs drew them.

Each file in `screens` was read off a tmux pane of the real program; its name is the kind's, and
what the program did: it asks, it is busy, its exit word is typed, a draft stands in its prompt.
"""

import re
from pathlib import Path

import pytest

from knell import kinds
from knell.core.kind import Kind
from knell.core.stall.screens import noticed, shows

SCREENS = sorted(Path(__file__).with_name("screens").glob("*.txt"))


def kind_of(path: Path) -> Kind:
    return kinds.kind(path.stem.split("-")[0])


def state(path: Path) -> str:
    return path.stem.split("-")[1]


def each_screen(*states: str) -> pytest.MarkDecorator:
    """Those of these states, or all of them."""
    chosen = [path for path in SCREENS if state(path) in states or not states]
    return pytest.mark.parametrize("path", chosen, ids=lambda path: path.stem)


@each_screen()
def test_a_question_is_seen_where_there_is_one(path: Path) -> None:
    assert bool(noticed(path.read_text(), kind_of(path).asks)) == (state(path) == "asks")


@each_screen("busy", "idle", "answered")
def test_work_is_seen_where_there_is_some(path: Path) -> None:
    kind = kind_of(path)
    assert bool(kind.busy and shows(path.read_text(), kind.busy)) == (state(path) == "busy")


@each_screen("asks", "busy", "idle", "answered", "draft", "exit")
def test_enter_follows_only_where_the_exit_word_stands_alone(path: Path) -> None:
    kind = kind_of(path)
    alone = bool(kind.exit_shown and re.search(kind.exit_shown, path.read_text().rstrip()))
    assert alone == (state(path) == "exit")


@each_screen("asks", "idle", "answered", "draft", "exit")
def test_nothing_is_typed_into_a_question(path: Path) -> None:
    kind = kind_of(path)
    if kind.exit_keys:
        prompt = bool(re.search(kind.prompt_shown, path.read_text().rstrip()))
        assert prompt == (state(path) != "asks")


@each_screen("left")
def test_the_id_that_it_prints_on_leaving_is_read(path: Path) -> None:
    kind = kind_of(path)
    text = path.read_text().partition("EXITED")[0]  # said by the shell that had started it
    found = [re.search(pattern, text, re.MULTILINE) for pattern in kind.printed]
    assert [bool(one and kind.is_id(one.group(1))) for one in found] == [True] * len(found)


@each_screen("lost")
def test_a_conversation_that_is_gone_is_noticed(path: Path) -> None:
    assert any(text in path.read_text() for text in kind_of(path).lost)


def test_every_kind_that_was_seen_to_ask_has_a_screen() -> None:
    recorded = {kind_of(path).name for path in SCREENS if state(path) == "asks"}
    old = {"claude", "codex", "gemini", "opencode"}  # theirs are with the tests of stalls
    assert {name for name in kinds.built_in() if kinds.kind(name).asks} - old == recorded
