"""`knell night`: what happened while nobody looked."""

import re
from datetime import UTC, datetime, timedelta

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.faces.cli import options, output

UNITS = {"m": "minutes", "h": "hours", "d": "days"}
HINT = "for example 22:00, 8h, or 2026-11-15T22:00"


@options.verb("night")
@click.option(
    "--since", default="22:00", show_default=True, metavar="TIME",
    help="The last time it was so late; or 8h ago; or a date and time.",
)  # fmt: skip
@options.flag("--html", help="Print a self-contained HTML page.")
@options.utc
def night(*, since: str, html: bool) -> None:
    """Tell what happened while you slept: stalls, restarts, kills, tasks handed back, work rescued.

    \b
    knell night
    knell night --since 8h
    knell night --html > night.html
    """
    from knell.faces.text.night import night_page, night_text

    found = Knell().night(begun(since, datetime.now().astimezone()))
    output.print_result(found.to_json(), night_page(found) if html else night_text(found))


def begun(since: str, now: datetime) -> str:
    """The time that was meant, as the store writes times. `now` has the person's own zone."""
    if found := re.fullmatch(r"(\d{1,2}):(\d\d)", since):
        try:
            at = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        except ValueError as error:
            raise BadRequest(f"{since} is no time of a day", HINT) from error
        at = at if at <= now else at - timedelta(days=1)
    elif found := re.fullmatch(r"(\d{1,5})([mhd])", since):
        at = now - timedelta(**{UNITS[found[2]]: int(found[1])})
    else:
        try:
            at = datetime.fromisoformat(since)
        except ValueError as error:
            raise BadRequest(f"{since!r:.60} is no time", HINT) from error
        at = at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
    try:
        return at.astimezone(UTC).isoformat(timespec="milliseconds")
    except OverflowError as error:
        raise BadRequest(f"{since!r:.60} is no time", HINT) from error
