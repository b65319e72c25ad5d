"""The verbs that manage teams and their members, and the work of teams: team, task."""

from typing import Any

import click

from knell.api import Knell
from knell.faces.cli import complete, options, output
from knell.faces.cli.started import print_warnings
from knell.faces.text import teams as team_text
from knell.faces.text.tables import counted

ROLES = ("worker", "reviewer", "task-manager", "leader")
team_name = click.argument("team", shell_complete=complete.teams)
task_id = click.argument("task", shell_complete=complete.tasks)
claim_number = click.option(
    "--claim", "token", type=int, metavar="N",
    help="The number that the claim printed; default: the claim of this run.",
)  # fmt: skip


@click.group("team", cls=options.CommandGroup, invoke_without_command=True)
@options.as_json
@click.pass_context
def teams(ctx: click.Context) -> None:
    """Manage teams. Without a subcommand it lists them.

    \b
    knell team create red --leader boss
    knell team add red luna
    knell team show red
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_teams)


@teams.command("create")
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


@teams.command("show")
@team_name
def show_team(team: str) -> None:
    """Show a team and its members."""
    view = Knell().team(team).show()
    output.print_result(team_text.team_json(view), team_text.team_text(view))


@teams.command("list")
def list_teams() -> None:
    """List every team."""
    views = Knell().teams()
    output.print_result(
        {"teams": [team_text.team_json(view) for view in views]},
        "\n".join(team_text.team_line(view) for view in views),
        if_empty="no teams; create one: knell team create NAME",
    )


@teams.command("add")
@team_name
@options.one_name
@options.choice("--role", words=ROLES, default="worker", help="Its role in the team.")
def add_member(team: str, name: str, *, role: str) -> None:
    """Add an agent to a team."""
    member = Knell().team(team).add(name, role)
    text = f"{member.agent}: {member.role} in {team}, {member.colour}"
    output.print_result(member._asdict(), text)


@teams.command("remove")
@team_name
@options.one_name
def remove(team: str, name: str) -> None:
    """Remove an agent from a team. It lives on; its tasks wait for another member."""
    member = Knell().team(team).remove(name)
    output.print_result(member._asdict(), f"{member.agent}: no longer in {team}")


@teams.command("dissolve")
@team_name
def dissolve(team: str) -> None:
    """End a team. Its agents live on, without a team."""
    knell = Knell()
    left = knell.team(team).dissolve()
    live = {agent.name for agent in knell.list()}
    number = sum(member.agent in live for member in left)
    text = f"{team}: dissolved; {counted(number, 'member')} {'lives' if number == 1 else 'live'} on"
    output.print_result({"team": team, "members": [member._asdict() for member in left]}, text)


# -- tasks -------------------------------------------------------------------------------------


def tell(task: Any, text: str, **more: Any) -> None:
    output.print_result(task._asdict() | more, f"{task.id}: {text}")


@click.group("task", cls=options.CommandGroup, invoke_without_command=True)
@options.as_json
@click.pass_context
def tasks(ctx: click.Context) -> None:
    """Manage tasks of teams. Without a subcommand it lists them.

    \b
    knell task add --team red "Write the tests"
    knell task claim TASK-1 --for luna
    knell task done TASK-1
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_tasks, status="")


@tasks.command("add")
@click.argument("title")
@click.option(
    "--team", required=True, shell_complete=complete.teams, help="The team whose work it is."
)
@options.text("--id", help="The task's id; default TASK-1, TASK-2, …")
@options.text("--description", help="What the task is about.")
@options.choice(
    "--priority", words=("high", "normal", "low"), default="normal", help="How urgent it is."
)
@click.option(
    "--needs", multiple=True, metavar="TASK", shell_complete=complete.tasks,
    help="A task that should be done first; may be given several times.",
)  # fmt: skip
def add_task(title: str, *, needs: tuple[str, ...], **given: Any) -> None:
    """Add a task to a team's work."""
    task = Knell().team(given.pop("team")).add_task(title, needs=needs, **given)
    tell(task, f"added to {task.team}")


@tasks.command("list")
@options.text("--team", shell_complete=complete.teams, help="Only tasks of this team.")
@options.choice(
    "--status", words=("pending", "in_progress", "completed"), help="Only tasks with this status."
)
@options.text("--owner", shell_complete=complete.agents, help="Only tasks of this agent.")
def list_tasks(**given: Any) -> None:
    """List tasks: the most urgent first, and of those the oldest."""
    found = Knell().tasks(**given)
    output.print_result(
        {"tasks": [task._asdict() for task in found]},
        team_text.tasks_text(found) if found else "",
        if_empty="no tasks; add one: knell task add --team NAME TITLE",
    )


@tasks.command("show")
@task_id
@options.on_its_host("task", "task", (), do="show")
def show_task(task: str) -> None:
    """Show everything about a task. TASK@HOST: of a team of another host."""
    found = Knell().task(task).show()
    output.print_result(found._asdict(), team_text.task_text(found))


@tasks.command("claim")
@task_id
@options.text(
    "--for", "agent", metavar="NAME", shell_complete=complete.agents,
    help="Which agent gets it; default: the one that runs this command.",
)  # fmt: skip
@options.on_its_host("task", "task", (), do="claim")
def claim(task: str, *, agent: str) -> None:
    """Claim a pending task. The number that is printed proves the claim.

    Only the leader, a task manager or a person can claim for another agent. TASK@HOST is a task of
    a team of another host; an agent claims it for itself.
    """
    claimed, warnings = Knell().task(task).claim(agent)
    text = f"claimed by {claimed.owner}, number of the claim: {claimed.token}"
    tell(claimed, text, warnings=[one._asdict() for one in warnings])
    print_warnings(warnings)


@tasks.command("done")
@task_id
@claim_number
@options.on_its_host("task", "task", ("token",), do="complete")
def done(task: str, *, token: int | None) -> None:
    """Complete a task that you have claimed. Refused if another agent has it by now."""
    tell(Knell().task(task).complete(token), "completed")


@tasks.command("release")
@task_id
@claim_number
@options.flag(
    "--anyway", help="Also if an agent of another host has it and nothing was heard of its end."
)
@options.on_its_host("task", "task", ("token",), do="release")
def release(task: str, *, token: int | None, anyway: bool) -> None:
    """Give a task back, so that any member may claim it."""
    done = Knell().task(task).release(token, anyway=anyway)
    tell(done, "pending again")


@tasks.command("delete")
@task_id
def delete(task: str) -> None:
    """Remove a task that no agent works on and no other task needs."""
    Knell().task(task).delete()
    output.print_result({"ok": True, "task": task}, f"{task}: deleted")
