"""quell receipt."""

import click

from quell.api import Quell
from quell.faces.cli import options


@click.command("receipt")
@options.one_name
@click.option("--html", is_flag=True, help="A self-contained page.")
@click.option("--screen", is_flag=True, help="Also the last screen of the pane.")
@options.as_json
def command(name: str, *, html: bool, screen: bool, json_wanted: bool) -> None:
    """The proof of the newest ending of NAME (an agent, or a run's id)."""
    receipt = Quell().receipt(name)
    if json_wanted:
        options.print_json(receipt.to_json())
    elif html:
        from quell.faces.receipt_page import page

        click.echo(page(receipt))
    else:
        from quell.faces.receipt_text import text

        click.echo(text(receipt, screen=screen))
