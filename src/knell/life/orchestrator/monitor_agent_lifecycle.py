"""orchestrator.monitor-agent-lifecycle: who is healthy, stalled or dead; and heartbeats."""

from collections.abc import Sequence
from typing import Any

from knell.core.agent import Agent
from knell.core.inputs import Input
from knell.core.ports.processes import Usage
from knell.core.ports.world import World
from knell.core.run import Outcome, Run
from knell.core.stall.verdict import Activity, Judgement, StallLimits
from knell.core.times import seconds_between, whole_seconds
from knell.life.base.touch_heartbeat import beat
from knell.life.orchestrator import command
from knell.life.orchestrator.command import CommandFailed, JsonAnswer, JsonCommand
from knell.life.watch.stalled import judge_runs, stall_limits

CHECK_ALL, CHECK_AGENT, HEARTBEAT = "check_all", "check_agent", "heartbeat"
NEXT_BEAT = 60  # seconds until the orchestrator expects to hear again
HEALTHY, STALLED, DEAD = "healthy", "stalled", "dead"
# The health of a run that has ended, by its outcome; any other outcome is dead.
_ENDED = {
    Outcome.COMPLETED: "completed",
    Outcome.STOPPED: "completed",
    Outcome.ARCHIVED: "completed",
    Outcome.FAILED: "failed",
}


def carry_out(world: World, given: dict[str, Any]) -> JsonAnswer:
    action = given["ACTION"]
    command.check_agent_id(given, CHECK_ALL, (CHECK_AGENT, HEARTBEAT))
    if action == HEARTBEAT:
        return _take_heartbeat(world, given["AGENT_ID"])
    answer = (_check_all if action == CHECK_ALL else _check_agent)(world, given)
    now = whole_seconds(world.now())
    return {"success": True, "action": action, **answer, "timestamp": now}


def _check_all(world: World, given: dict[str, Any]) -> JsonAnswer:
    """Every agent that was alive by the record, and how it turned out to be."""
    before = world.store.runs.live()
    judgements = judge_runs(world, _limits(world, given))
    now = {run.id: run for one in before if (run := world.store.runs.run(one.id))}
    if given["INCLUDE_ENDED"]:
        now |= {run.id: run for run in world.store.runs.newest().values()}
    now |= {one.run.id: one.run for one in judgements}
    rows = _report_health(world, list(now.values()), judgements, given)
    states = [row["health_status"] for row in rows]
    return {
        "agents_checked": len(rows),
        "agents_healthy": states.count(HEALTHY),
        "agents_stalled": states.count(STALLED),
        "agents_dead": states.count(DEAD) + states.count("failed"),
        "agents": rows,
    }


def _check_agent(world: World, given: dict[str, Any]) -> JsonAnswer:
    target = command.find_addressed(world, given["AGENT_ID"])
    only = (f"id:{target.run.id}",)
    judgements = judge_runs(world, _limits(world, given), only) if target.run.live else []
    run = world.store.runs.run(target.run.id) or target.run
    [row] = _report_health(world, [run], judgements, given)
    until = world.now() if run.live else run.ended_at
    lived = seconds_between(run.started_at, until)
    return row | {"agent_id": target.id, "uptime_seconds": lived}


def _limits(world: World, given: dict[str, Any]) -> StallLimits:
    return stall_limits(world, given["HEARTBEAT_TIMEOUT"], given["EVIDENCE"])


def _report_health(
    world: World, runs: Sequence[Run], judgements: Sequence[Judgement], given: dict[str, Any]
) -> list[JsonAnswer]:
    """A row for each run. Each stalled one gets an event, which agent_lifecycle_events shows."""
    known = {one.run.id: one for one in judgements}
    used = world.processes.usage([one.run for one in judgements if one.look.alive])
    rows: list[JsonAnswer] = []
    for run in runs:
        row = _row(world, run, known.get(run.id), used.get(run.id, Usage()), given)
        rows.append(row)
        if row["health_status"] == STALLED:
            told = ("health_status", "cpu_percent", "memory_mb", "seconds_since_heartbeat", "why")
            facts = {key: row[key] for key in told}
            world.store.events.record("health.stalled", run.agent, "", facts)
    return rows


def _row(
    world: World, run: Run, one: Judgement | None, used: Usage, given: dict[str, Any]
) -> JsonAnswer:
    agent = one.agent if one else world.store.runs.agent(run.agent)
    alive = one.look.alive if one else (None if run.live else False)
    low = (used.cpu_percent or 0) < given["CPU_THRESHOLD"]
    small = (used.memory_mb or 0) < given["MEMORY_THRESHOLD"]
    last_beat = one.memory.beat if one else None
    answer: JsonAnswer = {
        "agent_id": run.agent,
        "agent_type": (agent.role or agent.kind) if agent else None,
        "task_id": run.task or None,
        "pid": run.pid,
        "process_alive": alive,
        "cpu_percent": used.cpu_percent,
        "memory_mb": used.memory_mb,
        "seconds_since_heartbeat": int(last_beat.quiet) if last_beat else None,
        "health_status": _status(run, one),
        "activity": str(one.verdict.activity) if one else None,
        "why": one.verdict.why if one else _why_not_judged(run),
        "low_usage": bool(alive) and low and small,
        "overdue": _is_overdue(world, run, agent),
    }
    return answer | ({"spared": command.spared_row(one)} if one and one.verdict.spared else {})


def _status(run: Run, one: Judgement | None) -> str:
    """Dead is an agent whose process is gone. One that could not be judged counts as healthy."""
    if not run.live:
        return _ENDED.get(run.ending.outcome, DEAD) if run.ending else DEAD
    if one is not None and one.look.alive is False:
        return DEAD
    return STALLED if one and one.verdict.activity is Activity.STALLED else HEALTHY


def _why_not_judged(run: Run) -> str:
    if run.live:
        return "it is being started or ended, or runs on another host"
    return (run.ending.detail or run.ending.reason) if run.ending else ""


def _is_overdue(world: World, run: Run, agent: Agent | None) -> bool:
    """Whether it has run longer than spawn-agent-session was given for it."""
    allowed = dict(agent.env if agent else ()).get("TIMEOUT_SECONDS", "")
    lived = seconds_between(run.started_at, world.now()) if run.live else None
    try:
        return lived is not None and lived > float(allowed)
    except ValueError:  # no time was given
        return False


def _take_heartbeat(world: World, agent_id: str) -> JsonAnswer:
    """Records a sign of life of the agent, reported by another program."""
    target = command.find_addressed(world, agent_id)
    if not target.run.live:
        ended = whole_seconds(target.run.ended_at)
        message = f"{target.id} is not running: it ended {ended}"
        raise CommandFailed("monitoring_error", message, agent_id=target.id)
    beat(world, f"id:{target.run.id}")
    now = world.now()
    world.store.watch.remember({}, {target.run.id: now})
    return {
        "success": True,
        "action": HEARTBEAT,
        "agent_id": target.id,
        "last_heartbeat": whole_seconds(now),
        "next_heartbeat_due": whole_seconds(now, NEXT_BEAT),
    }


ACTION = "Check all agents, check one, or record a heartbeat of one."
COMMAND = JsonCommand(
    inputs=(
        Input("ACTION", "line", ACTION, CHECK_ALL, (CHECK_ALL, CHECK_AGENT, HEARTBEAT)),
        command.AGENT_ID,
        Input("HEARTBEAT_TIMEOUT", "seconds", command.SILENCE, None, least=1),
        command.EVIDENCE,
        Input("CPU_THRESHOLD", "number", "In percent; below it, usage is low.", 0.1, most=100_000),
        Input("MEMORY_THRESHOLD", "number", "In MB; below it, usage is low.", 50, most=10**9),
        Input("INCLUDE_ENDED", "flag", "Also agents that have ended.", default=False),
        Input("CHECK_INTERVAL", "seconds", "Not used: knell watch checks by itself.", 30, least=1),
    ),
    carry_out=carry_out,
    fault="monitoring_error",
    reads=("agent_lifecycle",),
    writes=("agent_lifecycle", "agent_lifecycle_events"),
    tools=("database",),
    errors=command.NO_AGENT
    | {"monitoring_error": "An agent could not be looked at, or is not running"},
    silent=(HEARTBEAT,),
)
