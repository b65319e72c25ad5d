"""quell watch."""

import click

from quell.api import Quell
from quell.core.errors import BadRequest
from quell.faces.cli import options


@click.command("watch")
@click.option("--once", is_flag=True, help="One round, then exit.")
@click.option("--registry", default="", metavar="FILE", help="The registry file.")
@options.dry_run
@options.as_json
def command(*, once: bool, registry: str, dry_run: bool, json_wanted: bool) -> None:
    """Bring the registry file, the store and reality together again; say what drifted."""
    if not once:
        raise BadRequest("only single rounds so far", "quell watch --once, from cron or a loop")
    drifts = Quell(registry=registry).watch_once(dry_run=dry_run)
    if json_wanted:
        told = [
            {"class": d.kind, "session": d.session, "what": d.what, "done": d.done} for d in drifts
        ]
        options.print_json({"drift": told})
        return
    for drift in drifts:
        done = f" → {drift.done}" if drift.done else ""
        click.echo(f"{drift.kind:<13} {drift.session}: {drift.what}{done}")
    if not drifts:
        click.echo("no drift", err=True)
