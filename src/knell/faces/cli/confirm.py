"""Asks the person at a terminal before an ending that is wide or may cost work.

Without a terminal nothing is asked: a script means what it says."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from knell.core.receipt import Result
from knell.faces.cli import output

if TYPE_CHECKING:
    from knell.core.receipt import Endings, Receipt

MANY = 5  # agents that may be ended by a group's name without a question
SHOWN = 12  # agents of the preview that are shown; the others are counted


def is_wide(targets: Sequence[str]) -> bool:
    """Whether the words may mean more than the person has in mind."""
    groups = [word for word in targets if ":" in word or any(mark in word for mark in "*?[")]
    return "all" in targets or bool(groups) or len(targets) > MANY


def ask_if_confirmed(targets: Sequence[str], preview: "Callable[[], Endings]", verb: str) -> bool:
    """Shows what `--dry-run` shows and asks, if `all` was said, or many are meant, or a cleanup
    would touch uncommitted work. If other agents are meant by then, asks again; True for a yes."""
    shown: set[str] = set()
    while True:
        would = [one for one in preview() if one.result is Result.WOULD_END]
        runs = {one.run for one in would}
        if runs == shown or not needs_question(targets, would):
            return True
        if shown:
            output.print_error("Meanwhile other agents are meant:")
        shown = runs
        if not _ask(would, verb):
            return False


def needs_question(targets: Sequence[str], would: "Sequence[Receipt]") -> bool:
    everybody = "all" in targets and bool(would)
    # The cleanup meets work that is in no commit, or would save some.
    costs_work = any(one.cleaning.rescue or one.cleaning.uncommitted for one in would)
    return everybody or len(would) > MANY or costs_work


def _ask(would: "Sequence[Receipt]", verb: str) -> bool:
    from knell.faces.text import endings as endings_text

    for receipt in would[:SHOWN]:
        for line in endings_text.receipt_lines(receipt):
            output.print_error(line.text)
    if len(would) > SHOWN:
        output.print_error(f"… and {len(would) - SHOWN} more")
    many = "this agent" if len(would) == 1 else f"these {len(would)} agents"
    return output.ask_person(f"{verb.capitalize()} {many}? (--yes to skip this question)")
