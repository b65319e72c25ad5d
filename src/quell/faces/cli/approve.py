"""quell approve."""

import click

from quell.api import Quell
from quell.faces.cli import options
from quell.faces.cli.team_options import tell_answer


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
    return tell_answer(answered, json_wanted=json_wanted)
