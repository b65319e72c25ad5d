"""quell beat."""

import click

from quell.api import Quell
from quell.faces.cli import options


@click.command("beat")
@click.argument("name", required=False, default="", shell_complete=options.names_complete)
@options.as_json
def command(name: str, *, json_wanted: bool) -> None:
    """One sign of life: of the agent that runs this command, or of NAME.

    The same as touch "$QUELL_HEARTBEAT", which is cheaper. An agent that has beaten once is
    expected to go on: silent for 2 minutes, it counts as stalled.
    """
    path = Quell().beat(name)
    if json_wanted:
        options.print_json({"ok": True, "heartbeat": path})
