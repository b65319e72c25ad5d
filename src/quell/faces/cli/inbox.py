"""quell inbox."""

import click

from quell.api import Quell
from quell.faces import team_text
from quell.faces.cli import options


@click.command("inbox")
@click.argument("name", required=False, default="", shell_complete=options.names_complete)
@click.option("--wait", default=0.0, metavar="SECONDS", help="Wait for the first, 30 at most.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
@click.option("--peek", is_flag=True, help="Leave them unread.")
@click.option("--take", is_flag=True, help="As a person: mark another's letters as read.")
@options.as_json
def command(
    name: str, *, wait: float, limit: int, peek: bool, take: bool, json_wanted: bool
) -> None:
    """The unread messages of the agent that asks; each is read once.

    A person names an agent, and leaves its messages unread unless told to --take them.
    """
    found = Quell().team.inbox(name, wait=wait, limit=limit, peek=peek or bool(name and not take))
    if json_wanted:
        letters = [team_text.letter_json(letter) for letter in found]
        options.print_json({"messages": letters})
    elif found:
        click.echo(team_text.letters_text(found))
    else:
        click.echo("nothing unread", err=True)
