"""quell reap."""

import click

from quell.api import Quell
from quell.core.errors import BadRequest
from quell.core.selector import is_number
from quell.faces import exits, render, told
from quell.faces.cli import options


@click.command("reap")
@click.argument("names", nargs=-1, shell_complete=options.names_complete)
@click.option("--foreign", is_flag=True, help="Also leftovers of agents that quell did not start.")
@options.grace
@options.yes
@options.dry_run
@options.as_json
def command(
    names: tuple[str, ...],
    *,
    foreign: bool,
    grace: float | None,
    yes: bool,
    dry_run: bool,
    json_wanted: bool,
) -> int:
    """List what outlived its agent; with --yes, end it. NAMES limit it to those agents.

    With --foreign, leftovers of agents that quell did not start are listed too; they are ended only
    if you name their PIDs: quell reap --foreign PID… --yes
    """
    quell = Quell()
    if foreign and names:
        if not yes and not dry_run:
            raise BadRequest("ending foreign processes needs --yes", "add --yes if you mean it")
        return _end_foreign(quell, names, dry_run=dry_run, json_wanted=json_wanted)
    reaped = quell.reap(*names, end=yes, grace=grace, dry_run=dry_run)
    strangers = quell.foreign() if foreign else []
    code = exits.of_receipts(end.receipt for end in reaped.ends)
    if json_wanted:
        options.print_json(
            {
                "ok": code == 0,
                "orphans": [render.orphan_json(orphan) for orphan in reaped.orphans],
                "receipts": [end.receipt.to_json() for end in reaped.ends],
                "foreign": [render.member_json(member) for member in strangers],
            }
        )
        return code
    if reaped.ends:
        told.reaped(reaped.ends)
    else:
        click.echo(render.orphans_text(reaped.orphans))
        if reaped.orphans:
            click.echo("hint: end them with quell reap --yes", err=True)
    if foreign:
        click.echo(render.foreign_text(strangers))
    return code


def _end_foreign(quell: Quell, names: tuple[str, ...], *, dry_run: bool, json_wanted: bool) -> int:
    if not all(is_number(name) for name in names):
        raise BadRequest("with --foreign, name PIDs", "quell reap --foreign lists them")
    ends = quell.reap_foreign([int(name) for name in names], dry_run=dry_run)
    code = exits.of_receipts(one.receipt for one in ends)
    if json_wanted:
        options.print_json({"ok": code == 0, "receipts": [one.receipt.to_json() for one in ends]})
    else:
        told.reaped(ends)
    return code
