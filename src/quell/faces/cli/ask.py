"""quell ask."""

from typing import TYPE_CHECKING, Any

import click

from quell.api import Quell
from quell.core.errors import BadRequest
from quell.faces import team_text
from quell.faces.cli import options

if TYPE_CHECKING:
    from quell.core.shutdown import Request


@click.command("ask")
@options.one_name
@click.option("--reason", default="", help="Why; the agent reads it.")
@click.option(
    "--deadline", type=float, metavar="SECONDS", help="For its answer; default 60, 0: for ever."
)
@click.option(
    "--overdue", type=click.Choice(["force", "report"]), default="force", show_default=True,
    help="What quell watch does about one that does not answer.",
)  # fmt: skip
@click.option("--wait", default=0.0, metavar="SECONDS", help="Wait for what comes of it.")
@click.option("--withdraw", is_flag=True, help="Take the request back.")
@options.as_json
def command(name: str, *, wait: float, withdraw: bool, json_wanted: bool, **given: Any) -> None:
    """Ask an agent to leave. It finds the request in its inbox and answers: quell approve, or
    quell reject --reason WHY. An agent that agrees is ended, whoever is there to see it."""
    from quell.life.together.ask import AskWish

    if withdraw and (given["reason"] or wait):
        raise BadRequest("--withdraw takes a request back", "leave out --reason and --wait")
    quell = Quell()
    if withdraw:
        request = quell.team.withdraw(name)
    else:
        request = quell.team.ask(AskWish(name, **given))
        request = quell.team.awaited(request.id, wait) if wait else request
    tell(quell, request, json_wanted=json_wanted)


def tell(quell: Quell, request: "Request", *, json_wanted: bool) -> None:
    if not json_wanted:
        click.echo(team_text.request_text(request))
        return
    over = request.phase in ("confirmed", "force_killed")
    receipt = quell.receipt(request.run) if over else None
    options.print_json(team_text.asked_json(request, receipt))
