"""Tools that look and change nothing: list-agents, agent-status, explain-agent."""

from typing import Any

from quell.core.run import Run
from quell.core.shutdown import Request
from quell.core.teamwork import NoSuchTeam
from quell.faces import verdict_text
from quell.faces.mcp.fields import Field
from quell.faces.mcp.tool import AGENT, FACTS, NUMBER, ROWS, TEXT, Answer, Call, Tool
from quell.life.view import AgentView

HEALTHY = 60.0  # seconds: the contract's heartbeat deadline
SHORT = ("name", "kind", "state", "outcome", "activity", "team", "role", "task", "run", "parent")


def list_agents(call: Call) -> Answer:
    team = call.given["teamName"]
    views = call.quell.list(everybody=call.given["includeTerminated"])
    if team:
        if call.world.store.teamwork.team(team) is None:
            raise NoSuchTeam(team)
        members = {member.agent for member in call.world.store.teamwork.members(team)}
        views = [view for view in views if view.name in members or view.team == team]
    return {"success": True, "agents": [row(view) for view in views]}


def row(view: AgentView) -> Answer:
    told = view.to_json()
    return {**{name: told[name] for name in SHORT}, "status": view.team_status}


def agent_status(call: Call) -> Answer:
    world = call.world
    run = call.quell.served.run(call.given["agentId"])
    view = call.quell.served.view(run)
    member = world.store.teamwork.membership(run.agent)
    age = view.heartbeat_age_s
    requests = world.store.teamwork.requests_of(run.agent)
    return {
        "success": True,
        "agent": view.to_json(),
        "status": view.team_status,
        "teamName": member.team if member else "",
        "colour": member.colour if member else "",
        "heartbeatAge": age,
        "heartbeatHealthy": None if age is None else age < HEALTHY,
        "tasks": [task.id for task in world.store.teamwork.tasks(owner=run.agent)],
        "shutdown": asked(requests, run),
    }


def asked(requests: list[Request], run: Run) -> dict[str, Any] | None:
    """The newest request to leave in this life, and how far it came."""
    newest = max(
        (one for one in requests if one.run == run.id), key=lambda r: r.requested_at, default=None
    )
    if newest is None:
        return None
    return {
        "requestId": newest.id,
        "phase": newest.phase,
        "by": newest.by,
        "reason": newest.reason,
        "answer": newest.answer,
        "deadline": newest.deadline_at,
    }


def explain_agent(call: Call) -> Answer:
    run = call.quell.served.run(call.given["agentId"])
    return {"success": True, **verdict_text.as_json(call.quell.explain(run.agent))}


TOOLS = (
    Tool(
        name="list-agents",
        told="Who is there, and how they are.",
        fields=(
            Field("teamName", "text", "Only agents of this team", ""),
            Field("includeTerminated", "flag", "Also agents that have ended", default=False),
        ),
        tells={"agents": ROWS},
        act=list_agents,
        reads=True,
    ),
    Tool(
        name="agent-status",
        told="Everything about one agent: state, team, tasks, heartbeat, and whether it was asked"
        " to shut down and what it answered.",
        fields=(AGENT,),
        tells={
            "agent": FACTS,
            "status": TEXT,
            "teamName": TEXT,
            "colour": TEXT,
            "heartbeatAge": NUMBER,
            "heartbeatHealthy": {"type": ["boolean", "null"]},
            "tasks": {"type": "array", "items": TEXT},
            "shutdown": {"type": ["object", "null"]},
        },
        act=agent_status,
        reads=True,
    ),
    Tool(
        name="explain-agent",
        told="Why an agent counts as working, idle, waiting, stalled or unknown: the evidence.",
        fields=(AGENT,),
        tells={
            "name": TEXT,
            "run": TEXT,
            "activity": TEXT,
            "why": TEXT,
            "quiet_s": NUMBER,
            "evidence": ROWS,
        },
        act=explain_agent,
        reads=True,
    ),
)
