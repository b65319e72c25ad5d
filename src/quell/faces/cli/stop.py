"""quell stop."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from quell.api import Quell
from quell.core.errors import BadRequest
from quell.faces import exits, told
from quell.faces.cli import options

if TYPE_CHECKING:
    from quell.life.kill import Slain
    from quell.life.stop import StopWish

PURGE = "Delete the conversation for good? It cannot be resumed any more."
REFRESH = "Re-running will just refresh the timestamp. Continue? (--yes to skip)"
NOT_WRITTEN = "was not written"  # of a row, in the words of life/mirror.py
NOT_DELETED = "not deleted"  # of a conversation, in those of life/purge.py


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
    if words and session:
        raise BadRequest("--session names the one to end", f"leave out {', '.join(words)}")
    wish = StopWish(targets=words, options=stopping, **given)
    if not session:
        return answer(quell.stop(wish), wish, json_wanted=json_wanted)
    slain = quell.stop_session(session, wish, verb=verb, unlisted=unlisted)
    if not json_wanted and needs_refresh(slain):
        told.slain(slain, verb="Stopped")
        if not options.confirmed(REFRESH):
            click.echo(REFRESH)
            return exits.Exit.DONE
        wish = wish._replace(yes=True)
        slain = quell.stop_session(session, wish, verb=verb, unlisted=unlisted)
    code = answer(slain, wish, json_wanted=json_wanted)
    if not json_wanted and code == exits.Exit.DONE and was_done(slain, wish):
        click.echo(f"{verb} complete")
    return code


def answer(slain: "list[Slain]", wish: "StopWish", *, json_wanted: bool) -> int:
    """Prints what came of it; a row or a conversation that stayed as it was is a failure."""
    receipts = [receipt for one in slain for receipt in one.receipts]
    code = exits.of_receipts(receipts)
    warnings = [text for receipt in receipts for text in receipt.warnings]
    failed = any(words in text for text in warnings for words in (NOT_WRITTEN, NOT_DELETED))
    failed = failed or (wish.purge and any(r.conversation.exists for r in receipts))
    if code == exits.Exit.DONE and failed and not wish.dry_run:
        code = exits.Exit.FAILED
    if json_wanted:
        options.print_json({"ok": code == 0, "receipts": [r.to_json() for r in receipts]})
    else:
        told.slain(slain, verb="Stopped")
    return code


def needs_refresh(slain: "list[Slain]") -> bool:
    return any(r.detail.startswith("Already terminated") for one in slain for r in one.receipts)


def was_done(slain: "list[Slain]", wish: "StopWish") -> bool:
    """Whether anything changed: a row that was left alone has nobody who ended it."""
    receipts = [receipt for one in slain for receipt in one.receipts]
    return not wish.dry_run and any(r.by or r.conversation.purged for r in receipts)
