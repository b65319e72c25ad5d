"""orchestrator.monitor-agent-lifecycle: who is healthy, stalled or dead; and heartbeats."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quell.core.lifecycle import Outcome
from quell.core.run import Run
from quell.core.stall import BEAT, Activity
from quell.faces.commands.addressed import addressed
from quell.faces.commands.answers import Answer, Failed, seconds_between, told_time
from quell.faces.commands.parameters import BadParameter, Parameter
from quell.faces.commands.proc import Usage, usage
from quell.faces.commands.spec import Spec

if TYPE_CHECKING:
    from quell.api import Quell
    from quell.life.stalled import Judged

CHECK_ALL, CHECK_AGENT, HEARTBEAT = "check_all", "check_agent", "heartbeat"
NEXT_BEAT = 60  # seconds until the orchestrator expects to hear again
HEALTHY, STALLED, DEAD = "healthy", "stalled", "dead"
# A process that is gone: what its end says of it.
_GONE = {
    Outcome.COMPLETED: "completed",
    Outcome.STOPPED: "completed",
    Outcome.ARCHIVED: "completed",
    Outcome.FAILED: "failed",
}


def carry_out(quell: "Quell", given: dict[str, Any]) -> Answer:
    action = given["ACTION"]
    if action == CHECK_ALL:
        if given["AGENT_ID"] is not None:
            told = f"AGENT_ID must come with ACTION {CHECK_AGENT} or {HEARTBEAT}"
            raise BadParameter("AGENT_ID", told)
        return check_all(quell, given)
    if given["AGENT_ID"] is None:
        raise BadParameter("AGENT_ID", f"AGENT_ID is required for ACTION {action}")
    return (check_agent if action == CHECK_AGENT else heartbeat)(quell, given)


# -- looking -------------------------------------------------------------------------------------


def check_all(quell: "Quell", given: dict[str, Any]) -> Answer:
    """Everybody who was alive by the record, and how they turned out to be."""
    before = quell.world.store.live_runs()
    judged = quell.judged(older_than=given["HEARTBEAT_TIMEOUT"])
    now = {run.id: run for one in before if (run := quell.world.store.run(one.id))}
    if given["INCLUDE_ENDED"]:
        now |= {run.id: run for run in quell.world.store.last_runs().values()}
    now |= {one.run.id: one.run for one in judged}
    agents = described(quell, list(now.values()), judged, given)
    states = [one["health_status"] for one in agents]
    _remember(quell, agents)
    return {
        "success": True,
        "action": CHECK_ALL,
        "agents_checked": len(agents),
        "agents_healthy": states.count(HEALTHY),
        "agents_stalled": states.count(STALLED),
        "agents_dead": states.count(DEAD) + states.count("failed"),
        "agents": agents,
        "timestamp": told_time(quell.world.now()),
    }


def check_agent(quell: "Quell", given: dict[str, Any]) -> Answer:
    target = addressed(quell, given["AGENT_ID"])
    judged: list[Judged] = []
    if target.run.live:
        judged = quell.judged(f"id:{target.run.id}", older_than=given["HEARTBEAT_TIMEOUT"])
    run = quell.world.store.run(target.run.id) or target.run
    [told] = described(quell, [run], judged, given)
    _remember(quell, [told])
    until = quell.world.now() if run.live else run.ended_at
    return {
        "success": True,
        "action": CHECK_AGENT,
        **told,
        "agent_id": target.id,
        "uptime_seconds": seconds_between(run.started_at, until),
        "timestamp": told_time(quell.world.now()),
    }


def described(
    quell: "Quell", runs: Sequence[Run], judged: "Sequence[Judged]", given: dict[str, Any]
) -> list[Answer]:
    verdicts = {one.run.id: one for one in judged}
    used = usage(quell, [one.run for one in judged if one.look.alive])
    return [
        _of_run(quell, run, verdicts.get(run.id), used.get(run.id, Usage()), given) for run in runs
    ]


def _of_run(
    quell: "Quell", run: Run, one: "Judged | None", used: Usage, given: dict[str, Any]
) -> Answer:
    beat = one.memory.beat if one else None
    alive = one.look.alive if one else (None if run.live else False)
    agent = one.agent if one else quell.world.store.agent(run.agent)
    low = (used.cpu_percent or 0) < given["CPU_THRESHOLD"]
    small = (used.memory_mb or 0) < given["MEMORY_THRESHOLD"]
    return {
        "agent_id": run.agent,
        "agent_type": (agent.role or agent.kind) if agent else None,
        "task_id": run.task or None,
        "pid": run.process.pid if run.process else None,
        "process_alive": alive,
        "cpu_percent": used.cpu_percent,
        "memory_mb": used.memory_mb,
        "seconds_since_heartbeat": int(beat.quiet) if beat else None,
        "health_status": health(run, one),
        "activity": str(one.verdict.activity) if one else None,
        "why": one.verdict.why if one else _end_of(run),
        "low_usage": bool(alive) and low and small,
        "overdue": _overdue(quell, run, agent.env if agent else ()),
    }


def health(run: Run, one: "Judged | None") -> str:
    """Dead is whose process is gone. What merely could not be judged counts as healthy."""
    if not run.live:
        return _GONE.get(run.ending.outcome, DEAD) if run.ending else DEAD
    if one is not None and one.look.alive is False:
        return DEAD
    return STALLED if one and one.verdict.activity is Activity.STALLED else HEALTHY


def _end_of(run: Run) -> str:
    if run.live:
        return "it is being started or ended, or runs on another host"
    return (run.ending.detail or run.ending.reason) if run.ending else ""


def _overdue(quell: "Quell", run: Run, env: Sequence[tuple[str, str]]) -> bool:
    """Past the time that spawn-agent-session was given for it."""
    allowed = dict(env).get("TIMEOUT_SECONDS", "")
    lived = seconds_between(run.started_at, quell.world.now()) if run.live else None
    try:
        return lived is not None and lived > float(allowed)
    except ValueError:  # none was given
        return False


def _remember(quell: "Quell", agents: Sequence[Answer]) -> None:
    """Whoever is not well gets a line in the trail, and in agent_lifecycle_events."""
    facts = ("health_status", "cpu_percent", "memory_mb", "seconds_since_heartbeat", "why")
    for one in agents:
        if one["health_status"] == STALLED:
            told = {key: one[key] for key in facts}
            quell.world.store.note("health.stalled", one["agent_id"], "", told)


# -- heartbeats ----------------------------------------------------------------------------------


def heartbeat(quell: "Quell", given: dict[str, Any]) -> Answer:
    """Whoever reports for the agent says that it is alive."""
    target = addressed(quell, given["AGENT_ID"])
    if not target.run.live:
        told = f"{target.id} is not running: it ended {told_time(target.run.ended_at)}"
        raise Failed("monitoring_error", told, agent_id=target.id)
    quell.beat(f"id:{target.run.id}")
    now = quell.world.now()
    quell.world.store.remember({}, {target.run.id: now})
    return {
        "success": True,
        "action": HEARTBEAT,
        "agent_id": target.id,
        "last_heartbeat": told_time(now),
        "next_heartbeat_due": told_time(now, NEXT_BEAT),
    }


def _is_frequent(given: dict[str, Any]) -> bool:
    return given.get("ACTION") == HEARTBEAT


SPEC = Spec(
    parameters=(
        Parameter(
            "ACTION",
            "text",
            "Everybody, one agent, or a heartbeat of one.",
            CHECK_ALL,
            (CHECK_ALL, CHECK_AGENT, HEARTBEAT),
        ),
        Parameter("AGENT_ID", "text", "The agent, as in agent_lifecycle.", None),
        Parameter(
            "HEARTBEAT_TIMEOUT",
            "seconds",
            f"Silent for longer, an agent has stalled; default as configured ({BEAT:.0f}).",
            None,
            least=1,
        ),
        Parameter("CPU_THRESHOLD", "number", "Percent; less is low usage.", 0.1, most=100_000),
        Parameter("MEMORY_THRESHOLD", "number", "Megabytes; less is low usage.", 50, most=10**9),
        Parameter("INCLUDE_ENDED", "flag", "Agents that ended earlier as well.", default=False),
        Parameter(
            "CHECK_INTERVAL", "seconds", "How often you mean to ask; quell watch does.", 30, least=1
        ),
    ),
    carry_out=carry_out,
    fault="monitoring_error",
    reads=("agent_lifecycle",),
    writes=("agent_lifecycle", "agent_lifecycle_events"),
    tools=("database",),
    errors={
        "agent_not_found": "Agent doesn't exist in agent_lifecycle",
        "monitoring_error": "An agent could not be looked at, or is not running",
    },
    silent=_is_frequent,
)
