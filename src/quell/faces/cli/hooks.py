"""quell hooks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from quell.api import Quell
from quell.core.hooks import PROGRAMS
from quell.faces import exits
from quell.faces.cli import options

if TYPE_CHECKING:
    from quell.life.hooks import HookReport

ACTIONS = ("install", "uninstall", "status")


@click.command("hooks")
@click.argument("action", type=click.Choice(ACTIONS), default="status")
@click.argument("programs", nargs=-1, type=click.Choice(tuple(PROGRAMS)))
@click.option("--settings", default="", metavar="FILE", help="Another file than the program's own.")
@options.dry_run
@options.as_json
def command(
    action: str, programs: tuple[str, ...], *, settings: str, dry_run: bool, json_wanted: bool
) -> int:
    """Heartbeat hooks for Claude Code, Codex and Gemini; by default all that are here.

    They touch the heartbeat of agents that quell started, and do nothing for others. What else is
    in the settings stays; uninstall gives the file back byte for byte, unless it was edited since.
    """
    from quell.life.hooks import HookWish

    quell = Quell()
    verbs = {
        "install": quell.install_hooks,
        "uninstall": quell.uninstall_hooks,
        "status": quell.hooks,
    }
    reports = verbs[action](HookWish(programs, settings, dry_run))
    code = exits.Exit.FAILED if any(report.error for report in reports) else exits.Exit.DONE
    if json_wanted:
        told = [report._asdict() for report in reports]
        options.print_json({"ok": code == exits.Exit.DONE, "programs": told})
    else:
        _tell(action, reports, dry_run=dry_run)
    return code


def _tell(action: str, reports: "Sequence[HookReport]", *, dry_run: bool) -> None:
    for report in reports:
        if report.error:
            click.echo(f"error: {report.program}: {report.error}", err=True)
            if report.hint:
                click.echo(f"hint: {report.hint}", err=True)
            continue
        click.echo(
            f"{report.program:<7} {_word(action, report, dry_run=dry_run):<15} {report.path}"
        )
        for note in report.notes:
            click.echo(f"        note: {note}")
        if report.diff:
            click.echo(report.diff)
    changed = any(report.changed for report in reports)
    if action == "install" and changed and not dry_run:
        click.echo("sessions that start from now on have them", err=True)


def _word(action: str, report: "HookReport", *, dry_run: bool) -> str:
    if not report.changed:
        return report.state
    if dry_run:
        return f"would {action}"
    return "removed" if action == "uninstall" else report.state
