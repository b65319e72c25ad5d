"""quell team."""

from typing import Any

import click

from quell.api import Quell
from quell.faces import team_text
from quell.faces.cli import options
from quell.faces.cli.team_options import teams_complete

ROLES = ("worker", "reviewer", "task-manager", "leader")


team_name = click.argument("team", shell_complete=teams_complete)


@click.group("team", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Teams: who leads, who belongs to them. Alone: the list. Every subcommand has --json."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_teams)


@command.command("create")
@click.argument("team")
@click.option(
    "--leader", default="", shell_complete=options.names_complete,
    help="Which agent leads; default: the agent that asks, else only you.",
)  # fmt: skip
@click.option(
    "--topology", type=click.Choice(["flat", "hierarchical"]), default="flat",
    help="flat: everybody claims tasks. hierarchical: only leader and task managers hand them out.",
)  # fmt: skip
@click.option("--description", default="", help="What it is for.")
@options.as_json
def create(team: str, *, json_wanted: bool, **given: Any) -> None:
    """Make a team."""
    from quell.life.together.team import TeamWish

    view = Quell().team.create(TeamWish(team, **given))
    if json_wanted:
        options.print_json(team_text.team_json(view))
        return
    click.echo(f"{team}: made, led by {view.team.leader or 'the operator'}")


@command.command("show")
@team_name
@options.as_json
def show(team: str, *, json_wanted: bool) -> None:
    """A team and how its members are."""
    view = Quell().team.show(team)
    if json_wanted:
        options.print_json(team_text.team_json(view))
    else:
        click.echo(team_text.team_text(view))


@command.command("list")
@options.as_json
def list_teams(*, json_wanted: bool) -> None:
    """Every team."""
    views = Quell().team.list()
    if json_wanted:
        options.print_json({"teams": [team_text.team_json(view) for view in views]})
        return
    if not views:
        click.echo("no teams; make one: quell team create NAME", err=True)
    for view in views:
        leader, many = view.team.leader or "the operator", len(view.members)
        click.echo(f"{view.team.name}: led by {leader}, {many} members, {len(view.tasks)} tasks")


@command.command("add")
@team_name
@options.one_name
@click.option("--role", type=click.Choice(ROLES), default="worker", show_default=True)
@options.as_json
def add(team: str, name: str, *, role: str, json_wanted: bool) -> None:
    """Take an agent into a team."""
    member = Quell().team.add(team, name, role)
    if json_wanted:
        options.print_json(member._asdict())
    else:
        click.echo(f"{member.agent}: {member.role} in {team}, {member.colour}")


@command.command("remove")
@team_name
@options.one_name
@options.as_json
def remove(team: str, name: str, *, json_wanted: bool) -> None:
    """An agent leaves a team and lives on; its tasks wait for somebody else."""
    member = Quell().team.remove(team, name)
    if json_wanted:
        options.print_json(member._asdict())
    else:
        click.echo(f"{member.agent}: no longer in {team}")


@command.command("dissolve")
@team_name
@options.as_json
def dissolve(team: str, *, json_wanted: bool) -> None:
    """End a team, not its agents: they live on, in no team."""
    left = Quell().team.dissolve(team)
    if json_wanted:
        options.print_json({"team": team, "members": [member._asdict() for member in left]})
    else:
        click.echo(f"{team}: dissolved; {len(left)} members live on")
