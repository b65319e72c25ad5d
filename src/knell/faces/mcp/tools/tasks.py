"""Tools for the work of a team: claim-task, complete-task, list-tasks."""

from knell.core.inputs import Input
from knell.core.teams import TaskStatus, TeamTask
from knell.faces.mcp.tools.tool import FACTS, NOTICES, ROWS, Answer, Tool, ToolCall, facts_of

LARGEST = 2**53 - 1  # what JSON programs count to


def claim_task(call: ToolCall) -> Answer:
    claimed = call.knell.task(call.given["taskId"]).claim(call.given["agentId"])
    return {
        "task": task_json(claimed.task),
        "warnings": [one._asdict() for one in claimed.warnings],
    }


def complete_task(call: ToolCall) -> Answer:
    done = call.knell.task(call.given["taskId"]).complete(call.given["token"])
    return {"task": task_json(done)}


def list_tasks(call: ToolCall) -> Answer:
    given = call.given
    found = call.knell.tasks(given["teamName"], status=given["status"], owner=given["owner"])
    return {"tasks": [task_json(task) for task in found]}


def task_json(task: TeamTask) -> Answer:
    """With the keys of the contract, and the number of the claim."""
    facts = facts_of(
        task, "id", "title", "description", "priority", "status", "owner", "token", "warning",
        teamName="team", createdAt="created_at", updatedAt="updated_at", claimedAt="claimed_at",
        completedAt="completed_at",
    )  # fmt: skip
    return facts | {"dependencies": list(task.needs), "blocks": list(task.blocks)}


TASK = Input("taskId", "name", "The task")

TOOLS = (
    Tool(
        name="claim-task",
        text="Take a pending task of your team. Give its token back with complete-task.",
        fields=(
            TASK,
            Input("agentId", "text", "Which agent takes it, if you lead; empty: you", ""),
        ),
        answer={"task": FACTS, "warnings": NOTICES},
        act=claim_task,
    ),
    Tool(
        name="complete-task",
        text="Say that a task of yours is done. Refused once it was handed on to another.",
        fields=(
            TASK,
            Input("token", "count", "The token that claim-task gave", None, most=LARGEST),
        ),
        answer={"task": FACTS},
        act=complete_task,
    ),
    Tool(
        name="list-tasks",
        text="The tasks, by priority and age.",
        fields=(
            Input("teamName", "text", "Only of this team", ""),
            Input("status", "text", "Only in this state", "", choices=("", *TaskStatus)),
            Input("owner", "text", "Only of this agent", ""),
        ),
        answer={"tasks": ROWS},
        act=list_tasks,
        reads=True,
    ),
)
