"""Teams, tasks, messages and requests to leave: as text for people, and as data."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from knell.core.teams import reassigned_tasks
from knell.faces.text.columns import table
from knell.faces.text.tables import counted, short
from knell.faces.text.terminal import clock, printable

if TYPE_CHECKING:
    from knell.api.results import ShutdownResult, TeamView
    from knell.core.receipt import Receipt
    from knell.core.shutdown import ShutdownRequest
    from knell.core.teams import Message, TeamMember, TeamTask

MEMBERS = ("NAME", "ROLE", "COLOUR", "STATE", "ACTIVITY", "TASKS", "SINCE")
TASKS = ("TASK", "PRIORITY", "STATUS", "OWNER", "TEAM", "TITLE", "WAITS FOR", "WARNING")
TITLE_WIDTH = 50


# -- teams ---------------------------------------------------------------------------------------


def team_text(view: "TeamView") -> str:
    team = view.team
    lines = [f"{team.name}: led by {team.leader or 'the operator'}, {team.topology}"]
    if team.description:
        lines.append(f"  {printable(team.description)}")
    if view.members:
        lines.append(table(MEMBERS, [_member_row(view, member) for member in view.members]))
    else:
        lines.append(f"the team has no members; add one: knell team add {team.name} NAME")
    waiting = [task for task in view.tasks if task.status != "completed"]
    lines.append(f"tasks: {len(waiting)} open, {len(view.tasks) - len(waiting)} completed")
    return "\n".join(lines)


def team_line(view: "TeamView") -> str:
    """One team in the list of all."""
    members, tasks = counted(len(view.members), "member"), counted(len(view.tasks), "task")
    return f"{view.team.name}: led by {view.team.leader or 'the operator'}, {members}, {tasks}"


def _member_row(view: "TeamView", member: "TeamMember") -> tuple[str, ...]:
    person = view.people.get(member.agent)
    state = person.state if person else ""
    if person and person.status == "shutting_down":
        state = f"{state}, asked to leave"
    activity = person.activity if person and person.activity != "unknown" else ""
    held = str(person.open_tasks) if person else ""
    since = clock(member.joined_at)
    return (member.agent, member.role, member.colour, state, activity, held, since)


def team_json(view: "TeamView") -> dict[str, Any]:
    people = {name: person._asdict() for name, person in view.people.items()}
    members = [member._asdict() | people.get(member.agent, {}) for member in view.members]
    tasks = [task._asdict() for task in view.tasks]
    return {**view.team._asdict(), "members": members, "tasks": tasks}


# -- tasks ---------------------------------------------------------------------------------------


def tasks_text(tasks: "Sequence[TeamTask]") -> str:
    return table(TASKS, [_task_row(task) for task in tasks])


def _task_row(task: "TeamTask") -> tuple[str, ...]:
    priority = "" if task.priority == "normal" else task.priority
    what = (task.team, short(task.title, TITLE_WIDTH), ", ".join(task.needs), task.warning)
    return (task.id, priority, task.status, task.owner, *what)


def task_text(task: "TeamTask") -> str:
    facts = (
        ("team", task.team),
        ("priority", task.priority),
        ("owner", task.owner),
        ("claim", f"number {task.token}, {clock(task.claimed_at)}" if task.claimed_at else ""),
        ("waits for", ", ".join(task.needs)),
        ("needed by", ", ".join(task.blocks)),
        ("added", clock(task.created_at)),
        ("completed", clock(task.completed_at)),
        ("warning", task.warning),
    )
    lines = [f"{task.id}: {task.status}", f"  {'title':<10} {task.title}"]
    lines += [f"  {word:<10} {value}" for word, value in facts if value]
    lines += [f"  {line}" for line in task.description.splitlines()]
    return "\n".join(printable(line) for line in lines)


# -- messages -------------------------------------------------------------------------------------


def messages_text(messages: "Sequence[Message]") -> str:
    """Each with a line that names its sender; its own lines are indented, so that none of them can
    pass for such a line."""
    lines: list[str] = []
    for message in messages:
        kind = "" if message.type == "plain" else f" [{message.type}]"
        team = f" ({message.team})" if message.team else ""
        lines.append(f"#{message.id} {clock(message.at)} from {message.sender}{team}{kind}")
        lines += [f"  {line}" for line in message.body.splitlines()]
    return "\n".join(printable(line) for line in lines)


# -- leaving -------------------------------------------------------------------------------------


def asked_json(request: "ShutdownRequest", receipt: "Receipt | None" = None) -> dict[str, Any]:
    """In the words of the contract, with the request itself."""
    return {
        "ok": True,
        "success": True,
        "method": "force" if request.phase == "force_killed" else "graceful",
        "phase": request.phase,
        "reassignedTasks": reassigned_tasks([receipt] if receipt else []),
        "tasks": list(receipt.tasks) if receipt else [],
        "request": request._asdict(),
    }


def answered_json(answered: "ShutdownResult") -> dict[str, Any]:
    receipt = answered.receipt
    asked = asked_json(answered.request, receipt)
    return {**asked, "receipt": receipt.to_json() if receipt else None}


PHASES = {
    "requested": "{agent} was asked to leave{until}",
    "approved": "{agent} agrees to leave{until}",
    "rejected": "{agent} refuses to leave: {answer}",
    "confirmed": "{agent} has finished, and leaves",
    "force_killed": "{agent} did not leave by itself, and was ended",
    "withdrawn": "the request to {agent} was withdrawn",
}


def request_text(request: "ShutdownRequest") -> str:
    until = ", and is ended now" if request.phase == "approved" else ""
    if request.phase == "approved" and request.deadline_at:
        until = f"; it is ended once it confirms, at {clock(request.deadline_at)} at the latest"
    elif request.deadline_at:
        what = "is ended" if request.overdue == "force" else "is reported"
        until = (
            f"; without an answer it {what} at {clock(request.deadline_at)}, if knell watch runs"
        )
    text = PHASES[request.phase].format(
        agent=request.agent, until=until, answer=request.answer or "it gave no reason"
    )
    return printable(text)
