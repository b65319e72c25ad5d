"""Tools that end an agent: kill-agent, as its contract has it, and stop-agent."""

from collections.abc import Mapping
from typing import Any

from knell.core.codes import Code
from knell.core.inputs import Input
from knell.core.receipt import Receipt
from knell.core.stop_plan import REASON_LIMIT
from knell.core.teams import reassigned_tasks
from knell.faces import exits
from knell.faces.mcp.tools.tool import AGENT, ROWS, TEAM, TEXTS, Answer, Tool, ToolCall, texts

LONGEST_REASON = 2000
METHODS = ("graceful", "force")
PHASES = ("requested", "approved", "rejected", "confirmed", "force_killed")
ANSWERED: Answer = {
    "method": {"type": "string", "enum": list(METHODS)},
    "phase": {"type": "string", "enum": list(PHASES)},
    "reassignedTasks": TEXTS,
}


def kill_agent(call: ToolCall) -> Answer:
    given = call.given
    answer = call.knell.team(given["teamName"]).kill(
        given["agentId"],
        force=given["force"],
        reason=given["reason"] or "",
        operator=call.caller.operator,
    )
    return kill_answer(answer.method, answer.phase, answer.reassigned, answer.error)


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
    return kill_answer(METHODS[given.get("force") is True], PHASES[0], (), error)


KILL = Tool(
    name="kill-agent",
    text="End a member of your team. By default it is asked to shut down and answers in its own"
    " time; force ends it now, with every process it started, and hands its tasks back. Only the"
    " team leader can kill agents.",
    fields=(
        TEAM,
        Input("agentId", "name", "ID of the agent to terminate: its name, or the id of its run"),
        Input("force", "flag", "Skip graceful shutdown and force-kill immediately", default=False),
        Input(
            "reason", "text", "Reason for termination (sent to agent in shutdown request)", None,
            most=LONGEST_REASON,
        ),
    ),
    answer=ANSWERED,
    act=kill_agent,
    always=("method", "phase", "reassignedTasks"),
    destroys=True,
    has_progress=True,
    failed=kill_failed,
    for_strangers=True,
)  # fmt: skip


def stop_agent(call: ToolCall) -> Answer:
    """Its own exit first, then signals; the conversation is kept."""
    run = call.knell.server.kin(call.given["agentId"])
    yes = not call.caller.operator
    receipts = call.knell.stop(run.agent, mode="graceful", reason=call.given["reason"], yes=yes)
    own = next((r for r in receipts if r.agent == run.agent), receipts[0])
    answer: Answer = {
        "success": exits.of_receipts(receipts) == exits.Exit.DONE,
        "agentId": run.agent,
        "result": own.result.value,
        "proof": own.proof.value if own.proof else "",
        "reassignedTasks": reassigned_tasks(receipts),
        "receipts": [brief(receipt) for receipt in receipts],
        "resume": own.conversation.resume,
    }
    if answer["success"]:
        return answer
    return {**answer, "code": own.code or Code.NOT_ENDED, "error": own.detail or own.result.value}


def brief(receipt: Receipt) -> Answer:
    """What a model needs to know; the whole of it is a resource."""
    return {
        "agent": receipt.agent,
        "run": receipt.run,
        "result": receipt.result.value,
        "outcome": receipt.outcome,
        "processes": len(receipt.processes),
        "survivors": [one._asdict() for one in receipt.survivors],
        "warnings": [one._asdict() for one in receipt.warnings],
        "resource": f"knell://receipt/{receipt.run or receipt.agent}",
    }


STOP = Tool(
    name="stop-agent",
    text="Stop an agent politely, with the agents it started: its own exit, then signals. Its"
    " conversation is kept, and resume-agent brings it back. Yourself, agents you started, and"
    " members of a team you lead.",
    fields=(AGENT, Input("reason", "text", "Why, for the record", "", most=REASON_LIMIT)),
    answer={
        **texts("agentId", "result", "proof", "resume"),
        "reassignedTasks": TEXTS,
        "receipts": ROWS,
    },
    act=stop_agent,
    destroys=True,
    repeatable=True,
    has_progress=True,
)
TOOLS = (KILL, STOP)
