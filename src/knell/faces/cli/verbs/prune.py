"""`knell prune`: removes ended runs that are older than people want to keep them."""

import json
from typing import TYPE_CHECKING

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.faces import exits
from knell.faces.cli import options, output
from knell.faces.text.tables import counted
from knell.faces.text.terminal import clock, size

if TYPE_CHECKING:
    from knell.core.receipt import Receipt


@options.verb("prune")
@click.option(
    "--days", type=float, metavar="DAYS", help="How old; default: the setting retention.days (30)."
)
@click.option(
    "--export", metavar="FILE", help="First write their receipts into a new file, one JSON a line."
)
@options.dry_run
def prune(*, days: float | None, export: str | None, dry_run: bool) -> int:
    """Remove ended runs that are older than the setting retention.days, with what they left.

    The newest run of each agent stays, so that every agent can still be resumed. The watch does
    this too, once a day, after its backup.

    \b
    knell prune --dry-run
    knell prune --days 7 --export receipts.jsonl
    """
    knell = Knell()
    receipts: list[Receipt] = []
    if export:
        wanted = knell.prune(days=days, export=receipts.append, dry_run=True)
        if not dry_run and wanted.runs:
            _write(export, receipts)
    found = knell.prune(days=days, dry_run=dry_run)
    would = "Would remove" if dry_run else "Removed"
    runs = counted(len(found.runs), "run")
    text = f"{would} {runs} that ended before {clock(found.before)} ({size(found.freed / 2**20)})"
    output.print_result(found.to_json(), text)
    for kept in found.kept:
        output.print_error(f"kept {kept}")
    return exits.Exit.DONE


def _write(path: str, receipts: "list[Receipt]") -> None:
    """Nothing is removed unless every receipt is in the file."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.writelines(json.dumps(receipt.to_json()) + "\n" for receipt in receipts)
    except OSError as error:
        raise BadRequest(f"cannot write {path}: {error.strerror}", "name a new file") from error
