"""Tools that look and change nothing: list-agents, agent-status, explain-agent."""

from typing import TYPE_CHECKING

from knell.core.inputs import Input
from knell.core.shutdown import ShutdownRequest
from knell.faces.mcp.tools.tool import (
    AGENT,
    FACTS,
    NUMBER,
    ROWS,
    TEXTS,
    Answer,
    Tool,
    ToolCall,
    facts_of,
    texts,
)
from knell.faces.text.tables import verdict_json

if TYPE_CHECKING:
    from knell.api.results import AgentView

HEALTHY = 60.0  # seconds: the contract's heartbeat deadline
SHORT = ("name", "kind", "state", "outcome", "activity", "team", "role", "task", "run", "parent")


def list_agents(call: ToolCall) -> Answer:
    given = call.given
    views = call.knell.list(with_ended=given["includeTerminated"], team=given["teamName"])
    return {"agents": [row(view) for view in views]}


def row(view: "AgentView") -> Answer:
    facts = view.to_json()
    return {**{name: facts[name] for name in SHORT}, "status": view.team_status}


def agent_status(call: ToolCall) -> Answer:
    found = call.knell.server.status_of(call.given["agentId"])
    view, member = found.view, found.member
    age = view.heartbeat_age_s
    return {
        "agent": view.to_json(),
        "status": view.team_status,
        "teamName": member.team if member else "",
        "colour": member.colour if member else "",
        "heartbeatAge": age,
        "heartbeatHealthy": None if age is None else age < HEALTHY,
        "tasks": [task.id for task in found.tasks],
        "shutdown": request_json(found.request) if found.request else None,
    }


def request_json(request: ShutdownRequest) -> Answer:
    names = ("phase", "by", "reason", "answer")
    return facts_of(request, *names, requestId="id", deadline="deadline_at")


def explain_agent(call: ToolCall) -> Answer:
    name = call.knell.server.status_of(call.given["agentId"]).run.agent
    return verdict_json(call.knell.explain(name))


TOOLS = (
    Tool(
        name="list-agents",
        text="The agents, and how they are.",
        fields=(
            Input("teamName", "text", "Only agents of this team", ""),
            Input("includeTerminated", "flag", "Also agents that have ended", default=False),
        ),
        answer={"agents": ROWS},
        act=list_agents,
        reads=True,
    ),
    Tool(
        name="agent-status",
        text="Everything about one agent: state, team, tasks, heartbeat, and whether it was asked"
        " to shut down and what it answered.",
        fields=(AGENT,),
        answer={
            **texts("status", "teamName", "colour"),
            "agent": FACTS,
            "heartbeatAge": NUMBER,
            "heartbeatHealthy": {"type": ["boolean", "null"]},
            "tasks": TEXTS,
            "shutdown": {"type": ["object", "null"]},
        },
        act=agent_status,
        reads=True,
    ),
    Tool(
        name="explain-agent",
        text="Why an agent counts as working, idle, waiting, stalled or unknown: the evidence.",
        fields=(AGENT,),
        answer={**texts("name", "run", "activity", "why"), "quiet_s": NUMBER, "evidence": ROWS},
        act=explain_agent,
        reads=True,
    ),
)
