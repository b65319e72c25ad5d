"""What a screen says once everything that merely blinks is taken off it, and what it asks.

Only its lower end may speak: what has scrolled up is past. What an agent quotes stands above the
prompt of its program, and the patterns of the kinds see to it that no prompt follows a question.
"""

import re
import zlib
from collections.abc import Sequence

LOWER = 40  # lines from the bottom in which a program draws its questions
ABOVE = 15  # lines above the first answer in which the question itself is looked for
LONGEST = 200  # characters of a question or notice that are repeated

# Glyphs of spinners and of the dots that blink beside a running tool. Bars that fill are not among
# them: a spinner goes round, a bar goes on.
_SPINNERS = "·•●○◯◦∙✢✣✤✳✴✶✷✸✹✺✻✼✽✦\u2217⏺⊷⊶◐◓◑◒◴◷◶◵◜◝◞◟■⬝▪▫⬥⬦↑↓"
_SPIN = re.compile(f"[{_SPINNERS}\u2800-\u28ff]")
_ASCII_SPIN = re.compile(r"(?m)(?:(?<=^)|(?<=[\s\[(]))[-\\|/](?=$|[\s\])])")
# A word that says that something goes on, and changes for fun: "Quantumizing…", "Thinking..."
_BUSY_LINE = re.compile(
    rf"(?mi)^[ \t]*(?:[{_SPINNERS}*+\u2800-\u28ff]|[-\\|/] )[^\n]*"
    r"(?:…|\.\.\.|\b(?:esc|ctrl\+c) to\b)[^\n]*$"
)
# Hints that come and go below a prompt, and what the program shows about the terminal itself.
_HINT = re.compile(
    r"(?mi)^[^\n]*(?:\b(?:esc to|esc again|esc interrupt|ctrl\+)|\? for shortcuts|\btip:"
    r"|\btmux focus-events)[^\n]*$"
)
# With their units, for 59s becomes 1m 0s and 999 becomes 1.0k.
_FIGURES = re.compile(
    r"(?i)\d+(?:[.,:]\d+)*\s?(?:(?:[kmgt]?i?b(?:/s)?|[kmgh]|ms|s|sec|secs|min|mins|seconds?"
    r"|minutes?|hours?)\b|%)?"
)


def still(screen: str, blinks: Sequence[str] = ()) -> str:
    """The screen without spinners, figures, elapsed times and the words of an animation."""
    for pattern in blinks:
        screen = re.sub(pattern, "", screen)
    text = _HINT.sub("", _BUSY_LINE.sub("", screen))
    text = _FIGURES.sub("", _ASCII_SPIN.sub("", _SPIN.sub("", text)))
    return "\n".join(line for words in text.splitlines() if (line := " ".join(words.split())))


def fingerprint(screen: str, blinks: Sequence[str] = ()) -> str:
    """Another one means that something new stands there."""
    return f"{zlib.crc32(still(screen, blinks).encode(errors='replace')):08x}"


def lower(screen: str) -> str:
    return "\n".join(screen.rstrip().splitlines()[-LOWER:])


def shows(screen: str, pattern: str) -> bool:
    return bool(re.search(pattern, lower(screen)))


def noticed(screen: str, patterns: Sequence[str]) -> str:
    """What one of the patterns finds at its lower end, in one line; empty if none does."""
    text = lower(screen)
    matches = (re.search(pattern, text) for pattern in patterns)
    return next((_one_line(match.group()) for match in matches if match), "")


# Of any program that reads a line: nothing may stand below its question.
_PLAIN = re.compile(
    r"(?i)(?:[\[(](?:y/n|y/n/[^\])]{1,12}|yes/no)(?:/\[fingerprint\])?[\])]\s*[:?>]?"
    r"|\bpress (?:any key|enter|return)\b[^.]{0,40}[.…]*"
    r"|\b(?:password|passphrase)\b[^:\n]{0,60}:)\s*$"
)


def asked(screen: str, patterns: Sequence[str] = ()) -> str:
    """The question that waits for a person, or nothing."""
    text = lower(screen)
    for pattern in patterns:
        match = re.search(pattern, text)
        if match:
            above = text[: match.start()].splitlines()[-ABOVE:]
            asking = [line for line in above if "?" in line.strip(" │┃")[1:]]
            return _one_line(asking[-1] if asking else match.group())
    last = text.rpartition("\n")[2]
    return _one_line(last) if _PLAIN.search(last) else ""


def _one_line(text: str) -> str:
    words = " ".join(text.split()).strip(f"│┃\u276f\u203a {_SPINNERS}")
    return "".join(c for c in words if c.isprintable())[:LONGEST]
