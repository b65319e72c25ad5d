"""orchestrator.kill-stalled-agent: ends one agent, or all that have stalled."""

from typing import TYPE_CHECKING, Any

from quell.core.ladder import KILL_STALLED, VERIFY, grace_of
from quell.core.lifecycle import Outcome
from quell.core.process import Gone
from quell.core.receipt import Receipt, Result
from quell.core.stall import BEAT
from quell.core.task import Fate
from quell.faces.commands.addressed import Addressed, addressed
from quell.faces.commands.answers import Answer, Failed, failure, told_time, whole
from quell.faces.commands.parameters import BadParameter, Parameter
from quell.faces.commands.spec import Spec

if TYPE_CHECKING:
    from quell.api import Quell

KILL, KILL_ALL = "kill_agent", "kill_stalled"
GRACEFULLY, FORCED = "Agent terminated gracefully", "Agent force killed"
ALREADY_DEAD = "Agent was already dead"
FAILED = (Result.SURVIVORS, Result.PERMISSION_DENIED, Result.REFUSED)


def carry_out(quell: "Quell", given: dict[str, Any]) -> Answer:
    if given["ACTION"] == KILL_ALL:
        from quell.faces.commands.kill_stalled import kill_stalled

        return kill_stalled(quell, given)
    if given["HEARTBEAT_TIMEOUT_SECONDS"] is not None:
        raise BadParameter(
            "HEARTBEAT_TIMEOUT_SECONDS",
            f"HEARTBEAT_TIMEOUT_SECONDS must come with ACTION {KILL_ALL}:"
            " an agent that is named is killed whether it has stalled or not",
        )
    if given["AGENT_ID"] is None:
        told = f"AGENT_ID is required, or ACTION {KILL_ALL} for all that have stalled"
        raise BadParameter("AGENT_ID", told)
    return kill_one(quell, given)


# -- one agent -----------------------------------------------------------------------------------


def kill_one(quell: "Quell", given: dict[str, Any]) -> Answer:
    quell.orchestrated.settle()
    target = settled(quell, addressed(quell, given["AGENT_ID"]))
    if not target.run.live:
        return dead(quell, target, given)
    receipts = killed(quell, target, given)
    mine = next(receipt for receipt in receipts if receipt.run == target.run.id)
    if mine.result is Result.NO_PID:
        return written_off(quell, target)
    trouble = next((one for one in receipts if one.result in FAILED), None)
    if trouble is not None:
        return not_killed(trouble, target)
    if mine.result is Result.WOULD_END:
        return dry(mine, target, given)
    if mine.result is Result.ALREADY_ENDED:
        now = quell.world.store.run(target.run.id) or target.run
        return dead(quell, target._replace(run=now), given)
    return told_killed(mine, target, given)


def settled(quell: "Quell", target: Addressed) -> Addressed:
    """Its process may be gone while its keeper still sweeps and writes: that is waited for."""
    world, run = quell.world, target.run
    gone = run.process and isinstance(world.kernel.look(run.process), Gone)
    if not run.live or not gone or run.keeper is None:
        return target
    world.kernel.wait([run.keeper], world.settings.children_grace + VERIFY)
    quell.orchestrated.settle()
    return target._replace(run=world.store.run(run.id) or run)


def killed(quell: "Quell", target: Addressed, given: dict[str, Any]) -> list[Receipt]:
    from quell.life.kill import KillWish

    wish = KillWish(
        targets=(f"id:{target.run.id}",),
        grace=given["GRACE_PERIOD_SECONDS"],
        force=given["FORCE_KILL"],
        detail=given["REASON"] or "",
        yes=given["YES"],
        dry_run=given["DRY_RUN"],
        stalled=True,
        tasks=given["TASKS"] or "",
        cleanup=cleanup_of(given),
    )
    return [receipt for slain in quell.kill(wish) for receipt in slain.receipts]


def cleanup_of(given: dict[str, Any]) -> str:
    if given["FORCE_CLEANUP"]:
        return "force"
    return "own" if given["CLEANUP"] else ""  # a person's own worktree is not the task's


def told_killed(receipt: Receipt, target: Addressed, given: dict[str, Any]) -> Answer:
    answer = killing(receipt, target, given)
    trouble = receipt.cleaning.failed
    unwritten = [one for one in receipt.warnings if one.startswith("the store could not")]
    if unwritten:
        answer |= {"success": False, "error": "database_error", "killed": True}
        answer["message"] = unwritten[0]
    elif trouble:
        answer |= {"success": False, "error": "cleanup_failed", "killed": True}
        answer["message"] = "; ".join(trouble)
    return answer | left_of(receipt)


def killing(receipt: Receipt, target: Addressed, given: dict[str, Any]) -> Answer:
    """The keys of the contract, in its order. A grace belongs only to a graceful kill."""
    forced = given["FORCE_KILL"]
    gracefully = ended_gracefully(receipt)
    grace = {} if forced else {"grace_period_seconds": whole(given["GRACE_PERIOD_SECONDS"])}
    return {
        "success": True,
        "agent_id": target.id,
        "action": "force_kill" if forced else "graceful_kill",
        "pid": receipt.pid,
        "kill_signal": "SIGTERM" if gracefully else "SIGKILL",
        "task_id": target.task,
        "killed_at": told_time(receipt.finished_at),
        **grace,
        "killed_gracefully": gracefully,
        "message": GRACEFULLY if gracefully else FORCED,
    }


def ended_gracefully(receipt: Receipt) -> bool:
    """No KILL was needed, for itself or for anything that it had started."""
    return not any(rung.rung == "kill" and rung.reached for rung in receipt.rungs)


def left_of(receipt: Receipt) -> Answer:
    """What a caller has to know beyond the contract's keys, where there is any of it."""
    told: Answer = {}
    if receipt.cleaning.state != "none" or receipt.cleaning.session_dir:
        told["cleanup"] = receipt.cleaning.to_json()
    warnings = [*receipt.warnings, *receipt.cleaning.warnings]
    return told | ({"warnings": warnings} if warnings else {})


def dry(receipt: Receipt, target: Addressed, given: dict[str, Any]) -> Answer:
    """What would be done, and to which processes."""
    forced = given["FORCE_KILL"]
    doomed = [{"pid": one.pid, "command": one.command} for one in receipt.processes]
    return {
        "success": True,
        "agent_id": target.id,
        "action": "force_kill" if forced else "graceful_kill",
        "dry_run": True,
        "pid": receipt.pid,
        "task_id": target.task,
        "processes": doomed,
        "message": "Nothing was done",
    }


# -- agents that have no process ------------------------------------------------------------------


def dead(quell: "Quell", target: Addressed, given: dict[str, Any]) -> Answer:
    """An agent that is over is as dead as anybody can wish, unless its PID is somebody else's."""
    ending, forced = target.run.ending, given["FORCE_KILL"]
    lost = ending is not None and ending.outcome is Outcome.LOST
    if lost and taken_over(quell, target):
        raise Failed(
            "process_not_found",
            f"PID {target.pid} belongs to another process now; nothing was signalled",
            agent_id=target.id,
            pid=target.pid,
        )
    if given["STRICT"] or (lost and target.pid is None):
        told = "is not running any more" if target.pid else "was never recorded"
        raise Failed(
            "process_not_found",
            f"the process of {target.id} {told}",
            agent_id=target.id,
            pid=target.pid,
        )
    grace = {} if forced else {"grace_period_seconds": whole(given["GRACE_PERIOD_SECONDS"])}
    return {
        "success": True,
        "agent_id": target.id,
        "action": "force_kill" if forced else "graceful_kill",
        "pid": target.pid,
        "kill_signal": None,
        "task_id": target.task,
        "killed_at": told_time(target.run.ended_at),
        **grace,
        "killed_gracefully": not forced,
        "already_dead": True,
        "message": ALREADY_DEAD,
    }


def taken_over(quell: "Quell", target: Addressed) -> bool:
    """Somebody else runs under the number that its process had."""
    was = target.run.process
    now = quell.world.kernel.identify(was.pid) if was else None
    return was is not None and now is not None and not now.same_as(was)


def written_off(quell: "Quell", target: Addressed) -> Answer:
    """Nobody ever wrote down a process of it: it is lost, and its task is handed back."""
    quell.orchestrated.write_off(target.run)
    raise Failed(
        "process_not_found",
        f"no PID is recorded for {target.id}; it was written off as lost",
        agent_id=target.id,
        pid=None,
    )


def not_killed(receipt: Receipt, target: Addressed) -> Answer:
    """Something could not be ended: which process, in which state, and why."""
    left = [one._asdict() for one in receipt.survivors]
    first = receipt.survivors[0] if receipt.survivors else None
    pid = first.pid if first else receipt.pid
    message = f"PID {pid} survived ({first.state}): {first.why}" if first else receipt.detail
    facts = {"pid": pid, "state": first.state if first else None, "survivors": left}
    return failure("kill_failed", message, agent_id=target.id, **facts)


PARAMETERS = (
    Parameter("AGENT_ID", "text", "The agent, as in agent_lifecycle.", None),
    Parameter("ACTION", "text", "One agent, or all that have stalled.", KILL, (KILL, KILL_ALL)),
    Parameter(
        "GRACE_PERIOD_SECONDS", "seconds", "Between TERM and KILL.", int(grace_of(KILL_STALLED))
    ),
    Parameter("FORCE_KILL", "flag", "KILL at once, without TERM and grace.", default=False),
    Parameter("CLEANUP", "flag", "Remove session directory and finished worktree.", default=True),
    Parameter(
        "HEARTBEAT_TIMEOUT_SECONDS",
        "seconds",
        f"Silent for longer, an agent has stalled; default as configured ({BEAT:.0f}).",
        None,
        least=1,
    ),
    Parameter(
        "FORCE_CLEANUP",
        "flag",
        "Remove an unfinished worktree too; its work is saved first.",
        default=False,
    ),
    Parameter("TASKS", "text", "What becomes of its task.", None, tuple(Fate)),
    Parameter("REASON", "text", "Why; kept in receipt, events and task.", None),
    Parameter("STRICT", "flag", "One that is dead already is process_not_found.", default=False),
    Parameter("YES", "flag", "An agent that asks may end more than one.", default=False),
    Parameter("DRY_RUN", "flag", "Tell what would be done, and do nothing.", default=False),
)
SPEC = Spec(
    parameters=PARAMETERS,
    carry_out=carry_out,
    fault="kill_failed",
    reads=("agent_lifecycle",),
    writes=("agent_lifecycle", "orchestrator_task", "orchestrator_state"),
    tools=("subprocess", "database"),
    errors={
        "agent_not_found": "Agent doesn't exist in agent_lifecycle",
        "process_not_found": "No PID is recorded, or it belongs to another process now",
        "kill_failed": "A process could not be signalled, or survived",
        "cleanup_failed": "The agent is killed; its resources could not be cleaned up",
    },
)
