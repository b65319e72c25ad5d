"""Starts several ended agents again with one command; the failure of one stops no other."""

from collections.abc import Callable, Sequence
from typing import Any

from knell.core.errors import KnellError
from knell.faces import exits
from knell.faces.cli import output

Started = tuple[dict[str, Any], str]  # as a document, and as a line for people


def is_group(word: str) -> bool:
    return word == "all" or word.startswith(("tag:", "team:")) or any(m in word for m in "*?[")


def start_each(
    names: Sequence[str], start: Callable[[str], Started], *, json_wanted: bool
) -> exits.Exit:
    """Starts each and says what came of it; the worst exit code wins."""
    documents: list[dict[str, Any]] = []
    worst = exits.Exit.DONE
    for name in names:
        try:
            document, text = start(name)
        except KnellError as error:
            worst = max(worst, exits.of_error(error))
            document = {"name": name, "ok": False, "code": error.code, "message": str(error)}
            output.print_error(f"error: {error}")
            if error.hint:
                output.print_error(f"hint: {error.hint}")
        else:
            document = {**document, "ok": True}
            if not json_wanted:
                output.print_line(text)
        documents.append(document)
    if json_wanted:
        output.print_json({"ok": worst == exits.Exit.DONE, "agents": documents})
    return worst
