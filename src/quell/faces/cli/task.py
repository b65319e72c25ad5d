"""quell task."""

from typing import Any

import click

from quell.api import Quell
from quell.faces import team_text
from quell.faces.cli import options
from quell.faces.cli.team_options import tasks_complete, teams_complete

task_id = click.argument("task", shell_complete=tasks_complete)
claim_number = click.option(
    "--claim", "token", type=int, metavar="N",
    help="The number that claiming gave; default: what this run has claimed.",
)  # fmt: skip


def tell(task: Any, told: str, *, json_wanted: bool, **more: Any) -> None:
    if json_wanted:
        options.print_json(team_text.task_json(task) | more)
    else:
        click.echo(f"{task.id}: {told}")


@click.group("task", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """The work of teams. Alone: the list. Every subcommand has --json."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_tasks)


@command.command("add")
@click.argument("title")
@click.option("--team", required=True, shell_complete=teams_complete, help="Whose work it is.")
@click.option("--id", default="", help="What to call it; default TASK-1, TASK-2, …")
@click.option("--description", default="", help="All there is to know.")
@click.option(
    "--priority", type=click.Choice(["high", "normal", "low"]), default="normal", show_default=True
)
@click.option(
    "--needs", multiple=True, metavar="TASK", shell_complete=tasks_complete,
    help="A task that should be done first; may be given several times.",
)  # fmt: skip
@options.as_json
def add(title: str, *, json_wanted: bool, needs: tuple[str, ...], **given: Any) -> None:
    """Add a task to a team's work."""
    from quell.life.together.task import TaskWish

    task = Quell().team.add_task(TaskWish(title=title, needs=needs, **given))
    tell(task, f"added to {task.team}", json_wanted=json_wanted)


@command.command("list")
@click.option("--team", default="", shell_complete=teams_complete, help="Only of this team.")
@click.option("--status", type=click.Choice(["pending", "in_progress", "completed"]), default=None)
@click.option(
    "--owner", default="", shell_complete=options.names_complete, help="Only of this one."
)
@options.as_json
def list_tasks(*, team: str, status: str | None, owner: str, json_wanted: bool) -> None:
    """Tasks, the most urgent first, and of those the oldest."""
    tasks = Quell().team.tasks(team, status or "", owner)
    if json_wanted:
        options.print_json({"tasks": [team_text.task_json(task) for task in tasks]})
    elif tasks:
        click.echo(team_text.tasks_text(tasks))
    else:
        click.echo("no tasks; add one: quell task add --team NAME TITLE", err=True)


@command.command("show")
@task_id
@options.as_json
def show(task: str, *, json_wanted: bool) -> None:
    """Everything about a task."""
    found = Quell().team.task(task)
    if json_wanted:
        options.print_json(team_text.task_json(found))
    else:
        click.echo(team_text.task_text(found))


@command.command("claim")
@task_id
@click.option(
    "--for", "agent", default="", metavar="NAME", shell_complete=options.names_complete,
    help="Who does it; default: the agent that asks. For others: leader, task manager, operator.",
)  # fmt: skip
@options.as_json
def claim(task: str, *, agent: str, json_wanted: bool) -> None:
    """Take a pending task. The number that it answers with proves the claim."""
    claimed, warnings = Quell().team.claim(task, agent)
    told = f"claimed by {claimed.owner}, claim {claimed.token}"
    tell(claimed, told, json_wanted=json_wanted, warnings=list(warnings))
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


@command.command("done")
@task_id
@claim_number
@options.as_json
def done(task: str, *, token: int | None, json_wanted: bool) -> None:
    """Complete a task that you have claimed; one that was handed on meanwhile is refused."""
    tell(Quell().team.done(task, token), "completed", json_wanted=json_wanted)


@command.command("release")
@task_id
@claim_number
@options.as_json
def release(task: str, *, token: int | None, json_wanted: bool) -> None:
    """Give a task back: anybody may claim it."""
    tell(Quell().team.release(task, token), "pending again", json_wanted=json_wanted)


@command.command("delete")
@task_id
@options.as_json
def delete(task: str, *, json_wanted: bool) -> None:
    """Remove a task that nobody works on and no other needs."""
    Quell().team.delete_task(task)
    if json_wanted:
        options.print_json({"ok": True, "task": task})
    else:
        click.echo(f"{task}: deleted")
