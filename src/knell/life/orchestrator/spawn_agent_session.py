"""orchestrator.spawn-agent-session: launches an agent for a task, one of each type at a time."""

import os
import re
import shlex
from itertools import count
from typing import Any

from knell.core.agent import NAME, Agent, first_free
from knell.core.codes import Code
from knell.core.environment import LAUNCHER, SESSION_DIR
from knell.core.errors import BadParameter, KnellError, LaunchFailed, StillRunning, TaskTaken
from knell.core.inputs import Input
from knell.core.orchestrator_task import READY
from knell.core.ports.world import World
from knell.core.restart import MOST
from knell.core.times import whole_seconds
from knell.life.base.take_in import take_in_journals
from knell.life.end.cleanup import session_dir
from knell.life.orchestrator import command
from knell.life.orchestrator.command import CommandFailed, JsonAnswer, JsonCommand
from knell.life.start.spawn import StartOptions, Wish, spawn

LAUNCH = "KNELL_AGENT_COMMAND"  # the command line of an agent for which none is given
STARTUP = 10  # seconds until a launched agent must have been seen
LONGEST_SESSION = 31 * 86_400  # seconds
LONGEST_TYPE = 50  # characters; -YYYYMMDD-NNN follows, and a name has at most 64


def carry_out(world: World, given: dict[str, Any]) -> JsonAnswer:
    """Refuses everything that can be refused before it begins anything.

    The run itself takes the task: so no crash in between leaves a taken task without a run."""
    wish = _wish(world, given)
    _check_task(world, wish.agent.task)
    # The name first, then who lives: of two who ask at once, one sees the other or has its name.
    name = _free_name(world, given["AGENT_TYPE"])
    _check_singleton(world, given)
    _check_resources(world, given)
    asked = wish.agent._replace(name=name, env=_environment(name, given))
    try:
        agent, run, _ = spawn(world, wish._replace(agent=asked))
    except KnellError as error:
        _undo(world, asked)
        raise _explained(error, asked) from error
    timeout = given["TIMEOUT_SECONDS"]
    return {
        "success": True,
        "agent_id": agent.name,
        "agent_type": given["AGENT_TYPE"],
        "task_id": given["TASK_ID"],
        "status": "running",
        "pid": run.pid,
        "created_at": whole_seconds(run.started_at),
        "started_at": whole_seconds(run.started_at),
        "expected_completion": whole_seconds(run.started_at, timeout),
        "timeout_seconds": command.short_number(timeout),
    }


def _environment(name: str, given: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return (
        ("AGENT_ID", name),
        ("TASK_ID", given["TASK_ID"] or ""),
        (LAUNCHER, given["ORCHESTRATOR_INSTANCE_ID"] or ""),
        ("TIMEOUT_SECONDS", f"{given['TIMEOUT_SECONDS']:.15g}"),
        (SESSION_DIR, ""),  # filled in once the run has its id
    )


def _undo(world: World, agent: Agent) -> None:
    """The task waits again, and the session directory of the run that never began is removed."""
    if agent.task:
        world.store.orchestrator.give_back_task(agent.task, agent.name)
    for run in world.store.runs.of(agent.name)[:1]:
        if not run.live:
            path = session_dir(world, run.id)
            world.disk.remove_below(os.path.dirname(path), path)


def _explained(error: KnellError, agent: Agent) -> KnellError:
    if isinstance(error, StillRunning):
        return _violation(agent.role, agent.name)
    if isinstance(error, TaskTaken):
        return _not_ready(agent.task, "another agent has just taken it")
    if isinstance(error, LaunchFailed):
        late = error.code is Code.LAUNCH_TIMEOUT
        problem = "startup_timeout" if late else "spawn_failed"
        return CommandFailed(problem, str(error), agent_id=agent.name)
    return error


# -- what is asked for -------------------------------------------------------------------------


def _wish(world: World, given: dict[str, Any]) -> Wish:
    agent_type, task, place = given["AGENT_TYPE"], given["TASK_ID"] or "", given["PLACE"]
    if not re.fullmatch(NAME, agent_type) or len(agent_type) > LONGEST_TYPE:
        raise BadParameter(
            "AGENT_TYPE",
            f"AGENT_TYPE must be at most {LONGEST_TYPE} letters, digits, '-' and '_',"
            " for example code-developer",
        )
    kind, args = _command(world, given["COMMAND"], agent_type)
    if task:
        command.check_task_id(task)
    agent = Agent(
        name="",
        kind=kind,
        cwd=_directory(world, given["WORKING_DIRECTORY"] or "", task),
        args=args,
        place=place,
        server=world.settings.tmux_server if place == "tmux" else "",
        role=agent_type,
        task=task,
        restart=MOST if given["AUTO_RESTART"] else 0,
    )
    seconds = float(given["STARTUP_TIMEOUT_SECONDS"])
    taker = given["ORCHESTRATOR_INSTANCE_ID"] or ""
    stay = world.settings.spawn_stay
    return Wish(agent, options=StartOptions(startup=seconds, taker=taker, stay=stay))


def _command(
    world: World, words: str | list[str] | None, agent_type: str
) -> tuple[str, tuple[str, ...]]:
    """The kind and arguments as given, else from the environment, else the kind of that type."""
    kinds = [name for name in world.kinds.names() if name != "command"]
    if words is None:
        words = _usual_command(world.env.get(LAUNCH, ""))
    if words == []:
        if agent_type in kinds:
            return agent_type, ()
        message = f"COMMAND is required: a list of words, or a kind; or set {LAUNCH}"
        raise BadParameter("COMMAND", message)
    if isinstance(words, str):
        if words not in kinds:
            message = f"COMMAND must be a list of words, or one of {', '.join(kinds)}"
            raise BadParameter("COMMAND", message)
        return words, ()
    if words[0] in kinds:
        return words[0], tuple(words[1:])
    return "command", tuple(words)


def _usual_command(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        message = f"COMMAND is required: {LAUNCH} is no command line ({error})"
        raise BadParameter("COMMAND", message) from None


def _directory(world: World, cwd: str, task: str) -> str:
    """As given; else the worktree that create-worktree made for the task; else where we are."""
    if cwd:
        if not world.disk.is_directory(cwd):
            message = "WORKING_DIRECTORY must be a directory that exists"
            raise BadParameter("WORKING_DIRECTORY", message)
        return cwd
    rows = world.store.orchestrator.worktrees() if task else []
    made = [row.path for row in rows if row.task == task and row.status == "created"]
    return next((path for path in reversed(made) if world.disk.is_directory(path)), "")


def _free_name(world: World, agent_type: str) -> str:
    """`code-developer-20251026-001`: the first number of the day that no agent ever had."""
    day = world.now()[:10].replace("-", "")
    stem = f"{agent_type.replace('_', '-')}-{day}"
    taken = {agent.name for agent in world.store.runs.agents()}
    return first_free((f"{stem}-{number:03d}" for number in count(1)), taken)


# -- whether it may start now ------------------------------------------------------------------


def _check_task(world: World, task_id: str) -> None:
    if not task_id:
        return
    task = world.store.orchestrator.task(task_id)
    if task is None:
        raise CommandFailed("task_not_found", f"there is no task {task_id}", task_id=task_id)
    if task.status != READY:
        raise _not_ready(task_id, f"it is {task.status}", status=task.status)
    waiting = world.store.orchestrator.unmet_needs(task_id)
    if waiting:
        raise _not_ready(task_id, f"it waits for {', '.join(waiting)}", waits_for=waiting)


def _not_ready(task_id: str, why: str, **facts: object) -> CommandFailed:
    message = f"task {task_id} does not wait for an agent: {why}"
    return CommandFailed("task_not_ready", message, task_id=task_id, **facts)


def _check_singleton(world: World, given: dict[str, Any]) -> None:
    if not given["SINGLETON"]:
        return
    live = {run.agent for run in take_in_journals(world)}
    for agent in world.store.runs.agents():
        if agent.role == given["AGENT_TYPE"] and agent.name in live:
            raise _violation(agent.role, agent.name)


def _violation(agent_type: str, existing: str) -> CommandFailed:
    message = f"an agent of type {agent_type} is running already: {existing}"
    return CommandFailed("singleton_violation", message, existing_agent_id=existing)


def _check_resources(world: World, given: dict[str, Any]) -> None:
    """What cannot be measured forbids nothing. A limit of 0 asks for nothing: no measurement."""
    least_mb, least_percent = given["MIN_MEMORY_FREE_MB"], given["MIN_CPU_FREE_PERCENT"]
    memory = world.processes.memory_free_mb() if least_mb else None
    if memory is not None and memory <= least_mb:
        message = f"{memory:.0f} MB of memory are free, more than {least_mb} are needed"
        raise CommandFailed("resource_exhaustion", message, memory_free_mb=int(memory))
    cpu = world.processes.cpu_free_percent() if least_percent else None
    if cpu is not None and cpu <= least_percent:
        message = f"{cpu:.0f} % of the processors are free, more than {least_percent} are needed"
        raise CommandFailed("resource_exhaustion", message, cpu_free_percent=int(cpu))


ASKER = "Who asks; the agent gets it as ORCHESTRATOR_ID."
ADVICE = "How long it may take; advisory, shown as expected_completion."
LAUNCHED = "What to launch; default $KNELL_AGENT_COMMAND, or its type."
PLACES = ("headless", "tmux", "kitty", "wezterm")
COMMAND = JsonCommand(
    inputs=(
        Input("AGENT_TYPE", "line", "What it is for; by default one runs of each type."),
        Input("TASK_ID", "line", "The task of orchestrator_task that it takes.", None),
        Input("ORCHESTRATOR_INSTANCE_ID", "line", ASKER, None),
        Input("TIMEOUT_SECONDS", "seconds", ADVICE, 3600, least=1, most=LONGEST_SESSION),
        Input("AUTO_RESTART", "flag", f"The watch restarts it up to {MOST} times.", default=True),
        Input("COMMAND", "command", LAUNCHED, None),
        Input("WORKING_DIRECTORY", "line", "Default: the worktree of its task, or here.", None),
        Input("PLACE", "line", "Where it is shown.", "headless", PLACES),
        Input("SINGLETON", "flag", "Refuse a second one of its type.", default=True),
        Input("STARTUP_TIMEOUT_SECONDS", "seconds", "How long its start may take.", STARTUP),
        Input("MIN_CPU_FREE_PERCENT", "number", "Refuse to start with less.", 20, most=100),
        Input("MIN_MEMORY_FREE_MB", "number", "Refuse to start with less.", 500, most=10**9),
    ),
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
