"""orchestrator.kill-stalled-agent: ends one named agent, or all that have stalled."""

from collections.abc import Callable
from typing import Any, TypeVar

from knell.core.codes import Code
from knell.core.ending_steps import Way
from knell.core.errors import BadParameter, Refused
from knell.core.inputs import Input
from knell.core.ladder import KILL_STALLED, VERIFY, grace_of
from knell.core.orchestrator_task import Fate
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.receipt import Receipt, Result
from knell.core.run import Ending, Outcome
from knell.core.stall.verdict import SPARING, Judgement
from knell.core.times import whole_seconds
from knell.life.base.authority import check_authority
from knell.life.base.caller import caller
from knell.life.base.take_in import take_in_journals
from knell.life.end.engine import end
from knell.life.end.kill import KillWish, kill
from knell.life.orchestrator import command
from knell.life.orchestrator.command import AddressedRun, CommandFailed, JsonAnswer, JsonCommand
from knell.life.watch.stalled import StalledWish, end_stalled

Asked = TypeVar("Asked", KillWish, StalledWish)
Done = TypeVar("Done")

KILL, KILL_ALL = "kill_agent", "kill_stalled"
ANYHOW = "an agent that is named is killed whether it has stalled or not"
FAILED = (Result.SURVIVORS, Result.PERMISSION_DENIED, Result.REFUSED)
ENDED = (Result.ENDED, Result.WOULD_END)  # one that ended by itself was not killed


def carry_out(world: World, given: dict[str, Any]) -> JsonAnswer:
    _check_combination(given)
    return (_kill_agent if given["ACTION"] == KILL else _kill_stalled)(world, given)


def _check_combination(given: dict[str, Any]) -> None:
    silence, named = "HEARTBEAT_TIMEOUT_SECONDS", given["ACTION"] == KILL
    if given["FORCE_CLEANUP"] and not given["CLEANUP"]:
        raise BadParameter("FORCE_CLEANUP", "FORCE_CLEANUP must not come with CLEANUP false")
    if named and given["EVIDENCE"] != SPARING:
        raise BadParameter("EVIDENCE", f"EVIDENCE must come with ACTION {KILL_ALL}: {ANYHOW}")
    if not named:
        if given["REASON"] is not None:
            why = "each agent's own silence is the reason"
            raise BadParameter("REASON", f"REASON must not come with ACTION {KILL_ALL}: {why}")
    elif given[silence] is not None:
        raise BadParameter(silence, f"{silence} must come with ACTION {KILL_ALL}: {ANYHOW}")
    elif given["AGENT_ID"] is None:
        message = f"AGENT_ID is required, or ACTION {KILL_ALL} for all that have stalled"
        raise BadParameter("AGENT_ID", message)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """What a kill of one agent and a kill of all that have stalled have in common."""
    cleanup = "own" if given["CLEANUP"] else ""  # a person's own worktree is not the task's
    return {
        "grace": given["GRACE_PERIOD_SECONDS"],
        "force": given["FORCE_KILL"],
        "tasks": given["TASKS"] or "",
        "cleanup": "force" if given["FORCE_CLEANUP"] else cleanup,
        "yes": given["YES"],
        "dry_run": given["DRY_RUN"],
    }


def _or_without_cleanup(act: Callable[[Asked], Done], wish: Asked) -> Done:
    """Leaves the cleanup that is done unasked out where the caller may not clean up. One that was
    asked for is refused instead. Both are refused before anything is done."""
    try:
        return act(wish)
    except Refused as error:
        if wish.cleanup != "own" or error.code not in (Code.NOT_ALLOWED, Code.ONLY_THE_LEADER):
            raise
    return act(wish._replace(cleanup=""))


# -- one agent ---------------------------------------------------------------------------------


def _kill_agent(world: World, given: dict[str, Any]) -> JsonAnswer:
    """Ends the named agent, whether it has stalled or not."""
    take_in_journals(world)
    target = _wait_for_keeper(world, command.find_addressed(world, given["AGENT_ID"]))
    if not target.run.live:
        return _dead_answer(world, target, given)
    own_run = (f"id:{target.run.id}",)
    reason = given["REASON"] or ""
    wish = KillWish(own_run, detail=reason, stalled=True, **_options(given))
    results = _or_without_cleanup(lambda asked: kill(world, asked), wish)
    receipts = [receipt for result in results for receipt in result.receipts]
    own = next(receipt for receipt in receipts if receipt.run == target.run.id)
    if own.result is Result.NO_PID:
        _write_off(world, target)
    failed = next((one for one in receipts if one.result in FAILED), None)
    if failed is not None:
        raise _kill_failed(failed, target)
    if own.result is Result.ALREADY_ENDED:
        now = world.store.runs.run(target.run.id) or target.run
        return _dead_answer(world, target._replace(run=now), given)
    return _killed_answer(own, target, given)


def _wait_for_keeper(world: World, target: AddressedRun) -> AddressedRun:
    """Its process may be gone while its keeper still sweeps and writes: waits for that."""
    run = target.run
    gone = run.process and isinstance(world.processes.look(run.process), Gone)
    if not run.live or not gone or run.keeper is None:
        return target
    world.wait([run.keeper], world.settings.children_grace + VERIFY)
    take_in_journals(world)
    return target._replace(run=world.store.runs.run(run.id) or run)


def _killed_answer(receipt: Receipt, target: AddressedRun, given: dict[str, Any]) -> JsonAnswer:
    answer = _contract_answer(target, given) | {"pid": receipt.pid}
    if receipt.result is Result.WOULD_END:
        processes = [{"pid": one.pid, "command": one.command} for one in receipt.processes]
        head = {key: answer[key] for key in ("success", "agent_id", "action")}
        plan = {"dry_run": True, "pid": receipt.pid, "task_id": target.task}
        return head | plan | {"processes": processes, "message": "Nothing was done"}
    gracefully = _ended_gracefully(receipt)
    answer |= {
        "kill_signal": "SIGTERM" if gracefully else "SIGKILL",
        "killed_at": whole_seconds(receipt.finished_at),
        "killed_gracefully": gracefully,
        "message": "Agent terminated gracefully" if gracefully else "Agent force killed",
    }
    unwritten = [one.text for one in receipt.warnings if one.code is Code.STORE_NOT_WRITTEN]
    trouble = unwritten[:1] or list(receipt.cleaning.failed)
    if trouble:
        code = "database_error" if unwritten else "cleanup_failed"
        answer |= {"success": False, "error": code, "killed": True, "message": "; ".join(trouble)}
    return answer | _leftovers(receipt)


def _contract_answer(target: AddressedRun, given: dict[str, Any]) -> JsonAnswer:
    """The keys of the contract, in its order, as for an agent that was dead already. A grace
    belongs only to a graceful kill."""
    forced = given["FORCE_KILL"]
    seconds = {"grace_period_seconds": command.short_number(given["GRACE_PERIOD_SECONDS"])}
    return {
        "success": True,
        "agent_id": target.id,
        "action": "force_kill" if forced else "graceful_kill",
        "pid": target.pid,
        "kill_signal": None,
        "task_id": target.task,
        "killed_at": whole_seconds(target.run.ended_at),
        **({} if forced else seconds),
        "killed_gracefully": not forced,
    }


def _ended_gracefully(receipt: Receipt) -> bool:
    """No KILL was needed, for the agent or for anything that it had started."""
    return not any(rung.rung == "kill" and rung.reached for rung in receipt.rungs)


def _leftovers(receipt: Receipt) -> JsonAnswer:
    """What a caller has to know beyond the contract's keys, where there is any of it."""
    answer: JsonAnswer = {}
    if receipt.cleaning.state != "none" or receipt.cleaning.session_dir:
        answer["cleanup"] = receipt.cleaning.to_json()
    warnings = [one._asdict() for one in (*receipt.warnings, *receipt.cleaning.warnings)]
    return answer | ({"warnings": warnings} if warnings else {})


def _kill_failed(receipt: Receipt, target: AddressedRun) -> CommandFailed:
    """Names the processes that could not be ended, their state and the reason."""
    first = receipt.survivors[0] if receipt.survivors else None
    facts = {"pid": first.pid if first else receipt.pid, "state": first.state if first else None}
    survivors = [one._asdict() for one in receipt.survivors]
    why = _why_alive(receipt)
    return CommandFailed("kill_failed", why, agent_id=target.id, **facts, survivors=survivors)


def _why_alive(receipt: Receipt) -> str:
    left = [f"PID {one.pid} survived ({one.state}): {one.why}" for one in receipt.survivors]
    return ", ".join(left) or receipt.detail


# -- an agent that has no process --------------------------------------------------------------


def _dead_answer(world: World, target: AddressedRun, given: dict[str, Any]) -> JsonAnswer:
    """An agent that has ended counts as killed, unless its PID belongs to another process now."""
    ending = target.run.ending
    lost = ending is not None and ending.outcome is Outcome.LOST
    was = target.run.process
    now = world.processes.identify(was.pid) if lost and was else None
    if was and now and not now.same_as(was):
        message = f"PID {target.pid} belongs to another process now; nothing was signalled"
        raise _process_not_found(message, target)
    if given["STRICT"] or (lost and target.pid is None):
        what = "is not running any more" if target.pid else "was never recorded"
        raise _process_not_found(f"the process of {target.id} {what}", target)
    dead = {"already_dead": True, "message": "Agent was already dead"}
    return _contract_answer(target, given) | dead


def _write_off(world: World, target: AddressedRun) -> None:
    """A run of which no process was ever recorded is lost; its task is handed back."""
    who = caller(world)
    check_authority(world, [target.run], who, confirmed=True)
    ending = Ending(Outcome.LOST, who.by, "lost", "no process of it was ever recorded")
    end(world, [target.run], Way(KILL_STALLED, ending, deregister=True))
    message = f"no PID is recorded for {target.id}; it was written off as lost"
    raise _process_not_found(message, target)


def _process_not_found(message: str, target: AddressedRun) -> CommandFailed:
    return CommandFailed("process_not_found", message, agent_id=target.id, pid=target.pid)


# -- all that have stalled ---------------------------------------------------------------------


def _kill_stalled(world: World, given: dict[str, Any]) -> JsonAnswer:
    """Ends the agents that have stalled; with an AGENT_ID only that one, if it has stalled.

    One that could not be ended, or cleaned up after, does not hide those that could."""
    named: tuple[str, ...] = ()
    if given["AGENT_ID"]:
        named = (f"id:{command.find_addressed(world, given['AGENT_ID']).run.id}",)
    seconds, evidence = given["HEARTBEAT_TIMEOUT_SECONDS"], given["EVIDENCE"]
    wish = StalledWish(seconds, named, **_options(given), evidence=evidence)
    judged = _or_without_cleanup(lambda asked: end_stalled(world, asked), wish)
    killed = [(one, receipt) for one, receipt in judged if receipt and receipt.result in ENDED]
    failed = [
        {"agent_id": receipt.agent, "pid": receipt.pid, "message": _why_alive(receipt)}
        for _, receipt in judged
        if receipt and receipt.result in FAILED
    ]
    answer: JsonAnswer = {
        "success": True,
        "action": KILL_ALL,
        "agents_killed": 0 if given["DRY_RUN"] else len(killed),
        "killed_agents": [_stalled_row(one, receipt) for one, receipt in killed],
    }
    if spared := [one for one, _ in judged if one.verdict.spared]:
        answer["spared"] = [command.spared_row(one) for one in spared]
    answer |= {"dry_run": True} if given["DRY_RUN"] else {}
    unclean = [f"{one.agent.name}: {text}" for one, r in killed for text in r.cleaning.failed]
    if failed:
        message = "; ".join(f"{row['agent_id']}: {row['message']}" for row in failed)
        answer |= {"success": False, "error": "kill_failed", "message": message}
        answer["failed_agents"] = failed
    elif unclean:
        answer |= {"success": False, "error": "cleanup_failed", "message": "; ".join(unclean)}
    return answer | {"timestamp": whole_seconds(world.now())}


def _stalled_row(one: Judgement, receipt: Receipt) -> JsonAnswer:
    beat = one.memory.beat
    quiet = beat.quiet if beat else one.verdict.quiet
    return {
        "agent_id": one.agent.name,
        "pid": receipt.pid,
        "seconds_since_heartbeat": None if quiet is None else int(quiet),
        "killed_gracefully": _ended_gracefully(receipt),
        "task_id": one.run.task or None,
        **_leftovers(receipt),
    }


GRACE = int(grace_of(KILL_STALLED))
COMMAND = JsonCommand(
    inputs=(
        command.AGENT_ID,
        Input("ACTION", "line", "One agent, or all that have stalled.", KILL, (KILL, KILL_ALL)),
        Input("GRACE_PERIOD_SECONDS", "seconds", "How long to wait between TERM and KILL.", GRACE),
        Input("FORCE_KILL", "flag", "KILL at once, without TERM and grace.", default=False),
        Input("CLEANUP", "flag", "Remove session directory and finished worktree.", default=True),
        Input("HEARTBEAT_TIMEOUT_SECONDS", "seconds", command.SILENCE, None, least=1),
        command.EVIDENCE,
        Input("FORCE_CLEANUP", "flag", "An unfinished worktree too; work is saved.", default=False),
        Input("TASKS", "line", "What happens to its task.", None, tuple(Fate)),
        Input("REASON", "line", "The reason; kept in receipt, events and task.", None),
        Input("STRICT", "flag", "Answer process_not_found if it is dead already.", default=False),
        Input("YES", "flag", "Let a caller that is an agent end several.", default=False),
        Input("DRY_RUN", "flag", "Say what would be done, and do nothing.", default=False),
    ),
    carry_out=carry_out,
    fault="kill_failed",
    reads=("agent_lifecycle",),
    writes=("agent_lifecycle", "orchestrator_task", "orchestrator_state"),
    tools=("subprocess", "psutil", "database"),
    errors=command.NO_AGENT
    | {
        "process_not_found": "No PID is recorded, or it belongs to another process now",
        "kill_failed": "A process could not be signalled, or survived",
        "cleanup_failed": "The agent is killed; its resources could not be cleaned up",
    },
)
