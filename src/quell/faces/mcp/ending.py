"""Tools that end an agent: kill-agent, as its contract has it, and stop-agent."""

from collections.abc import Mapping
from typing import Any

from quell.core.receipt import Receipt
from quell.core.stopping import REASON_LIMIT, StopOptions
from quell.faces import exits
from quell.faces.mcp.asker import check_kin
from quell.faces.mcp.fields import Field
from quell.faces.mcp.tool import AGENT, ROWS, TEAM, TEXT, TEXTS, Answer, Call, Tool
from quell.life.stop import StopWish
from quell.life.together.killagent import KillAgentWish

LONGEST_REASON = 2000
METHODS = ("graceful", "force")
PHASES = ("requested", "approved", "rejected", "confirmed", "force_killed")


def kill_agent(call: Call) -> Answer:
    given = call.given
    wish = KillAgentWish(
        given["teamName"], given["agentId"], force=given["force"], reason=given["reason"] or ""
    )
    told = call.team.kill_agent(wish, operator=call.asker.operator)
    return kill_answer(told.method, told.phase, told.reassigned, told.error)


def kill_answer(method: str, phase: str, tasks: tuple[str, ...] = (), error: str = "") -> Answer:
    """All the keys of the contract; `error` only when there is one."""
    answer: Answer = {
        "success": not error,
        "method": method,
        "phase": phase,
        "reassignedTasks": list(tasks),
    }
    return {**answer, "error": error} if error else answer


def kill_failed(given: Mapping[str, Any], error: str) -> Answer:
    force = given.get("force") is True
    return kill_answer(
        "force" if force else "graceful", PHASES[-1] if force else PHASES[0], (), error
    )


KILL = Tool(
    name="kill-agent",
    told="End a member of your team. By default it is asked to shut down and answers in its own"
    " time; force ends it now, with every process it started, and hands its tasks back. Only the"
    " team leader can kill agents.",
    fields=(
        TEAM,
        Field("agentId", "name", "ID of the agent to terminate: its name, or the id of its run"),
        Field("force", "flag", "Skip graceful shutdown and force-kill immediately", default=False),
        Field(
            "reason", "text", "Reason for termination (sent to agent in shutdown request)", None,
            most=LONGEST_REASON,
        ),
    ),
    tells={
        "method": {"type": "string", "enum": list(METHODS)},
        "phase": {"type": "string", "enum": list(PHASES)},
        "reassignedTasks": TEXTS,
    },
    act=kill_agent,
    destroys=True,
    climbs=True,
    failed=kill_failed,
    strangers=True,
)  # fmt: skip


def stop_agent(call: Call) -> Answer:
    """Its own exit first, then signals; the conversation is kept."""
    run = call.quell.served.run(call.given["agentId"])
    check_kin(call.quell, call.asker, run, "stop")
    options = StopOptions(mode="graceful", reason=call.given["reason"])
    wish = StopWish((run.agent,), options, yes=not call.asker.operator)
    receipts = call.quell.served.stop(wish, call.asker.who)
    own = next((r for r in receipts if r.agent == run.agent), receipts[0])
    answer: Answer = {
        "success": exits.of_receipts(receipts) == exits.Exit.DONE,
        "agentId": run.agent,
        "result": own.result.value,
        "proof": own.proof.value if own.proof else "",
        "reassignedTasks": reassigned(receipts),
        "receipts": [brief(receipt) for receipt in receipts],
        "resume": own.conversation.resume,
    }
    return answer if answer["success"] else {**answer, "error": own.detail or own.result.value}


def reassigned(receipts: list[Receipt]) -> list[str]:
    return [
        task["id"]
        for receipt in receipts
        for task in receipt.tasks
        if task.get("kind") == "team" and task["was"] == "in_progress"
    ]


def brief(receipt: Receipt) -> Answer:
    """What a model needs to know; the whole of it is a resource."""
    return {
        "agent": receipt.agent,
        "run": receipt.run,
        "result": receipt.result.value,
        "outcome": receipt.outcome,
        "processes": len(receipt.processes),
        "survivors": [one._asdict() for one in receipt.survivors],
        "warnings": list(receipt.warnings),
        "resource": f"quell://receipt/{receipt.run or receipt.agent}",
    }


STOP = Tool(
    name="stop-agent",
    told="Stop an agent politely, with the agents it started: its own exit, then signals. Its"
    " conversation is kept, and resume-agent brings it back. Yourself, agents you started, and"
    " members of a team you lead.",
    fields=(AGENT, Field("reason", "text", "Why, for the record", "", most=REASON_LIMIT)),
    tells={
        "agentId": TEXT,
        "result": TEXT,
        "proof": TEXT,
        "reassignedTasks": TEXTS,
        "receipts": ROWS,
        "resume": TEXT,
    },
    act=stop_agent,
    destroys=True,
    repeatable=True,
    climbs=True,
)
TOOLS = (KILL, STOP)
