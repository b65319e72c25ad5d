"""quell demo."""

import os
import shutil
import sys
import tempfile

import click

from quell.api import Quell
from quell.core.receipt import Proof
from quell.faces import render, told
from quell.habits import HABITS, TOLD

SHOWN = ("plain", "daemon", "scrubbed_daemon", "ignores_term", "forker", "stopped", "hopper")


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the state directory for a look afterwards.")
def command(*, keep: bool) -> int:
    """Spawn agents with bad habits in a private tmux server, end them, and count what is left."""
    home = tempfile.mkdtemp(prefix="quell-demo-")
    env = {**os.environ, "QUELL_HOME": home, "TMUX_TMPDIR": home}
    env.pop("TMUX", None)
    place = "tmux" if shutil.which("tmux") else "headless"
    try:
        with Quell(env=env) as quell:
            left = _play(quell, place)
    finally:
        if keep:
            click.echo(f"state kept: QUELL_HOME={home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
    return 3 if left else 0


def _play(quell: Quell, place: str) -> int:
    from quell.life.kill import KillWish
    from quell.life.spawn import Wish

    click.echo(f"Seven agents with bad habits, each in a pane of a private {place} server:")
    for habit in SHOWN:
        argv = (sys.executable, "-S", "-c", HABITS[habit])
        ready = os.path.join(quell.world.home, f"{habit}.ready")
        quell.spawn(
            Wish(
                "command",
                argv,
                name=habit.replace("_", "-"),
                place=place,
                server="demo" if place == "tmux" else "",
                tag="demo",
                env=(("QUELL_READY", ready),),
            )
        )
        while not os.path.exists(ready):
            quell.world.kernel.wait([], 0.01)
        click.echo(f"  {habit.replace('_', '-'):<16} {TOLD[habit]}")
    views = quell.list()
    click.echo("\n$ quell list")
    click.echo(render.table(render.AGENT_COLUMNS, [render.agent_row(view) for view in views]))
    counted = sum(len(quell.show(view.name).members) for view in views)
    click.echo(f"\n{counted} processes in all. $ quell kill all")
    slain = quell.kill(KillWish(("all",)))
    told.slain(slain, verb="Killed")
    receipts = [receipt for one in slain for receipt in one.receipts]
    left = sum(len(members) for run, members in quell.world.kernel.stamps().items()
               if run in {receipt.run for receipt in receipts})  # fmt: skip
    proven = sum(receipt.proof is Proof.PROVEN for receipt in receipts)
    ended = sum(len(receipt.processes) for receipt in receipts)
    click.echo(
        f"\n{ended} processes ended, {proven} of {len(receipts)} endings proven, {left} left."
    )
    return left
