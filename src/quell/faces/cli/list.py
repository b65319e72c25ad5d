"""quell list."""

import click

from quell.faces.cli import options
from quell.faces.listing import listed


@click.command("list")
@click.option("--all", "-a", "everybody", is_flag=True, help="Also agents that have ended.")
@click.option("--names", "-q", is_flag=True, help="Print names only.")
@options.as_json
def command(*, everybody: bool, names: bool, json_wanted: bool) -> int:
    """Who is there."""
    return listed(everybody=everybody, names=names, json_wanted=json_wanted)
