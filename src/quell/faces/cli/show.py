"""quell show."""

import click

from quell.api import Quell
from quell.faces import render
from quell.faces.cli import options


@click.command("show")
@options.one_name
@options.as_json
def command(name: str, *, json_wanted: bool) -> None:
    """Everything about one agent: its runs, its processes, its last receipt, how to resume it."""
    story = Quell().show(name)
    if json_wanted:
        options.print_json(render.story_json(story))
    else:
        click.echo(render.story_text(story))
