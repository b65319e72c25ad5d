"""quell delete."""

from typing import Any

import click

from quell.faces.cli import options
from quell.faces.cli.stop import carry_out, stop_options


@click.command("delete")
@options.targets
@click.option("--mode", type=click.Choice(["graceful", "soft", "hard"]), default="hard")
@stop_options
def command(targets: tuple[str, ...], **given: Any) -> int:
    """The older name of stop --mode hard: signals at once, outcome terminated."""
    return carry_out(targets, "delete", given)
