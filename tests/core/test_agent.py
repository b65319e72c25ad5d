"""What an agent may be called, and what is proposed instead."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.agent import RESERVED, checked_name, next_name, proposed_name
from knell.core.errors import BadRequest
from knell.core.selector import Candidate, choose

GOOD = ["luna", "Luna", "a", "9lives", "a-b_c", "x" * 64, "claude-1"]
BAD = {
    "empty": "",
    "blank": " ",
    "inner blank": "a b",
    "newline": "a\nb",
    "last newline": "luna\n",
    "tab": "a\tb",
    "null": "a\0b",
    "shell": "a;rm -rf ~",
    "substitution": "$(id)",
    "backquote": "`id`",
    "quote": "a'b",
    "glob": "a*",
    "dots": "..",
    "path": "a/b",
    "up": "../a",
    "tmux window": "a.b",
    "tmux session": "a:b",
    "option": "-rf",
    "pane": "%1",
    "300 letters": "x" * 300,
    "65 letters": "x" * 65,
    "emoji": "🦊",
    "umlaut": "größe",
    "look-alike": "lunа",  # noqa: RUF001 - the last letter is Cyrillic
    "escape": "\x1b[31m",
    "half a character": "\udcff",
    "a pid": "1234",
    "reserved": "all",
    "reserved in capitals": "ALL",
    "self": "self",
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_name_is_kept_as_it_is(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", BAD.values(), ids=BAD)
def test_a_bad_name_is_refused_in_one_line_with_a_better_one(name: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked_name(name)
    assert len(str(refused.value)) < 200
    assert str(refused.value).isprintable()
    proposed = refused.value.hint.removeprefix("try ")
    assert checked_name(proposed) == proposed


@given(st.text(max_size=400))
def test_a_proposed_name_is_always_good(name: str) -> None:
    proposed = proposed_name(name)
    assert checked_name(proposed) == proposed


@given(st.text(max_size=100))
def test_every_accepted_name_is_safe_everywhere(name: str) -> None:
    """In a path, a tmux target, a shell, and as a target of knell's own."""
    try:
        checked_name(name)
    except BadRequest:
        return
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name, re.ASCII)
    assert not name.startswith("-")
    assert name.lower() not in RESERVED
    crowd = [Candidate(name, "run-1"), Candidate("z" + "y" * 64, "run-2", pids=(int("9" * 9),))]
    assert [c.agent for c in choose(name, crowd).candidates] == [name]


def test_the_word_before_the_name_says_what_was_wrong() -> None:
    with pytest.raises(BadRequest, match=r"^the tag 'a b' "):
        checked_name("a b", "tag")


def test_an_unnamed_agent_gets_the_first_number_that_nobody_ever_had() -> None:
    assert next_name("claude", frozenset()) == "claude-1"
    assert next_name("claude", frozenset({"claude-1", "claude-3"})) == "claude-2"


@given(st.frozensets(st.integers(1, 30).map(lambda n: f"claude-{n}")))
def test_a_given_name_is_never_taken(taken: frozenset[str]) -> None:
    assert next_name("claude", taken) not in taken
