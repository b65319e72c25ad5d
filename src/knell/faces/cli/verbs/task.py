"""`knell task` manages the work of teams."""

from typing import Any

import click

from knell.api import Knell
from knell.core.fleet.target import is_far
from knell.faces.cli import complete, options, output
from knell.faces.text import teams as team_text

task_id = click.argument("task", shell_complete=complete.tasks)
claim_number = click.option(
    "--claim", "token", type=int, metavar="N",
    help="The number that the claim printed; default: the claim of this run.",
)  # fmt: skip


def tell(task: Any, text: str, *, json_wanted: bool, **more: Any) -> None:
    output.print_result(task._asdict() | more, f"{task.id}: {text}", json_wanted=json_wanted)


@click.group("task", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Manage tasks of teams. Without a subcommand it lists them. Every subcommand has --json."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_tasks, status="")


@command.command("add")
@click.argument("title")
@click.option(
    "--team", required=True, shell_complete=complete.teams, help="The team whose work it is."
)
@click.option("--id", default="", help="The task's id; default TASK-1, TASK-2, …")
@click.option("--description", default="", help="What the task is about.")
@options.choice(
    "--priority", words=("high", "normal", "low"), default="normal", help="How urgent it is."
)
@click.option(
    "--needs", multiple=True, metavar="TASK", shell_complete=complete.tasks,
    help="A task that should be done first; may be given several times.",
)  # fmt: skip
@options.as_json
def add(title: str, *, json_wanted: bool, needs: tuple[str, ...], **given: Any) -> None:
    """Add a task to a team's work."""
    task = Knell().team(given.pop("team")).add_task(title, needs=needs, **given)
    tell(task, f"added to {task.team}", json_wanted=json_wanted)


@command.command("list")
@click.option("--team", default="", shell_complete=complete.teams, help="Only tasks of this team.")
@options.choice(
    "--status", words=("pending", "in_progress", "completed"), help="Only tasks with this status."
)
@click.option(
    "--owner", default="", shell_complete=complete.agents, help="Only tasks of this agent."
)
@options.as_json
def list_tasks(*, json_wanted: bool, **given: Any) -> None:
    """List tasks: the most urgent first, and of those the oldest."""
    tasks = Knell().tasks(**given)
    output.print_result(
        {"tasks": [task._asdict() for task in tasks]},
        team_text.tasks_text(tasks) if tasks else "",
        json_wanted=json_wanted,
        if_empty="no tasks; add one: knell task add --team NAME TITLE",
    )


@command.command("show")
@task_id
@options.wait
@options.as_json
def show(task: str, *, wait: float | None, json_wanted: bool) -> int | None:
    """Show everything about a task. TASK@HOST: of a team of another host."""
    if is_far(task):
        return ask_about("show", task, wait, json_wanted=json_wanted)
    found = Knell().task(task).show()
    output.print_result(found._asdict(), team_text.task_text(found), json_wanted=json_wanted)
    return None


def ask_about(
    do: str, task: str, wait: float | None, token: int | None = None, *, json_wanted: bool
) -> int:
    """A task of a team that another host keeps: that host does it."""
    from knell.faces.cli.far import ask_one

    said = {"do": do} | ({} if token is None else {"token": token})
    return ask_one("task", task, said, wait, json_wanted=json_wanted)


@command.command("claim")
@task_id
@click.option(
    "--for", "agent", default="", metavar="NAME", shell_complete=complete.agents,
    help="Which agent gets it; default: the one that runs this command.",
)  # fmt: skip
@options.wait
@options.as_json
def claim(task: str, *, agent: str, wait: float | None, json_wanted: bool) -> int | None:
    """Claim a pending task. The number that is printed proves the claim.

    Only the leader, a task manager or a person can claim for another agent. TASK@HOST is a task of
    a team of another host; an agent claims it for itself.
    """
    if is_far(task):
        return ask_about("claim", task, wait, json_wanted=json_wanted)
    claimed, warnings = Knell().task(task).claim(agent)
    text = f"claimed by {claimed.owner}, number of the claim: {claimed.token}"
    tell(claimed, text, json_wanted=json_wanted, warnings=[one._asdict() for one in warnings])
    for warning in warnings:
        output.print_error(f"warning: {warning.text}")
    return None


@command.command("done")
@task_id
@claim_number
@options.wait
@options.as_json
def done(task: str, *, token: int | None, wait: float | None, json_wanted: bool) -> int | None:
    """Complete a task that you have claimed. Refused if another agent has it by now."""
    if is_far(task):
        return ask_about("complete", task, wait, token, json_wanted=json_wanted)
    tell(Knell().task(task).complete(token), "completed", json_wanted=json_wanted)
    return None


@command.command("release")
@task_id
@claim_number
@click.option(
    "--anyway", is_flag=True,
    help="Also if an agent of another host has it and nothing was heard of its end.",
)  # fmt: skip
@options.wait
@options.as_json
def release(
    task: str, *, token: int | None, anyway: bool, wait: float | None, json_wanted: bool
) -> int | None:
    """Give a task back, so that any member may claim it."""
    if is_far(task):
        return ask_about("release", task, wait, token, json_wanted=json_wanted)
    done = Knell().task(task).release(token, anyway=anyway)
    tell(done, "pending again", json_wanted=json_wanted)
    return None


@command.command("delete")
@task_id
@options.as_json
def delete(task: str, *, json_wanted: bool) -> None:
    """Remove a task that no agent works on and no other task needs."""
    Knell().task(task).delete()
    output.print_result({"ok": True, "task": task}, f"{task}: deleted", json_wanted=json_wanted)
