"""R5: gemini is followed through /clear, /new and /resume by its own log of what was typed.

`recordings/gemini.clear` is what gemini 0.61.0 wrote in three starts: say, /clear, say; a resume;
a first turn cut short, resumed, then /new and /resume. Its texts are shortened. The file of
7ce58d71 was deleted by the next gemini (docs/kinds.md), and is written down again from a print.
"""

import json
from pathlib import Path

import pytest

from knell.core.typed_log import Chat, Followed, SaidLine, TypedLine, follow
from knell.kinds.gemini import TYPED_LOG, chat, typed_lines

RECORDED: dict[str, str] = json.loads(
    (Path(__file__).parent / "recordings" / "gemini.clear").read_text()
)
LOG = RECORDED["logs.json"].encode()
FIRST, CLEARED = "11111111-1111-4111-8111-111111111111", "7ce58d71-a8d0-4e79-900b-7f662a3353af"
RESUMED, NEW = "22222222-2222-4222-8222-222222222222", "9644627d-0687-4535-8acb-d56c73451909"


def recorded_chats() -> list[Chat]:
    texts = [text.encode() for name, text in RECORDED.items() if name.startswith("session-")]
    return [found for text in texts if (found := chat(text, text))]


def followed_until(first: str, since: str, until: str) -> str:
    """Where the process that began in `first` at `since` is after its line `until`."""
    lines = typed_lines(LOG)
    assert lines
    texts = [line.text for line in lines]
    part = lines[texts.index(since) : texts.index(until) + 1]
    return follow(TYPED_LOG, first, part, recorded_chats()).id


@pytest.mark.parametrize(
    ("first", "since", "until", "where"),
    [
        (FIRST, "say alpha", "say alpha", FIRST),
        (FIRST, "say alpha", "/clear", CLEARED),
        (FIRST, "say alpha", "say beta", CLEARED),
        (CLEARED, "say gamma", "say gamma", CLEARED),
        (RESUMED, "hold delta", "hold delta", RESUMED),
        (RESUMED, "say epsilon", "say epsilon", RESUMED),
        (RESUMED, "say epsilon", "/new", NEW),
        (RESUMED, "say epsilon", "/resume", ""),  # the person is choosing
        (RESUMED, "say epsilon", "say zeta", FIRST),
        (RESUMED, "say epsilon", "/compress", FIRST),
        (RESUMED, "say epsilon", "say eta", FIRST),
    ],
)
def test_R5_gemini_is_followed_by_what_it_logged(
    first: str, since: str, until: str, where: str
) -> None:
    assert followed_until(first, since, until) == where


# -- what would be a guess is none ----------------------------------------------------------------

A, B, C = Chat("a", 0, ()), Chat("b", 0, ()), Chat("c", 0, ())


def typed(*lines: tuple[str, float, str]) -> list[TypedLine]:
    return [TypedLine(*line) for line in lines]


def test_R5_two_conversations_that_begin_at_once_after_a_clear_are_no_answer() -> None:
    chats = [A, B._replace(began=101), C._replace(began=102)]
    assert follow(TYPED_LOG, "a", typed(("a", 100, "/clear")), chats) == Followed("", 100)


def test_R5_a_process_that_began_at_once_is_not_the_one_that_cleared() -> None:
    chats = [A, B._replace(began=101), C._replace(began=102)]
    lines = typed(("a", 100, "/clear"), ("c", 110, "hello"))
    assert follow(TYPED_LOG, "a", lines, chats).id == "b"


def test_R5_a_clear_without_a_new_conversation_is_no_answer() -> None:
    assert follow(TYPED_LOG, "a", typed(("a", 100, "/clear")), [A]).id == ""


def test_R5_the_same_prompt_in_two_agents_moves_neither() -> None:
    chats = [Chat("a", 0, (SaidLine(100, "go"),)), Chat("b", 0, (SaidLine(101, "go"),))]
    lines = typed(("a", 100, "go"), ("b", 100.5, "go"))
    assert follow(TYPED_LOG, "a", lines, chats) == Followed("a")
    assert follow(TYPED_LOG, "b", lines, chats) == Followed("b")


def test_R5_a_line_that_was_lost_from_the_log_is_made_good_by_the_next_prompt() -> None:
    """Two gemini write one log, and one may write over the other's line."""
    chats = [A, Chat("b", 50, (SaidLine(100.4, "go on"),))]
    assert follow(TYPED_LOG, "a", typed(("a", 100, "go on")), chats).id == "b"


BESIDE = ("z", 90.0, "hello")  # another gemini logs here, too


@pytest.mark.parametrize(
    ("chats", "at"),
    [
        ([A, Chat("b", 200)], 200),  # by a /clear whose line was lost
        ([A, Chat("b", 200, (SaidLine(210, "go"),))], 210),  # both lines were lost
        ([A, Chat("b", 10, (SaidLine(210, "go"),))], 210),  # a /resume and a prompt were lost
    ],
)
def test_R5_what_no_line_of_two_that_log_is_about_is_no_answer(
    chats: list[Chat], at: float
) -> None:
    """Two gemini write one log, and one may write over the other's line."""
    seen = [*chats, Chat("z", 80, (SaidLine(90, "hello"),))]
    lines = typed(BESIDE, ("a", 100, "hi"))
    assert follow(TYPED_LOG, "a", lines, seen) == Followed("", at)
    assert follow(TYPED_LOG, "a", typed(BESIDE), seen) == Followed("", at)


def test_R5_what_is_logged_of_the_neighbour_is_no_doubt() -> None:
    chats = [A, Chat("z", 80, (SaidLine(90, "hello"),)), Chat("y", 201, (SaidLine(210, "go"),))]
    lines = typed(BESIDE, ("a", 100, "hi"), ("z", 200, "/clear"), ("z", 210, "go"))
    assert follow(TYPED_LOG, "a", lines, chats) == Followed("a")
    assert follow(TYPED_LOG, "z", lines, chats).id == "y"


def test_R5_a_prompt_of_its_own_ends_the_doubt() -> None:
    chats = [Chat("a", 0, (SaidLine(300, "so"),)), Chat("b", 200)]
    lines = typed(BESIDE, ("a", 300, "so"))
    assert follow(TYPED_LOG, "a", lines, chats) == Followed("a")


def test_R5_a_prompt_that_two_other_conversations_have_is_no_answer() -> None:
    chats = [A, Chat("b", 0, (SaidLine(100, "go"),)), Chat("c", 0, (SaidLine(100, "go"),))]
    assert follow(TYPED_LOG, "a", typed(("a", 100, "go")), chats).id == ""


def test_a_prompt_that_no_conversation_has_yet_moves_nothing() -> None:
    assert follow(TYPED_LOG, "a", typed(("a", 100, "go")), [A]) == Followed("a")


def test_the_same_words_at_another_time_are_another_prompt() -> None:
    chats = [A, Chat("b", 0, (SaidLine(500, "go"),))]
    assert follow(TYPED_LOG, "a", typed(("a", 100, "go")), chats) == Followed("a")


@pytest.mark.parametrize(
    "text", [b"", b"[", b"{}", b"null", b"x]", b"\xff\xfe", b"[" * 200_000, LOG[:-9]]
)
def test_a_log_that_is_torn_or_foreign_could_not_be_read(text: bytes) -> None:
    """Not "nothing was typed": it may be half written."""
    assert typed_lines(text) is None


@pytest.mark.parametrize("text", [b"[]", b"[1, {}]", b'[{"type": "user"}]'])
def test_a_log_of_other_records_holds_no_line_of_ours(text: bytes) -> None:
    assert [line for line in typed_lines(text) or () if line.process == FIRST] == []


def test_of_a_long_log_the_end_is_read() -> None:
    assert [line.text for line in typed_lines(LOG[-200:]) or ()] == ["say eta"]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"sessionId": 7}', b"[" * 200_000])
def test_a_conversation_that_is_torn_or_foreign_is_none(text: bytes) -> None:
    assert chat(text, text) is None


def test_a_subagents_conversation_is_none_of_ours() -> None:
    assert chat(b'{"sessionId": "x", "kind": "subagent"}\n', b"") is None
