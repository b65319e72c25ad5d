"""Reads the pages for readers: their blocks, what a block shows, and why one is not run.

A comment above a block says what is special about it:

    <!-- not run: WHY -->          it is counted, and the reason is printed
    <!-- run by tests/… -->        another test runs it
    <!-- first: COMMAND -->        typed before the block, unseen by readers
    <!-- may differ: WHY -->       it is run, and its answers are not compared
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# These are for builders, and written by scripts from what was measured or found.
FOR_BUILDERS = ("contracts.md", "chaos.md", "e2e.md", "benchmarks.md", "scale.md", "decisions/")
FENCE = re.compile(
    r"(?P<above>(?:^<!--[^\n]*-->\n+)*)^```(?P<language>\S*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMENT = re.compile(
    r"^<!-- (not run|first|may differ): (.*?) -->$|^<!-- (run by) (\S+) -->$", re.MULTILINE
)
EXIT = re.compile(r"\s+# exit (\d+)$")
REMARK = re.compile(r"\s{2,}# .*$")
VARYING = re.compile(r"\d+(?:[.:,]\d+)*|…")


class Typed(NamedTuple):
    """A line that a reader types, and what the page says that it answers."""

    line: str
    code: int
    answer: tuple[str, ...]


class Block(NamedTuple):
    language: str
    text: str
    why_not: str = ""
    run_by: str = ""
    first: tuple[str, ...] = ()
    may_differ: bool = False

    @property
    def runs_here(self) -> bool:
        return not self.why_not and not self.run_by


def for_users() -> list[Path]:
    """The README and every page that is not for builders."""
    pages = sorted(DOCS.rglob("*.md"))
    names = {page: page.relative_to(DOCS).as_posix() for page in pages}
    return [ROOT / "README.md", *(p for p in pages if not names[p].startswith(FOR_BUILDERS))]


def blocks(markdown: str) -> list[Block]:
    found: list[Block] = []
    for fence in FENCE.finditer(markdown):
        notes = [(a or c, b or d) for a, b, c, d in COMMENT.findall(fence["above"])]
        told = dict(notes)
        first = tuple(what for word, what in notes if word == "first")
        found.append(
            Block(
                fence["language"],
                fence["text"],
                told.get("not run", ""),
                told.get("run by", ""),
                first,
                "may differ" in told,
            )
        )
    return found


def typed(text: str) -> list[Typed]:
    """The lines behind `$ `, each with the lines below it, up to the next."""
    found: list[Typed] = []
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            code = EXIT.search(line)
            words = EXIT.sub("", line[2:]) if code else REMARK.sub("", line[2:])
            found.append(Typed(words, int(code[1]) if code else 0, ()))
        elif found and line.strip():
            last = found[-1]
            found[-1] = last._replace(answer=(*last.answer, line))
    return found


def likeness(shown: str) -> re.Pattern[str]:
    """What fits a shown line: its numbers may be others, `…` is anything, blanks do not count."""
    words = VARYING.split(" ".join(shown.split()))
    marks = VARYING.findall(" ".join(shown.split()))
    parts = [re.escape(words[0])]
    for mark, word in zip(marks, words[1:], strict=True):
        parts.append((".*" if mark == "…" else r"[\d.:,]+") + re.escape(word))
    return re.compile("".join(parts))


def unlike(shown: tuple[str, ...], said: str) -> list[str]:
    """The shown lines that were not said, in that order."""
    lines = [" ".join(line.split()) for line in said.splitlines()]
    missing: list[str] = []
    at = 0
    for one in shown:
        fits = likeness(one)
        place = next((i for i in range(at, len(lines)) if fits.fullmatch(lines[i])), None)
        if place is None:
            missing.append(one)
        else:
            at = place + 1
    return missing
