"""Tools for the work of a team: claim-task, complete-task, list-tasks."""

from quell.core.teamtask import Status, TeamTask
from quell.faces.mcp.fields import Field
from quell.faces.mcp.tool import FACTS, ROWS, TEXTS, Answer, Call, Tool

LARGEST = 2**53 - 1  # what JSON programs count to


def claim_task(call: Call) -> Answer:
    claimed = call.team.claim(call.given["taskId"], call.given["agentId"])
    return {"success": True, "task": told(claimed.task), "warnings": list(claimed.warnings)}


def complete_task(call: Call) -> Answer:
    return {
        "success": True,
        "task": told(call.team.done(call.given["taskId"], call.given["token"])),
    }


def list_tasks(call: Call) -> Answer:
    given = call.given
    found = call.team.tasks(given["teamName"], given["status"], given["owner"])
    return {"success": True, "tasks": [told(task) for task in found]}


def told(task: TeamTask) -> Answer:
    """In the words of the contract's original, with the number of the claim."""
    return {
        "id": task.id,
        "teamName": task.team,
        "title": task.title,
        "description": task.description,
        "priority": task.priority,
        "status": task.status,
        "owner": task.owner,
        "token": task.token,
        "createdAt": task.created_at,
        "updatedAt": task.updated_at,
        "claimedAt": task.claimed_at,
        "completedAt": task.completed_at,
        "warning": task.warning,
        "dependencies": list(task.needs),
        "blocks": list(task.blocks),
    }


TASK = Field("taskId", "name", "The task")

TOOLS = (
    Tool(
        name="claim-task",
        told="Take a pending task of your team. Give its token back with complete-task.",
        fields=(TASK, Field("agentId", "text", "For whom, if you lead; empty: you", "")),
        tells={"task": FACTS, "warnings": TEXTS},
        act=claim_task,
    ),
    Tool(
        name="complete-task",
        told="Say that a task of yours is done. Refused once it was handed on to another.",
        fields=(
            TASK,
            Field("token", "count", "The token that claim-task gave", None, most=LARGEST),
        ),
        tells={"task": FACTS},
        act=complete_task,
    ),
    Tool(
        name="list-tasks",
        told="The tasks, by priority and age.",
        fields=(
            Field("teamName", "text", "Only of this team", ""),
            Field("status", "text", "Only in this state", "", choices=("", *Status)),
            Field("owner", "text", "Only of this agent", ""),
        ),
        tells={"tasks": ROWS},
        act=list_tasks,
        reads=True,
    ),
)
