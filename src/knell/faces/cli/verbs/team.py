"""`knell team` manages teams and their members."""

from typing import Any

import click

from knell.api import Knell
from knell.faces.cli import complete, options, output
from knell.faces.text import teams as team_text
from knell.faces.text.tables import counted

ROLES = ("worker", "reviewer", "task-manager", "leader")
team_name = click.argument("team", shell_complete=complete.teams)


@click.group("team", cls=options.CommandGroup, invoke_without_command=True)
@options.as_json
@click.pass_context
def command(ctx: click.Context) -> None:
    """Manage teams. Without a subcommand it lists them.

    \b
    knell team create red --leader boss
    knell team add red luna
    knell team show red
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_teams)


@command.command("create")
@click.argument("team")
@options.text(
    "--leader", shell_complete=complete.agents,
    help="The agent that leads; default: the one that runs this command, else you.",
)  # fmt: skip
@options.choice(
    "--topology", words=("flat", "hierarchical"), default="flat",
    help="flat: every member claims tasks. hierarchical: leader and task managers hand them out.",
)  # fmt: skip
@options.text("--description", help="What the team is for.")
def create(team: str, **given: Any) -> None:
    """Make a team."""
    view = Knell().team(team).create(**given)
    text = f"{team}: created, led by {view.team.leader or 'the operator'}"
    output.print_result(team_text.team_json(view), text)


@command.command("show")
@team_name
def show(team: str) -> None:
    """Show a team and its members."""
    view = Knell().team(team).show()
    output.print_result(team_text.team_json(view), team_text.team_text(view))


@command.command("list")
def list_teams() -> None:
    """List every team."""
    views = Knell().teams()
    output.print_result(
        {"teams": [team_text.team_json(view) for view in views]},
        "\n".join(team_text.team_line(view) for view in views),
        if_empty="no teams; create one: knell team create NAME",
    )


@command.command("add")
@team_name
@options.one_name
@options.choice("--role", words=ROLES, default="worker", help="Its role in the team.")
def add(team: str, name: str, *, role: str) -> None:
    """Add an agent to a team."""
    member = Knell().team(team).add(name, role)
    text = f"{member.agent}: {member.role} in {team}, {member.colour}"
    output.print_result(member._asdict(), text)


@command.command("remove")
@team_name
@options.one_name
def remove(team: str, name: str) -> None:
    """Remove an agent from a team. It lives on; its tasks wait for another member."""
    member = Knell().team(team).remove(name)
    output.print_result(member._asdict(), f"{member.agent}: no longer in {team}")


@command.command("dissolve")
@team_name
def dissolve(team: str) -> None:
    """End a team. Its agents live on, without a team."""
    knell = Knell()
    left = knell.team(team).dissolve()
    live = {agent.name for agent in knell.list()}
    number = sum(member.agent in live for member in left)
    text = f"{team}: dissolved; {counted(number, 'member')} {'lives' if number == 1 else 'live'} on"
    output.print_result({"team": team, "members": [member._asdict() for member in left]}, text)
