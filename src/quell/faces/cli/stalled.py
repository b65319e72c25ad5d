"""quell stalled."""

from typing import Any

import click

from quell.api import Quell
from quell.faces import exits, told, verdict_text
from quell.faces.cli import options


@click.command("stalled", cls=options.Ending)
@options.targets
@click.option("--kill", is_flag=True, help="End those who have stalled: TERM, 10 s, KILL.")
@click.option(
    "--older-than", type=float, metavar="SECONDS", help="How long without a sign; default 120."
)
@click.option("--all", "everybody", is_flag=True, help="List the verdict on everybody.")
@options.grace
@options.aftermath
@options.yes
@options.dry_run
@options.as_json
def command(*, kill: bool, everybody: bool, json_wanted: bool, **given: Any) -> int:
    """Who has stalled and why; with --kill, end them.

    Only what surely does not work any more is called stalled: see quell explain NAME. Whoever is
    idle, waits for a person or a quota, or cannot be judged, is never ended. Agents that a stalled
    one has started live on.
    """
    from quell.life.stalled import StalledWish

    quell = Quell()
    if kill or given["dry_run"]:
        found = quell.end_stalled(StalledWish(**given))
    else:
        looked = quell.judged(*given["targets"], older_than=given["older_than"])
        found = [(one, None) for one in looked]
    receipts = [receipt for _, receipt in found if receipt]
    code = exits.of_receipts(receipts)
    if json_wanted:
        agents = [verdict_text.as_json(one) for one, _ in found]
        ended = [receipt.to_json() for receipt in receipts]
        options.print_json({"ok": code == 0, "agents": agents, "receipts": ended})
        return code
    shown = [one for one, _ in found if everybody or one.verdict.activity == "stalled"]
    if shown:
        click.echo(verdict_text.rows(shown))
    else:
        click.echo(f"nobody has stalled ({len(found)} looked at)", err=True)
    for receipt in receipts:
        told.one(receipt)
    return code
