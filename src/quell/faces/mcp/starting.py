"""Tools that begin a run, or say that one goes on: spawn-agent, resume-agent, heartbeat."""

from quell.core.errors import BadRequest, NoSuchAgent, Refused
from quell.core.lifecycle import Outcome
from quell.core.run import Run
from quell.core.team import Role, may
from quell.core.teamwork import NoSuchTeam
from quell.faces.mcp.asker import check_kin, refuse
from quell.faces.mcp.fields import Field
from quell.faces.mcp.looking import HEALTHY
from quell.faces.mcp.tool import AGENT, TEXT, TEXTS, Answer, Call, Tool
from quell.kinds import NAMES
from quell.life.resume import ResumeWish
from quell.life.spawn import Wish

ONLY_LEADERS = "Only the team leader can spawn agents"
TERMINATED = "Cannot heartbeat for terminated agent"
INACTIVE = "Agent is inactive. Requires re-spawn."
PLACES = ("tmux", "kitty", "wezterm", "headless")
MOST_METADATA = 4096


def spawn_agent(call: Call) -> Answer:
    """A child of the asker; in a team only by its leader."""
    given = call.given
    check_spawn(call, given["teamName"])
    if given["kind"] == "command" and not given["args"]:
        raise BadRequest("no command given", "args holds the command and its arguments")
    spawned = call.quell.spawn(
        Wish(
            kind=given["kind"],
            args=tuple(given["args"]),
            name=given["name"],
            place=given["place"],
            cwd=given["cwd"],
            team=given["teamName"],
            role=given["role"],
            task=given["task"],
        )
    )
    return {"success": True, **born(spawned.run), "kind": spawned.agent.kind}


def check_spawn(call: Call, team: str) -> None:
    store, who = call.world.store.teamwork, call.asker.who
    found = store.team(team) if team else None
    if team and (found is None or found.dissolved_at):
        raise NoSuchTeam(team)
    if call.asker.operator:
        return
    member = store.membership(who.agent)
    if (found and found.leader != who.agent) or (member and not may(member.role, "spawn-agent")):
        refuse(call.quell, call.asker, ONLY_LEADERS, "ask the leader of the team")


def born(run: Run) -> Answer:
    return {
        "agentId": run.agent,
        "run": run.id,
        "pid": run.process.pid if run.process else None,
        "place": run.place.name,
        "pane": run.place.pane,
    }


def resume_agent(call: Call) -> Answer:
    run = call.quell.served.run(call.given["agentId"])
    check_kin(call.quell, call.asker, run, "resume")
    spawned, verdict, warnings = call.quell.resume(ResumeWish(run.agent))
    return {
        "success": True,
        **born(spawned.run),
        "verdict": verdict.value,
        "warnings": list(warnings),
    }


def heartbeat(call: Call) -> Answer:
    """A sign of life of the asker itself; nobody lives by proxy."""
    given, world = call.given, call.world
    run = call.quell.served.run(given["agentId"])
    if not _in_team(call, run.agent, given["teamName"]):
        raise NoSuchAgent(given["agentId"])
    if run.agent != call.asker.who.agent and not call.asker.operator:
        why = f"only '{run.agent}' itself can say that it lives"
        refuse(call.quell, call.asker, why, "say so of you")
    if not run.live:
        lost = run.ending is not None and run.ending.outcome is Outcome.LOST
        raise Refused(INACTIVE if lost else TERMINATED, f"quell resume {run.agent}")
    call.quell.beat(run.agent)
    status = call.quell.served.view(run).team_status
    status = given["status"] if status in ("active", "idle", "inactive") else status
    if given["metadata"]:
        told = {"status": given["status"], "metadata": given["metadata"]}
        world.store.note("agent.heartbeat", run.agent, run.id, told)
    now = world.seconds()
    return {
        "success": True,
        "heartbeatTs": world.moment(now),
        "nextDeadline": world.moment(now + HEALTHY),
        "agentStatus": status,
    }


def _in_team(call: Call, agent: str, team: str) -> bool:
    if not team:
        return True
    member = call.world.store.teamwork.membership(agent)
    record = call.world.store.agent(agent)
    return (member.team if member else record.team if record else "") == team


BORN = {
    "agentId": TEXT,
    "run": TEXT,
    "pid": {"type": ["integer", "null"]},
    "place": TEXT,
    "pane": TEXT,
}

TOOLS = (
    Tool(
        name="spawn-agent",
        told="Start an agent under quell, as yours; with teamName also as a member of that team,"
        " which only its leader can do.",
        fields=(
            Field("kind", "name", "Which program; command: any, given in args", choices=NAMES),
            Field("args", "words", "Its arguments, or the whole command", [], most=32_000),
            Field("name", "text", "What to call it; empty: KIND-N", ""),
            Field("teamName", "text", "The team it joins", ""),
            Field("role", "text", "Its role there", "", choices=("", *Role)),
            Field("task", "text", "The task it works on", ""),
            Field("cwd", "text", "Where to start it", "", most=4096),
            Field("place", "text", "Where it shows", "", choices=("", *PLACES)),
        ),
        tells={**BORN, "kind": TEXT},
        act=spawn_agent,
    ),
    Tool(
        name="resume-agent",
        told="Continue an ended agent's conversation in a new run. Agents you started, and members"
        " of a team you lead.",
        fields=(AGENT,),
        tells={**BORN, "verdict": TEXT, "warnings": TEXTS},
        act=resume_agent,
    ),
    Tool(
        name="heartbeat",
        told="Say that you live; expected every 60 seconds from an agent that has begun to.",
        fields=(
            AGENT,
            Field("teamName", "text", "Name of your team", ""),
            Field("status", "text", "What you do", "active", choices=("active", "idle")),
            Field("metadata", "facts", "For the record", None, most=MOST_METADATA),
        ),
        tells={"heartbeatTs": TEXT, "nextDeadline": TEXT, "agentStatus": TEXT},
        act=heartbeat,
        repeatable=True,
    ),
)
