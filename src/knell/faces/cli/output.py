"""Prints for the verbs: results on stdout, errors and hints on stderr, each line at once."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knell.core.ports.fleet import FleetEvent
    from knell.core.ports.store import Event
    from knell.faces.text.endings import Line


class _Format:
    json = False  # --json was given


def choose_json(*, wanted: bool) -> None:
    """From now on results are printed as documents, or as text for people."""
    _Format.json = wanted


def json_wanted() -> bool:
    return _Format.json


def can_ask() -> bool:
    """Whether a person is there to be asked, and reads the question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_person(question: str) -> bool:
    """Asks the person at the terminal; without a terminal the answer is no."""
    if not can_ask():
        return False
    import click

    return click.confirm(question, err=True)


def has_terminal() -> bool:
    """Whether an agent, or the live screen, could take the terminal of this command."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def print_line(text: str) -> None:
    print(text, flush=True)


def print_error(text: str) -> None:
    """One line; what a name or a path holds cannot make it two, nor move the cursor."""
    print(_printable(text), file=sys.stderr, flush=True)


def print_trouble(what: str, hint: str) -> None:
    print_error(f"error: {what}")
    if hint:
        print_error(f"hint: {hint}")


def print_lines(lines: "Iterable[Line]") -> None:
    for line in lines:
        (print_error if line.error else print_line)(_printable(line.text))


def _printable(text: str) -> str:
    if text.isprintable():  # as nearly always: then nothing need be loaded
        return text
    from knell.faces.text.terminal import printable

    return printable(text)


def print_json(document: Any) -> None:
    """One JSON document, for `--json`."""
    import json

    print_line(json.dumps(document, ensure_ascii=False, indent=2))


def print_result(document: Any, text: str, *, if_empty: str = "") -> None:
    """The result of a verb, as a document or as text; without any text, a word to the person."""
    if _Format.json:
        print_json(document)
    elif text:
        print_line(text)
    elif if_empty:
        print_error(if_empty)


def print_trail(
    found: "Sequence[Event | FleetEvent]", line: "Callable[[Any], str]",
    more: "Iterable[Event | FleetEvent] | None",
) -> None:  # fmt: skip
    """Events as they were, and `more` as they come: then each is a document of its own."""
    import json

    if more is None and _Format.json:
        print_json({"events": [event._asdict() for event in found]})
        return
    for events in (found, more or ()):
        for event in events:
            print_line(json.dumps(event._asdict()) if _Format.json else line(event))


def discard_output() -> None:
    """Sends what is still to be flushed to /dev/null, because the reader of stdout has left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
