"""What the file of each JSON command says about it, which run it means, and how it fails."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from knell.core.agent import NAME, Agent
from knell.core.codes import Code
from knell.core.errors import BadParameter, KnellError
from knell.core.inputs import Input
from knell.core.ports.world import World
from knell.core.run import Run
from knell.core.stall.verdict import BEAT, HEARTBEAT, SPARING, Judgement

JsonAnswer = dict[str, Any]
AGENT_ID = Input("AGENT_ID", "line", "The agent, as in agent_lifecycle.", None)
EVIDENCE = Input(
    "EVIDENCE",
    "line",
    "What speaks for an agent that has not beaten: all its signs of life, or its heartbeat alone.",
    SPARING,
    (SPARING, HEARTBEAT),
)
SILENCE = f"Stalled after so long without a heartbeat; default: the settings' ({BEAT:.0f})."
NO_AGENT = {"agent_not_found": "Agent doesn't exist in agent_lifecycle"}


class JsonCommand(NamedTuple):
    inputs: tuple[Input, ...]
    carry_out: Callable[[World, dict[str, Any]], JsonAnswer]
    fault: str  # the code of an error that has none of its own
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    tools: tuple[str, ...]
    errors: dict[str, str]
    silent: tuple[str, ...] = ()  # values of ACTION that come too often for the trail


class CommandFailed(KnellError):
    """Ends a command with an error answer: `problem` is the contract's word, `facts` are keys."""

    code = Code.COMMAND_FAILED

    def __init__(self, problem: str, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.problem = problem
        self.facts = facts


class AddressedRun(NamedTuple):
    """The run that an AGENT_ID of the table agent_lifecycle means."""

    id: str
    agent: Agent
    run: Run

    @property
    def task(self) -> str | None:
        return self.run.task or None

    @property
    def pid(self) -> int | None:
        return self.run.pid


def find_addressed(world: World, agent_id: str) -> AddressedRun:
    """The newest run of the agent of that name; `name#run` is one of its earlier runs.

    It is an id and no pattern: `all` and `tag:x` are read as names, and no agent has them."""
    name, mark, run_id = agent_id.partition("#")
    agent = world.store.runs.agent(name)
    runs = world.store.runs.of(name) if agent else []
    found = [run for run in runs if not mark or run.id == run_id][:1]
    if agent is None or not found:
        raise CommandFailed("agent_not_found", "Agent ID not found in database", agent_id=agent_id)
    return AddressedRun(agent_id, agent, found[0])


def check_agent_id(given: dict[str, Any], for_all: str, for_one: tuple[str, ...]) -> None:
    """AGENT_ID must come with the actions for one agent, and only with those."""
    action, named = given["ACTION"], given["AGENT_ID"] is not None
    if action == for_all and named:
        message = f"AGENT_ID must come with ACTION {' or '.join(for_one)}"
        raise BadParameter("AGENT_ID", message)
    if action != for_all and not named:
        raise BadParameter("AGENT_ID", f"AGENT_ID is required for ACTION {action}")


def check_task_id(task: str) -> None:
    if not re.fullmatch(NAME, task):
        raise BadParameter("TASK_ID", "TASK_ID must be like TASK-31-1: letters, digits, '-', '_'")


def short_number(number: float) -> int | float:
    """10 and not 10.0, but 2.5."""
    return int(number) if number == int(number) else number


def spared_row(one: Judgement) -> JsonAnswer:
    """Why an agent that has not beaten is spared all the same."""
    verdict = one.verdict
    evidence = [sign.what for sign in verdict.evidence if sign.speaks == "for"]
    return {
        "agent_id": one.agent.name,
        "rule": verdict.spared,
        "activity": verdict.activity.value,
        "why": verdict.why,
        "evidence": evidence,
    }
