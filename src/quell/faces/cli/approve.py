"""quell approve."""

from typing import TYPE_CHECKING

import click

from quell.api import Quell
from quell.faces import exits, team_text, told
from quell.faces.cli import options

if TYPE_CHECKING:
    from quell.life.ask import Answered


@click.command("approve")
@click.argument("request", required=False, default="", shell_complete=options.names_complete)
@click.option("--reason", default="", help="What the asker should know.")
@click.option("--finish", is_flag=True, hidden=True, help="End the run; it was approved before.")
@options.as_json
def command(request: str, *, reason: str, finish: bool, json_wanted: bool) -> int:
    """Agree to leave, inside an agent that was asked to: it is ended, and its tasks handed back.

    REQUEST is needed only outside: the id of the request, or the agent's name.
    """
    from quell.core.message import Answer

    team = Quell().team
    answered = (
        team.finish(request)
        if finish
        else team.answer(Answer(request, approved=True, reason=reason))
    )
    return tell(answered, json_wanted=json_wanted)


def tell(answered: "Answered", *, json_wanted: bool) -> int:
    code = exits.of_receipts([answered.receipt] if answered.receipt else [])
    if json_wanted:
        document = team_text.answered_json(answered)
        options.print_json({**document, "ok": code == 0, "success": code == 0})
        return code
    click.echo(team_text.request_text(answered.request))
    if answered.receipt:
        told.one(answered.receipt)
    return code
