"""quell status."""

import click

from quell.api import Quell
from quell.faces import render
from quell.faces.cli import options


@click.command("status")
@click.argument("name", required=False, shell_complete=options.names_complete)
@options.as_json
@click.pass_context
def command(ctx: click.Context, name: str | None, *, json_wanted: bool) -> None:
    """How everybody is, and which processes were orphaned. With NAME: the same as show."""
    if name:
        from quell.faces.cli.show import command as show

        ctx.invoke(show, name=name, json_wanted=json_wanted)
        return
    status = Quell().status()
    if json_wanted:
        options.print_json(
            {
                "host": status.host,
                "home": status.home,
                "states": status.states,
                "outcomes": status.outcomes,
                "agents": [view.to_json() for view in status.agents],
                "orphans": [render.orphan_json(orphan) for orphan in status.orphans],
                "interrupted": status.interrupted,
                "watcher": status.watcher,
            }
        )
        return
    click.echo(render.status_text(status))
