"""`knell hooks` installs and removes heartbeat hooks in the settings of programs."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from knell.api import Knell
from knell.faces.cli import complete, options, output
from knell.faces.cli.installed import action_argument, print_reports, result_word

if TYPE_CHECKING:
    from knell.api.results import HookReport


@options.verb("hooks")
@action_argument
@click.argument("programs", nargs=-1, shell_complete=complete.with_hooks)
@options.text("--settings", metavar="FILE", help="The settings file; default: the program's own.")
@options.dry_run
def command(action: str, programs: tuple[str, ...], *, settings: str, dry_run: bool) -> int:
    """Install or remove heartbeat hooks in the settings of agent programs; default: of all here.

    The hooks touch the heartbeat of agents that knell started, and do nothing for other agents.
    Other settings stay as they are. Uninstalling restores the file byte for byte, unless it was
    edited in the meantime.

    \b
    knell hooks status
    knell hooks install claude --dry-run
    knell hooks uninstall
    """
    hooks = Knell().hooks
    if action == "status":
        reports = hooks.status(*programs, settings=settings)
    else:
        change = hooks.install if action == "install" else hooks.uninstall
        reports = change(*programs, settings=settings, dry_run=dry_run)
    return print_reports("programs", reports, partial(_print_text, action, dry_run=dry_run))


def _print_text(action: str, reports: "Sequence[HookReport]", *, dry_run: bool) -> None:
    for report in reports:
        if report.error:
            output.print_error(f"error: {report.program}: {report.error}")
            if report.hint:
                output.print_error(f"hint: {report.hint}")
            continue
        word = result_word(action, report, dry_run=dry_run)
        click.echo(f"{report.program:<7} {word:<15} {report.path}")
        for note in report.notes:
            click.echo(f"        note: {note}")
        if report.diff:
            click.echo(report.diff)
    changed = any(report.changed for report in reports)
    if action == "install" and changed and not dry_run:
        click.echo("sessions that start from now on have the hooks", err=True)
