"""quell explain."""

import click

from quell.api import Quell
from quell.faces import verdict_text
from quell.faces.cli import options


@click.command("explain")
@options.one_name
@options.as_json
def command(name: str, *, json_wanted: bool) -> None:
    """Why an agent counts as working, idle, waiting, stalled or unknown.

    Looks now, and at what earlier looks have seen. A sign speaks for life, against it, or neither.
    """
    one = Quell().explain(name)
    if json_wanted:
        options.print_json(verdict_text.as_json(one))
    else:
        click.echo(verdict_text.text(one))
