"""quell stop."""

from collections.abc import Callable
from typing import Any

import click

from quell.api import Quell
from quell.faces import exits, told
from quell.faces.cli import options

PURGE = "Delete the conversation for good? It cannot be resumed any more."


def stop_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `stop` and its older name `delete` have in common."""
    for option in reversed(
        (
            click.option("--graceful", is_flag=True, help="Type its own exit first."),
            click.option("--capture-id", is_flag=True, help="Record the conversation's id first."),
            click.option("--reason", default="", help="Why: user_request, api_error, timeout, …"),
            click.option(
                "--purge-conversation", "purge", is_flag=True,
                help="DANGEROUS: also delete the conversation; it cannot be resumed any more.",
            ),
            click.option("--session", default="", help="A session of the registry file."),
            click.option("--force-no-yaml", is_flag=True, help="Also without a row in the file."),
            click.option("--registry", default="", metavar="FILE", help="The registry file."),
            options.grace,
            options.children,
            options.yes,
            options.dry_run,
            options.as_json,
        )
    ):  # fmt: skip
        function = option(function)
    return function


@click.command("stop")
@options.targets
@click.option(
    "--mode",
    type=click.Choice(["graceful", "soft", "hard"]),
    default=None,
    help="graceful: its own exit first (the default). soft: let go of it, leave the process running"
    " and track it as an orphan. hard: signals at once, outcome terminated.",
)
@click.option("--disconnect", is_flag=True, help="The same as --mode soft.")
@stop_options
def command(targets: tuple[str, ...], *, disconnect: bool, **given: Any) -> int:
    """End agents politely: their own exit, 3 s, TERM, 5 s, KILL. The conversation is kept.

    Without a target inside an agent, that agent stops itself.
    """
    given["mode"] = "soft" if disconnect else given["mode"]
    return carry_out(targets, "stop", given)


def carry_out(targets: tuple[str, ...], verb: str, given: dict[str, Any]) -> int:
    from quell.core.stopping import StopOptions
    from quell.life.stop import StopWish

    wanted = {key: given.pop(key) for key in ("graceful", "capture_id", "reason")}
    stopping = StopOptions(mode=given.pop("mode") or "", **wanted)
    json_wanted, session = given.pop("json_wanted"), given.pop("session")
    unlisted, quell = given.pop("force_no_yaml"), Quell(registry=given.pop("registry"))
    given["yes"] = given["yes"] or (given["purge"] and options.confirmed(PURGE))
    words = options.spelled_out(targets, verb) if targets else ()
    wish = StopWish(targets=words, options=stopping, **given)
    if session:
        slain = quell.stop_session(session, wish, verb=verb, unlisted=unlisted)
    else:
        slain = quell.stop(wish)
    receipts = [receipt for one in slain for receipt in one.receipts]
    code = exits.of_receipts(receipts)
    if json_wanted:
        options.print_json({"ok": code == 0, "receipts": [r.to_json() for r in receipts]})
        return code
    told.slain(slain, verb="Stopped")
    if session and code == exits.Exit.DONE:
        click.echo(f"{verb} complete")
    return code
