"""orchestrator.auto-restart-agent: starts again what was killed or has failed, not too often."""

from typing import TYPE_CHECKING, Any, NamedTuple

from quell.core.errors import QuellError, StoreFailed
from quell.core.lifecycle import Outcome
from quell.core.restart import FIRST, LONGEST, MOST, Decision, backoff, decide, planned_end
from quell.core.run import Ending
from quell.faces.commands.addressed import Addressed, addressed
from quell.faces.commands.answers import Answer, Failed, moment, seconds_between, told_time
from quell.faces.commands.parameters import BadParameter, Parameter
from quell.faces.commands.spec import Spec

if TYPE_CHECKING:
    from quell.api import Quell
    from quell.life.spawn import Spawned

RESTART, ALL, STATUS = "restart", "restart_all_failed", "check_status"
LAST_LINES = 5  # of its screen: what scrolled up earlier did not end it
FINISHED = (Outcome.COMPLETED, Outcome.STOPPED, Outcome.ARCHIVED)


class Chance(NamedTuple):
    """Whether an agent may be started again; if not, the error that says so."""

    again: bool
    why: str
    error: str = ""
    attempt: int = 0
    delay: float = 0.0


def carry_out(quell: "Quell", given: dict[str, Any]) -> Answer:
    quell.orchestrated.settle()
    if given["ACTION"] == ALL:
        if given["AGENT_ID"] is not None:
            told = f"AGENT_ID must come with ACTION {RESTART} or {STATUS}"
            raise BadParameter("AGENT_ID", told)
        return restart_all(quell, given)
    if given["AGENT_ID"] is None:
        raise BadParameter("AGENT_ID", f"AGENT_ID is required for ACTION {given['ACTION']}")
    target = addressed(quell, given["AGENT_ID"])
    if given["ACTION"] == STATUS:
        return check_status(quell, target, given)
    return restart_one(quell, target, given)


# -- one agent -----------------------------------------------------------------------------------


def restart_one(quell: "Quell", target: Addressed, given: dict[str, Any]) -> Answer:
    """By name: also one that was killed on purpose, for this asks for it on purpose."""
    chance = chance_of(quell, target, given)
    if not chance.again:
        raise Failed(chance.error, chance.why, agent_id=target.id, retry_count=target.run.attempt)
    spawned = started(quell, target, chance)
    return {"success": True, "action": RESTART, **_told(target, spawned, chance)}


def started(quell: "Quell", target: Addressed, chance: Chance) -> "Spawned":
    """Waits for what is left of the backoff, then starts it."""
    quell.world.kernel.wait([], seconds_left(quell, target, chance))
    try:
        return quell.orchestrated.start_again(target.agent, target.run, chance.attempt)
    except StoreFailed:
        raise
    except QuellError as error:
        raise Failed("spawn_failed", str(error), agent_id=target.id) from error


def seconds_left(quell: "Quell", target: Addressed, chance: Chance) -> float:
    """Of the backoff, which began when it ended; a clock that was set makes nobody wait longer."""
    ended = moment(target.run.ended_at)
    passed = quell.world.seconds() - ended.timestamp() if ended else chance.delay
    return min(max(0.0, chance.delay - max(0.0, passed)), chance.delay)


def _told(target: Addressed, spawned: "Spawned", chance: Chance) -> Answer:
    run = spawned.run
    return {
        "agent_id": f"{target.agent.name}#{target.run.id}",
        "new_agent_id": spawned.agent.name,
        "task_id": target.task,
        "pid": run.process.pid if run.process else None,
        "retry_count": chance.attempt,
        "backoff_seconds": chance.delay,
        "restarted_at": told_time(run.started_at),
        "message": chance.why,
    }


def check_status(quell: "Quell", target: Addressed, given: dict[str, Any]) -> Answer:
    chance = chance_of(quell, target, given)
    ending = target.run.ending
    return {
        "success": True,
        "action": STATUS,
        "agent_id": target.id,
        "status": str(ending.outcome) if ending and not target.run.live else "running",
        "retry_count": target.run.attempt,
        "max_retries": given["MAX_RETRIES"],
        "can_retry": chance.again,
        "backoff_seconds": chance.delay if chance.again else None,
        "message": chance.why,
    }


# -- everybody -----------------------------------------------------------------------------------


def restart_all(quell: "Quell", given: dict[str, Any]) -> Answer:
    """Those that ended unasked. A deliberate kill stays one: nobody undoes it in passing."""
    last = quell.world.store.last_runs().values()
    ended = [run for run in last if not run.live and run.host == quell.world.host and run.ending]
    targets = [addressed(quell, run.agent) for run in ended]
    chances = [(one, chance_of(quell, one, given, unasked=True)) for one in targets]
    eligible = [(one, chance) for one, chance in chances if chance.again]
    eligible.sort(key=lambda pair: seconds_left(quell, *pair))
    done: list[Answer] = []
    failed: list[Answer] = []
    for target, chance in eligible:
        try:
            done.append(_told(target, started(quell, target, chance), chance))
        except Failed as error:
            failed.append({"agent_id": target.id, "error": error.code, "message": str(error)})
    spared = [
        {"agent_id": one.id, "error": chance.error, "message": chance.why}
        for one, chance in chances
        if not chance.again and one.run.ending and one.run.ending.outcome not in FINISHED
    ]
    answer: Answer = {
        "success": not failed,
        "action": ALL,
        "agents_restarted": len(done),
        "restarted_agents": done,
        "skipped_agents": spared,
        "timestamp": told_time(quell.world.now()),
    }
    if failed:
        message = "; ".join(f"{one['agent_id']}: {one['message']}" for one in failed)
        answer |= {"error": "spawn_failed", "message": message, "failed_agents": failed}
    return answer


# -- deciding ------------------------------------------------------------------------------------


def chance_of(
    quell: "Quell", target: Addressed, given: dict[str, Any], *, unasked: bool = False
) -> Chance:
    run, ending = target.run, target.run.ending
    if run.live or ending is None:
        return Chance(again=False, why=f"{target.id} is running", error="non_retryable_error")
    if quell.world.store.runs_of(run.agent)[0].id != run.id:
        told = f"{target.id} has been restarted already"
        return Chance(again=False, why=told, error="non_retryable_error")
    if ending.outcome in FINISHED or (unasked and planned_end(ending)):
        told = planned_end(ending)
        return Chance(again=False, why=told, error="non_retryable_error")
    most = given["MAX_RETRIES"]
    decision = decided(quell, target, ending, most, run.attempt)
    if decision.again:
        delay = backoff(decision.attempt, given["INITIAL_BACKOFF"], given["MAX_BACKOFF"])
        return Chance(again=True, why=decision.why, attempt=decision.attempt, delay=delay)
    fresh = decided(quell, target, ending, max(1, most), 0)
    error = "max_retries_exceeded" if fresh.again else "non_retryable_error"
    return Chance(again=False, why=decision.why, error=error)


def decided(quell: "Quell", target: Addressed, ending: Ending, most: int, attempt: int) -> Decision:
    receipt = quell.world.store.receipt(target.run.id)
    shown = receipt.screen.strip().split("\n")[-LAST_LINES:] if receipt else []
    lived = seconds_between(target.run.started_at, target.run.ended_at) or 0
    unplanned = ending._replace(reason="stalled") if planned_end(ending) else ending
    return decide(unplanned, wanted=most, attempt=attempt, lived=lived, words="\n".join(shown))


PARAMETERS = (
    Parameter("ACTION", "text", "What to do.", RESTART, (RESTART, ALL, STATUS)),
    Parameter("AGENT_ID", "text", "The agent, as in agent_lifecycle.", None),
    Parameter("MAX_RETRIES", "count", "Restarts in a row, at most.", MOST, most=1000),
    Parameter("INITIAL_BACKOFF", "seconds", "Before the first; then doubled.", int(FIRST)),
    Parameter("MAX_BACKOFF", "seconds", "No wait is longer.", int(LONGEST), most=3600),
)
SPEC = Spec(
    parameters=PARAMETERS,
    carry_out=carry_out,
    fault="spawn_failed",
    reads=("agent_lifecycle",),
    writes=("agent_lifecycle", "orchestrator_task"),
    tools=("subprocess", "database"),
    errors={
        "agent_not_found": "Agent doesn't exist in agent_lifecycle",
        "max_retries_exceeded": "It was restarted as often as is allowed",
        "non_retryable_error": "Its trouble is permanent, it has finished, or it is running",
        "spawn_failed": "It could not be started",
    },
)
