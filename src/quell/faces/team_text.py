"""Teams, tasks, letters and requests to leave: as text for people, and as data."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quell.faces.render import clock, printable, short, table

if TYPE_CHECKING:
    from quell.core.message import Message
    from quell.core.receipt import Receipt
    from quell.core.shutdown import Request
    from quell.core.team import Member
    from quell.core.teamtask import TeamTask
    from quell.life.together.ask import Answered
    from quell.life.together.team import TeamView

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
        lines.append(f"nobody is in it; quell team add {team.name} NAME")
    waiting = [task for task in view.tasks if task.status != "completed"]
    lines.append(f"tasks: {len(waiting)} open, {len(view.tasks) - len(waiting)} completed")
    return "\n".join(lines)


def _member_row(view: "TeamView", member: "Member") -> tuple[str, ...]:
    person = view.people.get(member.agent)
    state = person.state if person else ""
    if person and person.status == "shutting_down":
        state = f"{state}, asked to leave"
    activity = person.activity if person and person.activity != "unknown" else ""
    held = str(person.open_tasks) if person else ""
    since = clock(member.joined_at)
    return (member.agent, member.role, member.colour, state, activity, held, since)


def team_json(view: "TeamView") -> dict[str, Any]:
    members: list[dict[str, Any]] = []
    for member in view.members:
        person = view.people.get(member.agent)
        members.append(member._asdict() | (person._asdict() if person else {}))
    tasks = [task_json(task) for task in view.tasks]
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


def task_json(task: "TeamTask") -> dict[str, Any]:
    return task._asdict()


# -- letters -------------------------------------------------------------------------------------


def letters_text(letters: "Sequence[Message]") -> str:
    """Each with a line that says from whom; its own lines are indented, so that none looks so."""
    lines: list[str] = []
    for letter in letters:
        kind = "" if letter.type == "plain" else f" [{letter.type}]"
        team = f" ({letter.team})" if letter.team else ""
        lines.append(f"#{letter.id} {clock(letter.at)} from {letter.sender}{team}{kind}")
        lines += [f"  {line}" for line in letter.body.splitlines()]
    return "\n".join(printable(line) for line in lines)


def letter_json(letter: "Message") -> dict[str, Any]:
    return letter._asdict()


# -- leaving -------------------------------------------------------------------------------------


def asked_json(request: "Request", receipt: "Receipt | None" = None) -> dict[str, Any]:
    """In the words of the contract, with the request itself."""
    tasks = receipt.tasks if receipt else ()
    return {
        "ok": True,
        "success": True,
        "method": "force" if request.phase == "force_killed" else "graceful",
        "phase": request.phase,
        "reassignedTasks": [
            task["id"]
            for task in tasks
            if task.get("kind") == "team" and task["was"] == "in_progress"
        ],
        "tasks": list(tasks),
        "request": request._asdict(),
    }


def answered_json(answered: "Answered") -> dict[str, Any]:
    receipt = answered.receipt
    told = asked_json(answered.request, receipt)
    return {**told, "receipt": receipt.to_json() if receipt else None}


PHASES = {
    "requested": "{agent} was asked to leave{until}",
    "approved": "{agent} agrees to leave, and is being ended",
    "rejected": "{agent} does not leave: {answer}",
    "confirmed": "{agent} has left",
    "force_killed": "{agent} did not leave by itself, and was ended",
    "withdrawn": "{agent} is no longer asked to leave",
}


def request_text(request: "Request") -> str:
    until = ""
    if request.deadline_at:
        what = "is ended" if request.overdue == "force" else "is reported"
        until = (
            f"; without an answer it {what} at {clock(request.deadline_at)}, if quell watch runs"
        )
    told = PHASES[request.phase].format(
        agent=request.agent, until=until, answer=request.answer or "it gave no reason"
    )
    return printable(told)
