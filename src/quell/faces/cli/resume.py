"""quell resume."""

from typing import Any

import click

from quell.api import Quell
from quell.faces.cli import options

WORDS = {
    "resumed": "resumed: it names its earlier conversation",
    "started": "started with its conversation; it tells no more",
    "fresh": "NOT resumed: it came up with another conversation",
    "restarted": "started again",
}


@click.command(
    "resume", context_settings={"allow_interspersed_args": True, "ignore_unknown_options": True}
)
@options.one_name
@click.option(
    "--in", "place", type=click.Choice(["tmux", "kitty", "wezterm", "headless"]), default=None
)
@click.option("--tmux-server", "-L", "server", default="")
@click.option("--session", default="")
@click.option("--cwd", default="", metavar="DIR", help="Instead of where it was.")
@click.option("--conversation", default="", metavar="ID", help="Instead of the one on record.")
@click.option("--registry", default="", metavar="FILE", help="The registry file.")
@options.as_json
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(*, json_wanted: bool, **given: Any) -> None:
    """Continue NAME's conversation in a new run, where and as it was."""
    from quell.life.resume import ResumeWish

    given["place"] = given["place"] or ""
    quell = Quell(registry=given.pop("registry"))
    (agent, run), verdict, warnings = quell.resume(ResumeWish(**given))
    pid = run.process.pid if run.process else None
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if json_wanted:
        told = {"name": agent.name, "kind": agent.kind, "run": run.id, "pid": pid}
        told |= {"conversation": agent.conversation, "verdict": verdict.value}
        options.print_json({**told, "warnings": warnings})
        return
    click.echo(f"{agent.name}: PID {pid} in {run.place.name}, {WORDS[verdict.value]}")
