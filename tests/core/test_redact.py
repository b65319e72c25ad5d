"""Secrets do not reach the record; everything else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quell.core.redact import SCREEN_LIMIT, kept_screen, redacted

SECRETS = {
    "assignment": ("export OPENAI_API_KEY=Zx81kQpl", "Zx81kQpl"),
    "quoted": ('api_key: "correct horse battery"', "correct horse battery"),
    "header": ("Authorization: Bearer abcdef123456", "abcdef123456"),
    "option": ("login --password hunter2hunter2", "hunter2hunter2"),
    "anthropic": ("key sk-ant-api03-AbCdEfGhIjKlMnOp here", "sk-ant-api03-AbCdEfGhIjKlMnOp"),
    "github": ("remote ghp_abcdefghijklmnop1234 ok", "ghp_abcdefghijklmnop1234"),
    "slack": ("xoxb-1234567890-abc", "xoxb-1234567890-abc"),
    "aws": ("id AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
    "google": ("AIzaSyA-1234567890abcdefghijklmnopqrst", "AIzaSyA-1234567890abcdefghijklmnopqrst"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "eyJzdWIiOiIxMjM0NTY3ODkwIn0"),
    "url": ("git clone https://ada:s3cr3t@example.org/x", "s3cr3t"),
}
HARMLESS = [
    "the tokenizer is slow",
    "password:",
    "max_tokens 5",
    "https://example.org/a:b",
    "sk-",
    "git status",
    "",
]


@pytest.mark.parametrize(("line", "secret"), SECRETS.values(), ids=SECRETS)
def test_a_secret_is_hidden(line: str, secret: str) -> None:
    hidden = redacted(line)
    assert secret not in hidden
    assert "[redacted]" in hidden


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_text_is_left_alone(line: str) -> None:
    assert redacted(line) == line


def test_what_surrounds_a_secret_stays() -> None:
    assert redacted("a TOKEN=abcdefgh b") == "a TOKEN=[redacted] b"


@given(st.text(max_size=300))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    assert redacted(redacted(text)) == redacted(text)


@given(st.text())
def test_a_kept_screen_is_printable_and_short(text: str) -> None:
    kept = kept_screen(text)
    assert len(kept) <= SCREEN_LIMIT * 2
    assert all(char.isprintable() or char == "\n" for char in kept)


def test_the_end_of_a_long_screen_is_kept() -> None:
    kept = kept_screen("first\n" + "x" * (2 * SCREEN_LIMIT) + "\nlast line\n\n\n")
    assert kept.endswith("\nlast line")
    assert "first" not in kept
    assert len(kept) <= SCREEN_LIMIT


def test_escape_codes_do_not_survive_in_a_kept_screen() -> None:
    assert kept_screen("\x1b[31mred\x1b[0m \x07bell\r\nnext  \n") == "[31mred[0m bell\nnext"


def test_a_secret_across_the_cut_is_not_half_shown() -> None:
    secret = "sk-ant-" + "A" * 40
    kept = kept_screen("API_KEY=" + secret + "\n" + "y" * (SCREEN_LIMIT - 30))
    assert "AAAA" not in kept
