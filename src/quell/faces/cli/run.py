"""quell run."""

from typing import Any

import click

from quell.api import Quell
from quell.faces.cli import options


@click.command("run", context_settings={"ignore_unknown_options": True})
@options.spawn_options
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], **given: Any) -> None:
    """Run an agent in this terminal: run KIND [ARGS…] or run -- COMMAND ARGS…

    When it exits, however that happens, everything that it started is ended; the exit code is the
    agent's. Made for: alias claude='quell run claude'
    """
    Quell().run(options.wish_from(words, given))
