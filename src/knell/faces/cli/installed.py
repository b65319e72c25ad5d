"""What `hooks` and `skills` have in common: three actions, and a report about each place."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from knell.faces.cli import output
from knell.faces.exits import Exit

if TYPE_CHECKING:
    from knell.api.results import HookReport, SkillReport

R = TypeVar("R", "HookReport", "SkillReport")
action_argument = click.argument(
    "action", type=click.Choice(("install", "uninstall", "status")), default="status"
)


def print_reports(
    what: str, reports: Sequence[R], print_text: Callable[[Sequence[R]], None]
) -> int:
    """Prints all of them; one that failed is a failure of the whole. `what` names their list."""
    code = Exit.FAILED if any(report.error for report in reports) else Exit.DONE
    if output.json_wanted():
        documents = [report._asdict() for report in reports]
        output.print_json({"ok": code == Exit.DONE, what: documents})
    else:
        print_text(reports)
    return code


def result_word(action: str, report: "HookReport | SkillReport", *, dry_run: bool) -> str:
    if not report.changed:
        return report.state
    if dry_run:
        return f"would {action}"
    return "removed" if action == "uninstall" else report.state
