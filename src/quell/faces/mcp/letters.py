"""Tools for letters: send-message, poll-inbox, and answer-shutdown."""

from quell.core.message import EVERYBODY, LONGEST, LONGEST_POLL, Letter, Message
from quell.core.message import Answer as ShutdownAnswer
from quell.faces.mcp.ending import METHODS, PHASES, reassigned
from quell.faces.mcp.fields import Field
from quell.faces.mcp.tool import ROWS, TEXT, TEXTS, Answer, Call, Tool
from quell.life.together.letters import Letters

MOST_LETTERS = 200
TURN = 1.0  # seconds after which a wait looks whether anybody still waits for it
LONGEST_SUMMARY = 500
LONGEST_REASON = 2000


def send_message(call: Call) -> Answer:
    given = call.given
    letter = Letters(
        to=(given["to"],),
        body=given["message"],
        team=given["teamName"],
        type=given["type"],
        summary=given["summary"],
    )
    sent = call.team.send(letter)
    return {
        "success": True,
        "messageIds": [message.id for message in sent],
        "recipients": [message.to for message in sent],
    }


def poll_inbox(call: Call) -> Answer:
    """Waits by looking, and takes at the end: a letter is not lost to a client that has left."""
    given, team = call.given, call.team
    left: float = given["waitSeconds"]
    while not call.gone.is_set():
        turn = min(TURN, left)
        left -= turn
        found = team.inbox(given["agentId"], wait=turn, limit=1, peek=True)
        if found or left <= 0:
            break
    if call.gone.is_set():
        return {"success": True, "messages": []}
    letters = team.inbox(given["agentId"], limit=given["limit"], peek=given["peek"])
    return {"success": True, "messages": [told(message) for message in letters]}


def told(message: Message) -> Answer:
    return {
        "id": message.id,
        "from": message.sender,
        "to": message.to,
        "teamName": message.team,
        "type": message.type,
        "message": message.body,
        "summary": message.summary,
        "timestamp": message.at,
    }


def answer_shutdown(call: Call) -> Answer:
    given = call.given
    told = ShutdownAnswer(given["requestId"], given["approved"], given["reason"])
    answered = call.team.answer(told)
    request, receipt = answered.request, answered.receipt
    return {
        "success": True,
        "method": METHODS[0],
        "phase": request.phase,
        "requestId": request.id,
        "reassignedTasks": reassigned([receipt] if receipt else []),
    }


TOOLS = (
    Tool(
        name="send-message",
        told="Put a message into an agent's inbox, or into everybody's in the team.",
        fields=(
            Field("to", "name", f"The agent; {EVERYBODY}: everybody in the team but you"),
            Field("message", "text", "What to say", most=LONGEST),
            Field("teamName", "text", "The team it concerns; empty: yours", ""),
            Field("type", "text", "What it is", Letter.PLAIN.value, choices=tuple(Letter)),
            Field("summary", "text", "The same in a line", "", most=LONGEST_SUMMARY),
        ),
        tells={"messageIds": {"type": "array", "items": {"type": "integer"}}, "recipients": TEXTS},
        act=send_message,
    ),
    Tool(
        name="poll-inbox",
        told="Your unread messages; each is given once. With waitSeconds it waits for the first.",
        fields=(
            Field("waitSeconds", "seconds", "How long to wait for one", 0, most=LONGEST_POLL),
            Field("limit", "count", "At most so many", 50, most=MOST_LETTERS),
            Field("peek", "flag", "Leave them unread", default=False),
            Field("agentId", "text", "Whose; empty: yours", ""),
        ),
        tells={"messages": ROWS},
        act=poll_inbox,
        waits=True,
    ),
    Tool(
        name="answer-shutdown",
        told="Answer the request to shut down: approve when your work is saved, and you are ended;"
        " reject with a reason, and you go on.",
        fields=(
            Field("approved", "flag", "Whether you agree to be ended"),
            Field("requestId", "text", "Which request; empty: the one that is open", ""),
            Field("reason", "text", "Why", "", most=LONGEST_REASON),
        ),
        tells={
            "method": {"type": "string", "enum": list(METHODS)},
            "phase": {"type": "string", "enum": list(PHASES)},
            "requestId": TEXT,
            "reassignedTasks": TEXTS,
        },
        act=answer_shutdown,
        destroys=True,
    ),
)
