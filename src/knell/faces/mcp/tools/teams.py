"""Tools of a team: messages, answer-shutdown, and the tasks."""

from knell.core import teams
from knell.core.inputs import Input
from knell.faces.mcp.tools.end import ANSWERED, LONGEST_REASON, METHODS, PHASES
from knell.faces.mcp.tools.tool import (
    FACTS,
    NOTICES,
    ROWS,
    TEXT,
    TEXTS,
    Answer,
    Tool,
    ToolCall,
    facts_of,
)  # fmt: skip

MOST_MESSAGES = 200
POLL_SECONDS = 1.0  # between two looks whether the client still waits
LONGEST_SUMMARY = 500
LARGEST = 2**53 - 1  # what JSON programs count to


def send_message(call: ToolCall) -> Answer:
    given = call.given
    sent = call.knell.messages.send(
        given["to"],
        text=given["message"],
        team=given["teamName"],
        type=given["type"],
        summary=given["summary"],
    )
    return {
        "messageIds": [message.id for message in sent],
        "recipients": [message.to for message in sent],
    }


def poll_inbox(call: ToolCall) -> Answer:
    """Waits by peeking and takes the messages last, so that a client that has left loses none."""
    given, messages = call.given, call.knell.messages
    left: float = given["waitSeconds"]
    while not call.gone.is_set():
        turn = min(POLL_SECONDS, left)
        left -= turn
        found = messages.inbox(given["agentId"], wait=turn, limit=1, peek=True)
        if found or left <= 0:
            break
    if call.gone.is_set():
        return {"messages": []}
    found = messages.inbox(given["agentId"], limit=given["limit"], peek=given["peek"])
    return {"messages": [message_json(message) for message in found]}


def message_json(message: teams.Message) -> Answer:
    renamed = {"from": "sender", "teamName": "team", "message": "body", "timestamp": "at"}
    return facts_of(message, "id", "to", "type", "summary", **renamed)


def answer_shutdown(call: ToolCall) -> Answer:
    given, shutdowns = call.given, call.knell.shutdowns
    id, reason = given["requestId"], given["reason"]
    if not given["approved"]:
        answered = shutdowns.reject(id, reason=reason)
    elif given["phase"] == "confirmed":
        answered = shutdowns.confirm(id)
    else:
        answered = shutdowns.approve(id, reason=reason, needs=given["needsSeconds"])
    request, receipt = answered.request, answered.receipt
    return {
        "method": METHODS[0],
        "phase": request.phase,
        "requestId": request.id,
        "reassignedTasks": teams.reassigned_tasks([receipt] if receipt else []),
    }


def claim_task(call: ToolCall) -> Answer:
    task, warnings = call.knell.task(call.given["taskId"]).claim(call.given["agentId"])
    return {"task": task_json(task), "warnings": [one._asdict() for one in warnings]}


def complete_task(call: ToolCall) -> Answer:
    done = call.knell.task(call.given["taskId"]).complete(call.given["token"])
    return {"task": task_json(done)}


def list_tasks(call: ToolCall) -> Answer:
    given = call.given
    found = call.knell.tasks(given["teamName"], status=given["status"], owner=given["owner"])
    return {"tasks": [task_json(task) for task in found]}


def task_json(task: teams.TeamTask) -> Answer:
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
        name="send-message",
        text="Put a message into an agent's inbox, or into those of all other members of the team.",
        fields=(
            Input("to", "name", f"The agent; {teams.EVERYBODY}: every other member of the team"),
            Input("message", "text", "What to say", most=teams.LONGEST),
            Input("teamName", "text", "The team it concerns; empty: yours", ""),
            Input(
                "type",
                "text",
                "What it is",
                teams.MessageType.PLAIN.value,
                choices=tuple(teams.MessageType),
            ),
            Input("summary", "text", "The message in one line", "", most=LONGEST_SUMMARY),
        ),
        answer={"messageIds": {"type": "array", "items": {"type": "integer"}}, "recipients": TEXTS},
        act=send_message,
    ),
    Tool(
        name="poll-inbox",
        text="Your unread messages; each is given once. With waitSeconds it waits for the first.",
        fields=(
            Input("waitSeconds", "seconds", "How long to wait for one", 0, most=teams.LONGEST_POLL),
            Input("limit", "count", "How many messages at most", 50, most=MOST_MESSAGES),
            Input("peek", "flag", "Leave them unread", default=False),
            Input("agentId", "text", "Whose; empty: yours", ""),
        ),
        answer={"messages": ROWS},
        act=poll_inbox,
        waits=True,
    ),
    Tool(
        name="answer-shutdown",
        text="Answer the request to shut down: approve, finish your work, then answer again with"
        " phase confirmed, and you are ended; or reject with a reason, and you go on.",
        fields=(
            Input("approved", "flag", "Whether you agree to be ended"),
            Input("requestId", "text", "Which request; empty: the one that is open", ""),
            Input("reason", "text", "Why", "", most=LONGEST_REASON),
            Input(
                "phase",
                "text",
                "approved: you agree; confirmed: your work is finished too",
                PHASES[1],
                choices=(PHASES[1], PHASES[3]),
            ),
            Input("needsSeconds", "seconds", "How long you need to finish your work", None),
        ),
        answer={**ANSWERED, "requestId": TEXT},
        act=answer_shutdown,
        destroys=True,
    ),
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
            Input("status", "text", "Only in this state", "", choices=("", *teams.TaskStatus)),
            Input("owner", "text", "Only of this agent", ""),
        ),
        answer={"tasks": ROWS},
        act=list_tasks,
        reads=True,
    ),
)
