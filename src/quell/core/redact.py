"""Hides what looks like a secret before a screen or a command line is stored."""

import re

SCREEN_LIMIT = 16_384  # characters of a last screen that are kept
LONGEST_READ = 8 * SCREEN_LIMIT

# Each begins where a word does and reads it once: a screen may be one word of a million letters.
_ASSIGNED = re.compile(
    r"(?i)(?<![a-z0-9_-])"
    r"(?=[a-z0-9_-]*?(?:api[_-]?key|token|secret|passw(?:or)?d|authorization|credential))"
    r"([a-z0-9_-]++)"
    r"(\s*[=:]\s*|\s+)(\"[^\"]+\"|'[^']+'|(?:bearer\s+)?[^\s\"']{6,})"
)
_SHAPED = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{12,}|gh[pousr]_[A-Za-z0-9]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_.-]{10,})"
)
_URL_LOGIN = re.compile(r"(\b\w++://[^\s/:@]*:)[^\s/@]+@")


def redacted(text: str) -> str:
    """`text` without keys, tokens and passwords, as far as their shape gives them away."""
    text = _ASSIGNED.sub(r"\1\2[redacted]", text)
    text = _SHAPED.sub("[redacted]", text)
    return _URL_LOGIN.sub(r"\1[redacted]@", text)


def kept_screen(text: str) -> str:
    """The end of a screen, printable and redacted, short enough to store."""
    if len(text) > LONGEST_READ:
        _, _, text = text[-LONGEST_READ:].partition("\n")  # the rest of a torn line
    lines = [line.rstrip() for line in text.splitlines()]
    plain = "".join(c for c in "\n".join(lines).strip("\n") if c.isprintable() or c == "\n")
    return redacted(plain)[-SCREEN_LIMIT:]  # only now: half a secret has no shape
