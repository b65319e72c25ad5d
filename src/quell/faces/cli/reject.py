"""quell reject."""

import click

from quell.api import Quell
from quell.faces.cli import options
from quell.faces.cli.team_options import tell_answer


@click.command("reject")
@click.argument("request", required=False, default="", shell_complete=options.names_complete)
@click.option("--reason", default="", help="Why not; the asker reads it.")
@options.as_json
def command(request: str, *, reason: str, json_wanted: bool) -> int:
    """Refuse to leave, inside an agent that was asked to: it goes on, and may be asked again.

    REQUEST is needed only outside: the id of the request, or the agent's name.
    """
    from quell.core.message import Answer

    answered = Quell().team.answer(Answer(request, approved=False, reason=reason))
    return tell_answer(answered, json_wanted=json_wanted)
