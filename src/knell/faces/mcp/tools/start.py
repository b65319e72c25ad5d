"""Tools that begin a run, or say that one goes on: spawn-agent, resume-agent, heartbeat."""

from knell.core.errors import BadRequest
from knell.core.inputs import Input
from knell.core.run import Run
from knell.core.teams import Role
from knell.faces.mcp.tools.tool import AGENT, NOTICES, TEXT, Answer, Tool, ToolCall, texts

PLACES = ("tmux", "kitty", "wezterm", "headless")
MOST_METADATA = 4096


def spawn_agent(call: ToolCall) -> Answer:
    """Starts an agent as a child of the caller; in a team only its leader may."""
    given = call.given
    call.knell.server.check_spawn()
    if given["kind"] == "command" and not given["args"]:
        raise BadRequest("no command given", "args holds the command and its arguments")
    own = {name: given[name] for name in ("kind", "args", "name", "place", "cwd", "role", "task")}
    stay = call.knell.settings.spawn_stay
    agent, run, _ = call.knell.spawn(**own, team=given["teamName"], stay=stay)
    return {**run_json(run), "kind": agent.kind}


def run_json(run: Run) -> Answer:
    return {
        "agentId": run.agent,
        "run": run.id,
        "pid": run.pid,
        "place": run.place.name,
        "pane": run.place.pane,
    }


def resume_agent(call: ToolCall) -> Answer:
    run = call.knell.server.kin(call.given["agentId"])
    given = call.given
    spawned, verdict, warnings = call.knell.resume(
        run.agent, place=given["place"], args=(given["prompt"],) if given["prompt"] else ()
    )
    return {
        **run_json(spawned.run),
        "verdict": verdict.value,
        "warnings": [one._asdict() for one in warnings],
    }


def heartbeat(call: ToolCall) -> Answer:
    given = call.given
    beat = call.knell.server.heartbeat(
        given["agentId"], team=given["teamName"], status=given["status"], metadata=given["metadata"]
    )
    return {"heartbeatTs": beat.at, "nextDeadline": beat.next_deadline, "agentStatus": beat.status}


RUN = {**texts("agentId", "run", "place", "pane"), "pid": {"type": ["integer", "null"]}}

TOOLS = (
    Tool(
        name="spawn-agent",
        text="Start an agent under knell, as yours; with teamName also as a member of that team,"
        " which only its leader can do.",
        fields=(
            Input("kind", "name", "Which kind of agent; command: any program, given in args"),
            Input("args", "words", "Its arguments, or the whole command", [], most=32_000),
            Input("name", "text", "What to call it; empty: KIND-N", ""),
            Input("teamName", "text", "The team it joins", ""),
            Input("role", "text", "Its role there", "", choices=("", *Role)),
            Input("task", "text", "The task it works on", ""),
            Input("cwd", "text", "Where to start it", "", most=4096),
            Input("place", "text", "Where it shows", "", choices=("", *PLACES)),
        ),
        answer={**RUN, "kind": TEXT},
        act=spawn_agent,
    ),
    Tool(
        name="resume-agent",
        text="Continue an ended agent's conversation in a new run. Agents you started, and members"
        " of a team you lead.",
        fields=(
            AGENT,
            Input("prompt", "text", "What to say next; needed without a terminal", "", most=32_000),
            Input("place", "text", "Where it shows; empty: as before", "", choices=("", *PLACES)),
        ),
        answer={**RUN, "verdict": TEXT, "warnings": NOTICES},
        act=resume_agent,
    ),
    Tool(
        name="heartbeat",
        text="Say that you live; expected every 60 seconds from an agent that has begun to.",
        fields=(
            AGENT,
            Input("teamName", "text", "Name of your team", ""),
            Input("status", "text", "What you do", "active", choices=("active", "idle")),
            Input("metadata", "facts", "For the record", None, most=MOST_METADATA),
        ),
        answer=texts("heartbeatTs", "nextDeadline", "agentStatus"),
        act=heartbeat,
        repeatable=True,
    ),
)
