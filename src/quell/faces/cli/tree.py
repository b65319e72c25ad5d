"""quell tree."""

import click

from quell.api import Quell
from quell.faces import render
from quell.faces.cli import options


@click.command("tree")
@options.one_name
@options.as_json
def command(name: str, *, json_wanted: bool) -> None:
    """The live processes of an agent, and how each is known to be its own."""
    story = Quell().show(name)
    if json_wanted:
        options.print_json({"agent": story.agent.name, "processes": render.members_json(story)})
    elif not story.members:
        click.echo(f"'{story.agent.name}' has no live process", err=True)
    else:
        click.echo(render.tree_text(story.members))
