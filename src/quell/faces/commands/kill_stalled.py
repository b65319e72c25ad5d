"""The half of kill-stalled-agent that ends everybody who has stalled."""

from typing import TYPE_CHECKING, Any

from quell.core.receipt import Receipt, Result
from quell.faces.commands.addressed import addressed
from quell.faces.commands.answers import Answer, told_time
from quell.faces.commands.kill_stalled_agent import (
    FAILED,
    KILL_ALL,
    cleanup_of,
    ended_gracefully,
    left_of,
)
from quell.faces.commands.parameters import BadParameter

if TYPE_CHECKING:
    from quell.api import Quell
    from quell.life.stalled import Judged

GONE = (Result.ENDED, Result.WOULD_END)  # one that ended by itself was not killed


def kill_stalled(quell: "Quell", given: dict[str, Any]) -> Answer:
    """Who is healthy is not touched; with AGENT_ID, only that one, if it has stalled."""
    from quell.life.stalled import StalledWish

    if given["REASON"] is not None:
        told = (
            "REASON must not come with ACTION kill_stalled: each agent's own silence is the reason"
        )
        raise BadParameter("REASON", told)
    named: tuple[str, ...] = ()
    if given["AGENT_ID"] is not None:
        named = (f"id:{addressed(quell, given['AGENT_ID']).run.id}",)
    wish = StalledWish(
        older_than=given["HEARTBEAT_TIMEOUT_SECONDS"],
        targets=named,
        grace=given["GRACE_PERIOD_SECONDS"],
        force=given["FORCE_KILL"],
        tasks=given["TASKS"] or "",
        cleanup=cleanup_of(given),
        yes=given["YES"],
        dry_run=given["DRY_RUN"],
    )
    ended = [(one, receipt) for one, receipt in quell.end_stalled(wish) if receipt is not None]
    failed = [(one, receipt) for one, receipt in ended if receipt.result in FAILED]
    gone = [(one, receipt) for one, receipt in ended if receipt.result in GONE]
    answer: Answer = {
        "success": True,
        "action": KILL_ALL,
        "agents_killed": 0 if given["DRY_RUN"] else len(gone),
        "killed_agents": [_item(one, receipt) for one, receipt in gone],
        "timestamp": told_time(quell.world.now()),
    }
    if given["DRY_RUN"]:
        answer["dry_run"] = True
    return answer | _troubles(failed, gone)


def _item(one: "Judged", receipt: Receipt) -> Answer:
    beat = one.memory.beat
    quiet = beat.quiet if beat else one.verdict.quiet
    told: Answer = {
        "agent_id": one.agent.name,
        "pid": receipt.pid,
        "seconds_since_heartbeat": None if quiet is None else int(quiet),
        "killed_gracefully": ended_gracefully(receipt),
        "task_id": one.run.task or None,
    }
    return told | left_of(receipt)


def _troubles(
    failed: "list[tuple[Judged, Receipt]]", gone: "list[tuple[Judged, Receipt]]"
) -> Answer:
    """One that could not be ended, or cleaned up after, does not hide those that could."""
    unclean = [(one, text) for one, receipt in gone for text in receipt.cleaning.failed]
    if failed:
        said = [f"{one.agent.name}: {_why(receipt)}" for one, receipt in failed]
        told = [
            {"agent_id": one.agent.name, "pid": receipt.pid, "message": _why(receipt)}
            for one, receipt in failed
        ]
        facts = {"error": "kill_failed", "message": "; ".join(said), "failed_agents": told}
        return {"success": False, **facts}
    if unclean:
        said = [f"{one.agent.name}: {text}" for one, text in unclean]
        return {"success": False, "error": "cleanup_failed", "message": "; ".join(said)}
    return {}


def _why(receipt: Receipt) -> str:
    left = [f"PID {one.pid} survived ({one.state}): {one.why}" for one in receipt.survivors]
    return ", ".join(left) or receipt.detail
