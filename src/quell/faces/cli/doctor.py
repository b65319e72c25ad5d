"""quell doctor."""

import click

from quell.api import Quell
from quell.faces import render
from quell.faces.cli import options


@click.command("doctor")
@options.as_json
def command(*, json_wanted: bool) -> None:
    """What this machine has, and what agents have left lying around on it. Changes nothing."""
    diagnosis = Quell().doctor()
    if json_wanted:
        options.print_json(
            {
                "findings": [finding._asdict() for finding in diagnosis.findings],
                "orphans": [render.orphan_json(orphan) for orphan in diagnosis.orphans],
                "foreign": [render.member_json(member) for member in diagnosis.foreign],
            }
        )
        return
    for finding in diagnosis.findings:
        click.echo(f"{'ok ' if finding.ok else 'no '} {finding.what:<12} {finding.told}")
        if finding.hint:
            click.echo(f"    {finding.hint}")
    click.echo(render.orphans_text(diagnosis.orphans))
    click.echo(render.foreign_text(diagnosis.foreign))
