"""quell restart."""

from typing import Any

import click

from quell.api import Quell
from quell.faces import told
from quell.faces.cli import options


@click.command("restart")
@options.one_name
@click.option("--resume", is_flag=True, help="Go on with its conversation instead.")
@options.grace
@options.yes
@options.as_json
def command(*, json_wanted: bool, **given: Any) -> None:
    """A fresh run of an agent, linked to its last one. One that still runs is stopped first."""
    from quell.life.restart import RestartWish

    done = Quell().restart(RestartWish(**given))
    agent, run = done.spawned
    pid = run.process.pid if run.process else None
    if json_wanted:
        before = done.receipt.to_json() if done.receipt else None
        options.print_json(
            {
                "ok": True,
                "name": agent.name,
                "run": run.id,
                "restarted_from": run.restarted_from,
                "pid": pid,
                "resumed": done.resumed,
                "receipt": before,
            }
        )
        return
    if done.receipt:
        told.one(done.receipt)
    how = "goes on with its conversation" if done.resumed else "runs afresh"
    click.echo(f"{agent.name}: {how} as PID {pid} in {run.place.name} {run.place.pane}".rstrip())
