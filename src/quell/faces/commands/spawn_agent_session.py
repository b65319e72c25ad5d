"""orchestrator.spawn-agent-session: launches an agent for a task, one of each type at a time."""

import os
import shlex
from typing import TYPE_CHECKING, Any

from quell.core.agent import NAME
from quell.core.environment import SESSION_DIR
from quell.core.errors import LaunchFailed, QuellError, StillRunning, TaskTaken
from quell.core.restart import MOST
from quell.core.task import READY
from quell.faces.commands.answers import Answer, Failed, told_time, whole
from quell.faces.commands.parameters import BadParameter, Parameter
from quell.faces.commands.proc import cpu_free_percent, memory_free_mb
from quell.faces.commands.spec import Spec

if TYPE_CHECKING:
    from quell.api import Quell
    from quell.life.spawn import Spawned, Wish

LAUNCH = "QUELL_AGENT_COMMAND"  # the command line of an agent for which none is given
LONGEST_TYPE = 50  # characters; -YYYYMMDD-NNN follows, and a name has at most 64
LONGEST_SESSION = 31 * 86_400
STARTUP = 10  # seconds until a launched agent must have been seen


def carry_out(quell: "Quell", given: dict[str, Any]) -> Answer:
    """Everything that can be refused is refused before anything is begun.

    The task is taken by the run itself: nobody can die in between and leave it to nobody."""
    check_type(given["AGENT_TYPE"])
    wish = wish_of(quell, given)
    check_task(quell, given["TASK_ID"])
    # The name first, then who lives: of two who ask at once, one sees the other or has its name.
    wish = wish._replace(name=session_name(quell, given["AGENT_TYPE"]))
    check_singleton(quell, given)
    check_resources(quell, given)
    try:
        spawned = launched(quell, wish, given)
    except QuellError as error:
        raise refused(error, given, wish.name) from error
    return told(spawned, given)


def told(spawned: "Spawned", given: dict[str, Any]) -> Answer:
    agent, run = spawned
    return {
        "success": True,
        "agent_id": agent.name,
        "agent_type": given["AGENT_TYPE"],
        "task_id": given["TASK_ID"],
        "status": "running",
        "pid": run.process.pid if run.process else None,
        "created_at": told_time(run.started_at),
        "started_at": told_time(run.started_at),
        "expected_completion": told_time(run.started_at, given["TIMEOUT_SECONDS"]),
        "timeout_seconds": whole(given["TIMEOUT_SECONDS"]),
    }


# -- what is asked for -----------------------------------------------------------------------------


def check_type(agent_type: str) -> None:
    if not NAME.fullmatch(agent_type) or len(agent_type) > LONGEST_TYPE:
        raise BadParameter(
            "AGENT_TYPE",
            f"AGENT_TYPE must be at most {LONGEST_TYPE} letters, digits, '-' and '_',"
            " for example code-developer",
        )


def wish_of(quell: "Quell", given: dict[str, Any]) -> "Wish":
    from quell.life.spawn import Wish

    kind, args = command_of(quell, given)
    task = given["TASK_ID"] or ""
    if task and not NAME.fullmatch(task):
        raise BadParameter("TASK_ID", "TASK_ID must be like TASK-31-1: letters, digits, '-', '_'")
    return Wish(
        kind,
        args,
        place=given["PLACE"],
        cwd=directory_of(quell, given),
        role=given["AGENT_TYPE"],
        task=task,
        restart=MOST if given["AUTO_RESTART"] else 0,
    )


def command_of(quell: "Quell", given: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """What to launch: as given, else as the environment says, else the kind that the type names."""
    kinds = [name for name in quell.world.kind_names() if name != "command"]
    words: Any = given["COMMAND"]
    if words is None:
        words = usual_command(quell.world.env.get(LAUNCH, ""))
    if words == [] and given["AGENT_TYPE"] in kinds:
        return given["AGENT_TYPE"], ()
    if words == []:
        told = f"COMMAND is required: a list of words, or a kind; or set {LAUNCH}"
        raise BadParameter("COMMAND", told)
    if isinstance(words, str):
        if words not in kinds:
            told = f"COMMAND must be a list of words, or one of {', '.join(kinds)}"
            raise BadParameter("COMMAND", told)
        return words, ()
    first = words[0] in kinds
    return (words[0], tuple(words[1:])) if first else ("command", tuple(words))


def usual_command(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        told = f"COMMAND is required: {LAUNCH} is no command line ({error})"
        raise BadParameter("COMMAND", told) from None


def directory_of(quell: "Quell", given: dict[str, Any]) -> str:
    """As given; else the worktree that create-worktree made for the task; else where we are."""
    if given["WORKING_DIRECTORY"] is not None:
        if not os.path.isdir(given["WORKING_DIRECTORY"]):
            told = "WORKING_DIRECTORY must be a directory that exists"
            raise BadParameter("WORKING_DIRECTORY", told)
        return given["WORKING_DIRECTORY"]
    rows = quell.world.store.worktrees() if given["TASK_ID"] else []
    made = [row.path for row in rows if row.task == given["TASK_ID"] and row.status == "created"]
    return next((path for path in reversed(made) if os.path.isdir(path)), "")


def session_name(quell: "Quell", agent_type: str) -> str:
    """`code-developer-20251026-001`: the first number of the day that no agent ever had."""
    day = quell.world.now()[:10].replace("-", "")
    stem = f"{agent_type.replace('_', '-')}-{day}"
    taken = {agent.name for agent in quell.world.store.agents()}
    number = 1
    while f"{stem}-{number:03d}" in taken:
        number += 1
    return f"{stem}-{number:03d}"


# -- whether it may start now ----------------------------------------------------------------------


def check_task(quell: "Quell", task_id: str | None) -> None:
    if task_id is None:
        return
    store = quell.world.store
    task = store.task(task_id)
    if task is None:
        raise Failed("task_not_found", f"there is no task {task_id}", task_id=task_id)
    if task.status != READY:
        raise not_ready(task_id, f"it is {task.status}", status=task.status)
    waiting = store.waits_for(task_id)
    if waiting:
        raise not_ready(task_id, f"it waits for {', '.join(waiting)}", waits_for=waiting)


def not_ready(task_id: str, why: str, **facts: Any) -> Failed:
    message = f"task {task_id} does not wait for an agent: {why}"
    return Failed("task_not_ready", message, task_id=task_id, **facts)


def check_singleton(quell: "Quell", given: dict[str, Any]) -> None:
    if not given["SINGLETON"]:
        return
    live = {run.agent for run in quell.orchestrated.settle()}
    for agent in quell.world.store.agents():
        if agent.role == given["AGENT_TYPE"] and agent.name in live:
            raise violation(given, agent.name)


def violation(given: dict[str, Any], existing: str) -> Failed:
    message = f"an agent of type {given['AGENT_TYPE']} is running already: {existing}"
    return Failed("singleton_violation", message, existing_agent_id=existing)


def check_resources(quell: "Quell", given: dict[str, Any]) -> None:
    """What cannot be measured does not forbid. 0 asks for nothing, and nothing is measured."""
    wanted, least = given["MIN_MEMORY_FREE_MB"], given["MIN_CPU_FREE_PERCENT"]
    memory = memory_free_mb() if wanted else None
    if memory is not None and memory <= wanted:
        message = f"{memory:.0f} MB of memory are free, more than {whole(wanted)} are needed"
        raise Failed("resource_exhaustion", message, memory_free_mb=int(memory))
    cpu = cpu_free_percent(quell) if least else None
    if cpu is not None and cpu <= least:
        message = f"{cpu:.0f} % of the processors are free, more than {whole(least)} are needed"
        raise Failed("resource_exhaustion", message, cpu_free_percent=int(cpu))


# -- the launch ------------------------------------------------------------------------------------


def launched(quell: "Quell", wish: "Wish", given: dict[str, Any]) -> "Spawned":
    env = {
        "AGENT_ID": wish.name,
        "TASK_ID": given["TASK_ID"] or "",
        "ORCHESTRATOR_ID": given["ORCHESTRATOR_INSTANCE_ID"] or "",
        "TIMEOUT_SECONDS": str(whole(given["TIMEOUT_SECONDS"])),
        SESSION_DIR: "",  # filled in once the run has its id
    }
    taker = given["ORCHESTRATOR_INSTANCE_ID"] or ""
    wish = wish._replace(env=tuple(env.items()), taker=taker)
    return quell.orchestrated.launch(wish, float(given["STARTUP_TIMEOUT_SECONDS"]))


def refused(error: QuellError, given: dict[str, Any], name: str) -> QuellError | Failed:
    if isinstance(error, StillRunning):
        return violation(given, name)
    if isinstance(error, TaskTaken):
        return not_ready(given["TASK_ID"], "somebody else has just taken it")
    if isinstance(error, LaunchFailed) and "in time" in str(error):
        return Failed("startup_timeout", str(error), agent_id=name)
    if isinstance(error, LaunchFailed):
        return Failed("spawn_failed", str(error), agent_id=name)
    return error


PARAMETERS = (
    Parameter("AGENT_TYPE", "text", "What it is for; at most one of a type runs."),
    Parameter("TASK_ID", "text", "The task of orchestrator_task that it takes.", None),
    Parameter("ORCHESTRATOR_INSTANCE_ID", "text", "Who asks; ORCHESTRATOR_ID for it.", None),
    Parameter(
        "TIMEOUT_SECONDS",
        "seconds",
        "How long it may take; advisory, shown as expected_completion.",
        3600,
        least=1,
        most=LONGEST_SESSION,
    ),
    Parameter(
        "AUTO_RESTART", "flag", f"The watch restarts it, at most {MOST} times.", default=True
    ),
    Parameter("COMMAND", "command", f"What to launch; default ${LAUNCH}, or its type.", None),
    Parameter(
        "WORKING_DIRECTORY", "text", "Where; default the worktree of its task, or here.", None
    ),
    Parameter(
        "PLACE", "text", "Where it is shown.", "headless", ("headless", "tmux", "kitty", "wezterm")
    ),
    Parameter("SINGLETON", "flag", "Refuse a second one of its type.", default=True),
    Parameter("STARTUP_TIMEOUT_SECONDS", "seconds", "Until it must have been seen.", STARTUP),
    Parameter("MIN_CPU_FREE_PERCENT", "number", "More must be free.", 20, most=100),
    Parameter("MIN_MEMORY_FREE_MB", "number", "More must be free.", 500, most=10**9),
)
SPEC = Spec(
    parameters=PARAMETERS,
    carry_out=carry_out,
    fault="spawn_failed",
    reads=("agent_lifecycle", "orchestrator_task", "specs_task_dependency", "orchestrator_state"),
    writes=("agent_lifecycle", "orchestrator_task"),
    tools=("subprocess", "database"),
    errors={
        "singleton_violation": "An agent of this type is running (existing_agent_id)",
        "task_not_found": "There is no such task",
        "task_not_ready": "The task is taken, closed, or waits for others",
        "resource_exhaustion": "Too little processor or memory is free",
        "spawn_failed": "The agent could not be launched",
        "startup_timeout": "It was not seen alive in time, and was cancelled",
    },
)
