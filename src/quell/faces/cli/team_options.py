"""What the verbs of teams share: completion, and how an answer to being asked to leave is told."""

from typing import TYPE_CHECKING

import click

from quell.api import Quell
from quell.core.errors import QuellError
from quell.faces import exits, team_text, told
from quell.faces.cli import options

if TYPE_CHECKING:
    from quell.life.together.ask import Answered


def teams_complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """A broken store completes nothing."""
    try:
        found = Quell().team.list()
    except QuellError:
        return []
    return [view.team.name for view in found if view.team.name.startswith(incomplete)]


def tasks_complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    try:
        found = Quell().team.tasks()
    except QuellError:
        return []
    return [task.id for task in found if task.id.startswith(incomplete)]


def tell_answer(answered: "Answered", *, json_wanted: bool) -> int:
    code = exits.of_receipts([answered.receipt] if answered.receipt else [])
    if json_wanted:
        document = team_text.answered_json(answered)
        options.print_json({**document, "ok": code == 0, "success": code == 0})
        return code
    click.echo(team_text.request_text(answered.request))
    if answered.receipt:
        told.one(answered.receipt)
    return code
