"""quell list."""

import click

from quell.api import Quell
from quell.faces import render
from quell.faces.cli import options


@click.command("list")
@click.option("--all", "-a", "everybody", is_flag=True, help="Also agents that have ended.")
@click.option("--names", "-q", is_flag=True, help="Print names only.")
@options.as_json
def command(*, everybody: bool, names: bool, json_wanted: bool) -> None:
    """Who is there."""
    views = Quell().list(everybody=everybody)
    if json_wanted:
        options.print_json({"agents": [view.to_json() for view in views]})
    elif names:
        for view in views:
            click.echo(view.name)
    elif not views:
        click.echo("no agents; start one: quell spawn claude", err=True)
    else:
        click.echo(render.table(render.AGENT_COLUMNS, [render.agent_row(view) for view in views]))
