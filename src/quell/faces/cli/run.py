"""quell run."""

from typing import Any

import click

from quell.api import Quell
from quell.faces.cli import options


@click.command("run", context_settings={"allow_interspersed_args": False})
@options.spawn_options
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], **given: Any) -> None:
    """Run an agent in this terminal: run [options] KIND ARGS… or run [options] -- COMMAND ARGS…

    Everything after KIND is the agent's own.

    When it exits, however that happens, everything that it started is ended; the exit code is the
    agent's. Made for: alias claude='quell run claude'
    """
    Quell().run(options.wish_from(words, given))
