"""quell kill."""

from typing import Any

import click

from quell.faces.cli import options
from quell.faces.killing import killed


@click.command("kill", cls=options.Ending)
@options.targets
@options.grace
@click.option("--force", "-f", is_flag=True, help="KILL at once, without TERM.")
@click.option("--reason", "detail", default="", help="Why; kept in the receipt and the events.")
@click.option("--strict-pane", is_flag=True, help="Exit 1 if a pane could not be closed.")
@click.option("--dissolve", is_flag=True, help="Of a leader: dissolve its team as well.")
@options.children
@options.aftermath
@options.yes
@options.dry_run
@options.as_json
def command(targets: tuple[str, ...], **given: Any) -> int:
    """End agents surely, with every process they ever started.

    TARGETS are names, PIDs, pid:N, tag:X, team:X, session:X, %pane, globs, all, or - to read them
    from standard input. TERM to the process group, 2 seconds, KILL; the pane is closed last.
    """
    return killed(targets, **given)
