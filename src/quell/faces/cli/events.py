"""quell events."""

import json

import click

from quell.api import Quell
from quell.faces import render
from quell.faces.cli import options


@click.command("events")
@click.argument("agent", required=False, default="", shell_complete=options.names_complete)
@click.option("--follow", "-f", is_flag=True, help="Go on printing events as they happen.")
@click.option("--last", "limit", default=50, show_default=True, help="How many.")
@options.as_json
def command(agent: str, *, follow: bool, limit: int, json_wanted: bool) -> None:
    """The audit trail: who did what to whom, when and why. With --follow --json: one line each."""
    quell = Quell()
    events = quell.events(agent=agent, limit=limit)
    if json_wanted and not follow:
        options.print_json({"events": [event._asdict() for event in events]})
        return
    for event in events:
        click.echo(json.dumps(event._asdict()) if json_wanted else render.event_line(event))
    if follow:
        for event in quell.follow(agent=agent, after=events[-1].id if events else 0):
            click.echo(json.dumps(event._asdict()) if json_wanted else render.event_line(event))
