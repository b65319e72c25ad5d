"""Prints for the verbs: results on stdout, errors and hints on stderr, each line at once."""

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knell.faces.text.endings import Line


def print_line(text: str) -> None:
    print(text, flush=True)


def print_error(text: str) -> None:
    """One line; what a name or a path holds cannot make it two, nor move the cursor."""
    print(_printable(text), file=sys.stderr, flush=True)


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


def print_result(document: Any, text: str, *, json_wanted: bool, if_empty: str = "") -> None:
    """The result of a verb, as a document or as text; without any text, a word to the person."""
    if json_wanted:
        print_json(document)
    elif text:
        print_line(text)
    elif if_empty:
        print_error(if_empty)


def discard_output() -> None:
    """Sends what is still to be flushed to /dev/null, because the reader of stdout has left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
