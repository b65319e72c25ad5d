"""quell adopt."""

from typing import Any

import click

from quell.api import Quell
from quell.faces.cli import options

HELD = "a cgroup holds whatever it starts from now on"
NOT_HELD = "no cgroup can be made for it here, so a daemon that it starts may escape"


@click.command("adopt")
@click.argument("target")
@click.option("--name", default="", help="What to call it.")
@click.option("--kind", default="", help="Which program it is; default: recognised.")
@click.option("--tmux-server", "-L", "server", default="", help="tmux server name or socket path.")
@click.option("--tag", default="")
@click.option("--team", default="")
@click.option("--conversation", default="", metavar="ID", help="Its conversation, for resume.")
@options.as_json
def command(*, json_wanted: bool, **given: Any) -> None:
    """Take charge of TARGET: a PID, a tmux %pane, or a tmux session with one pane.

    It has no keeper, so its end can be found, not proven. Where the machine allows it, a cgroup
    holds whatever it starts from now on; the answer says so.
    """
    from quell.life.adopt import AdoptWish

    agent, run = Quell().adopt(AdoptWish(**given))
    pid = run.process.pid if run.process else None
    if json_wanted:
        told = {"name": agent.name, "kind": agent.kind, "run": run.id, "pid": pid}
        options.print_json({**told, "cgroup": bool(run.cgroup)})
    else:
        click.echo(f"{agent.name}: took charge of PID {pid} ({agent.kind}, {run.place.name})")
        click.echo(f"{agent.name}: {HELD if run.cgroup else NOT_HELD}")
