"""quell stop."""

from typing import Any

import click

from quell.api import Quell
from quell.faces import exits, told
from quell.faces.cli import options


@click.command("stop")
@options.targets
@click.option(
    "--mode",
    type=click.Choice(["graceful", "soft"]),
    default="graceful",
    help="soft: let go of it, leave the process running and track it as an orphan.",
)
@click.option("--disconnect", is_flag=True, help="The same as --mode soft.")
@click.option("--reason", default="", help="Why; kept in the receipt and the events.")
@options.grace
@options.children
@options.yes
@options.dry_run
@options.as_json
def command(targets: tuple[str, ...], **given: Any) -> int:
    """End agents politely: their own exit, 3 s, TERM, 5 s, KILL. The conversation is kept.

    Without a target inside an agent, that agent stops itself.
    """
    from quell.life.stop import StopWish

    json_wanted = given.pop("json_wanted")
    soft = given.pop("mode") == "soft" or given["disconnect"]
    given.pop("disconnect")
    words = options.spelled_out(targets, "stop") if targets else ()
    slain = Quell().stop(StopWish(targets=words, soft=soft, **given))
    receipts = [receipt for one in slain for receipt in one.receipts]
    code = exits.of_receipts(receipts)
    if json_wanted:
        options.print_json({"ok": code == 0, "receipts": [r.to_json() for r in receipts]})
    else:
        told.slain(slain, verb="Stopped")
    return code
