"""orchestrator.auto-restart-agent: starts agents again that were killed or have failed."""

from typing import Any

from knell.core.authority import Deed
from knell.core.errors import KnellError, StoreFailed
from knell.core.inputs import Input
from knell.core.ports.world import World
from knell.core.restart import (
    FIRST,
    LONGEST,
    MOST,
    EndedRun,
    RestartDecision,
    RestartRefusal,
    RestartRules,
    decide,
    why_on_purpose,
)
from knell.core.run import Outcome, Run
from knell.core.times import seconds_between, seconds_of, whole_seconds
from knell.life.base.authority import check_agents
from knell.life.base.caller import caller
from knell.life.base.restart_plans import last_words
from knell.life.base.take_in import take_in_journals
from knell.life.orchestrator import command
from knell.life.orchestrator.command import AddressedRun, CommandFailed, JsonAnswer, JsonCommand
from knell.life.start.restart import Again, start_again

RESTART, ALL, STATUS = "restart", "restart_all_failed", "check_status"
FINISHED = (Outcome.COMPLETED, Outcome.STOPPED, Outcome.ARCHIVED)
ON_PURPOSE = RestartRefusal.ON_PURPOSE


def carry_out(world: World, given: dict[str, Any]) -> JsonAnswer:
    command.check_agent_id(given, ALL, (RESTART, STATUS))
    rules = RestartRules(given["MAX_RETRIES"], given["INITIAL_BACKOFF"], given["MAX_BACKOFF"])
    take_in_journals(world)
    if given["ACTION"] == ALL:
        answer = _restart_all_failed(world, rules)
        return answer | {"timestamp": whole_seconds(world.now())}
    # The caller names the agent, so that a deliberate kill is no obstacle.
    target = command.find_addressed(world, given["AGENT_ID"])
    chance = _chance(world, target, rules._replace(even_on_purpose=True))
    if given["ACTION"] == STATUS:
        return _status_answer(target, chance, rules)
    if not chance.again:
        facts = {"agent_id": target.id, "retry_count": target.run.attempt}
        raise CommandFailed(_error(chance), chance.why, **facts)
    run = _start_again(world, target, chance)
    return {"success": True, "action": RESTART, **_row(target, chance, run)}


def _restart_all_failed(world: World, rules: RestartRules) -> JsonAnswer:
    """Starts every agent again that ended by accident; a deliberate kill is not undone."""
    ended = [run for run in world.store.runs.newest().values() if not run.live and run.ending]
    targets = [command.find_addressed(world, run.agent) for run in ended if run.host == world.host]
    decided = [(target, _chance(world, target, rules)) for target in targets]
    eligible = [one for one in decided if one[1].again]
    eligible.sort(key=lambda one: _seconds_left(world, one[0].run, one[1]))
    started: list[JsonAnswer] = []
    failed: list[JsonAnswer] = []
    for target, chance in eligible:
        try:
            started.append(_row(target, chance, _start_again(world, target, chance)))
        except CommandFailed as error:
            failed.append(_refusal(target, error.problem, str(error)))
    skipped = [
        _refusal(target, _error(chance), chance.why)
        for target, chance in decided
        if not chance.again and target.run.ending and target.run.ending.outcome not in FINISHED
    ]
    answer: JsonAnswer = {
        "success": not failed,
        "action": ALL,
        "agents_restarted": len(started),
        "restarted_agents": started,
        "skipped_agents": skipped,
    }
    if failed:
        message = "; ".join(f"{one['agent_id']}: {one['message']}" for one in failed)
        answer |= {"error": "spawn_failed", "message": message, "failed_agents": failed}
    return answer


def _start_again(world: World, target: AddressedRun, chance: RestartDecision) -> Run:
    """Waits for what is left of the backoff, then starts a new run."""
    world.wait([], _seconds_left(world, target.run, chance))
    try:
        check_agents(world, caller(world), Deed.START, [target.agent.name])
        again = Again(resume=True, attempt=chance.attempt, by_hand=False)
        spawned, _ = start_again(world, target.agent, target.run, again)
    except StoreFailed:
        raise
    except KnellError as error:
        raise CommandFailed("spawn_failed", str(error), agent_id=target.id) from error
    return spawned.run


def _seconds_left(world: World, run: Run, chance: RestartDecision) -> float:
    """Of the backoff, which began when the run ended; a clock that was set prolongs no wait."""
    ended = seconds_of(run.ended_at)
    passed = world.seconds() - ended if ended else chance.delay
    return min(max(0.0, chance.delay - max(0.0, passed)), chance.delay)


def _chance(world: World, target: AddressedRun, rules: RestartRules) -> RestartDecision:
    """Whether it may be started again; what runs, or has finished, is left so on purpose."""
    run, ending = target.run, target.run.ending
    if run.live or ending is None:
        return RestartDecision(f"{target.id} is running", ON_PURPOSE)
    if world.store.runs.of(run.agent)[0].id != run.id:
        return RestartDecision(f"{target.id} has been restarted already", ON_PURPOSE)
    if ending.outcome in FINISHED:
        why = why_on_purpose(ending) or f"it was {ending.outcome} because it stalled"
        return RestartDecision(why, ON_PURPOSE)
    lived = seconds_between(run.started_at, run.ended_at) or 0
    return decide(EndedRun(ending, run.attempt, lived, last_words(world, run)), rules)


def _error(chance: RestartDecision) -> str:
    often = chance.refusal is RestartRefusal.TOO_OFTEN
    return "max_retries_exceeded" if often else "non_retryable_error"


# -- answers -----------------------------------------------------------------------------------


def _row(target: AddressedRun, chance: RestartDecision, run: Run) -> JsonAnswer:
    return {
        "agent_id": f"{target.agent.name}#{target.run.id}",
        "new_agent_id": target.agent.name,
        "task_id": target.task,
        "pid": run.pid,
        "retry_count": chance.attempt,
        "backoff_seconds": chance.delay,
        "restarted_at": whole_seconds(run.started_at),
        "message": chance.why,
    }


def _refusal(target: AddressedRun, error: str, message: str) -> JsonAnswer:
    return {"agent_id": target.id, "error": error, "message": message}


def _status_answer(
    target: AddressedRun, chance: RestartDecision, rules: RestartRules
) -> JsonAnswer:
    run = target.run
    return {
        "success": True,
        "action": STATUS,
        "agent_id": target.id,
        "status": str(run.ending.outcome) if run.ending and not run.live else "running",
        "retry_count": run.attempt,
        "max_retries": rules.most,
        "can_retry": chance.again,
        "backoff_seconds": chance.delay if chance.again else None,
        "message": chance.why,
    }


COMMAND = JsonCommand(
    inputs=(
        Input("ACTION", "line", "What to do.", RESTART, (RESTART, ALL, STATUS)),
        command.AGENT_ID,
        Input("MAX_RETRIES", "count", "Restarts in a row, at most.", MOST, most=1000),
        Input("INITIAL_BACKOFF", "seconds", "Wait before the first; then doubled.", int(FIRST)),
        Input("MAX_BACKOFF", "seconds", "The longest wait.", int(LONGEST), most=3600),
    ),
    carry_out=carry_out,
    fault="spawn_failed",
    reads=("agent_lifecycle",),
    writes=("agent_lifecycle", "orchestrator_task"),
    tools=("subprocess", "database"),
    errors=command.NO_AGENT
    | {
        "max_retries_exceeded": "It was restarted as often as is allowed",
        "non_retryable_error": "Its trouble is permanent, it has finished, or it is running",
        "spawn_failed": "It could not be started",
    },
)
