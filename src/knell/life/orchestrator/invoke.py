"""Carries out the orchestrator's JSON commands: a dictionary in, a dictionary out, no exception.

One file a command. Its table of inputs checks what is given, and explains it.
"""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any, cast

from knell.core.codes import Code, Notice
from knell.core.errors import BadConfig, BadParameter, KnellError, StoreFailed
from knell.core.inputs import REQUIRED, Input, checked, must_be, short_json
from knell.core.ports.world import World
from knell.life.base.caller import caller
from knell.life.orchestrator.command import CommandFailed, JsonAnswer, JsonCommand

AGENT = "orchestrator"
# command → what it does. The text is here so that a list of names imports no command.
COMMANDS = {
    "kill-stalled-agent": "Terminate unresponsive agents and clean up resources",
    "spawn-agent-session": "Launch an agent for a task, under a keeper",
    "monitor-agent-lifecycle": "Detect stalled and dead agents; take heartbeats in",
    "auto-restart-agent": "Restart agents that were killed or have failed",
    "create-worktree": "Make a git worktree and a branch for a task",
    "cleanup-worktrees": "Remove worktrees that are finished; nothing uncommitted is lost",
}
GENERAL = {
    "invalid_parameter": "A parameter is unknown, missing, or not what it must be",
    "database_error": "The store could not be read or written",
    "invalid_configuration": "knell's settings file is broken",
}
UNTRACED = ("COMMAND",)  # words of a command line may hold a key


def full_name(name: str) -> str:
    """`orchestrator.kill-stalled-agent` for that, for its short name and for its action."""
    short = name.removeprefix(f"{AGENT}.").replace("_", "-")
    return f"{AGENT}.{short}" if short in COMMANDS else ""


def load_command(name: str) -> JsonCommand:
    module = name.removeprefix(f"{AGENT}.").replace("-", "_")
    return importlib.import_module(f"knell.life.orchestrator.{module}").COMMAND


def suggestion(name: object) -> str:
    """The names of commands that are close to an unknown name, or else all names."""
    known = [f"{AGENT}.{short}" for short in COMMANDS]
    close = difflib.get_close_matches(str(name).replace("_", "-"), [*COMMANDS, *known], 2)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(known)}"


def describe(command: str) -> dict[str, Any]:
    """The command as its own documentation, for `knell invoke --list --json`."""
    spec, short = load_command(command), command.removeprefix(f"{AGENT}.")
    return {
        "command": command,
        "agent": AGENT,
        "action": short.replace("-", "_"),
        "description": COMMANDS[short],
        "tables": {"read": list(spec.reads), "write": list(spec.writes)},
        "required_tools": list(spec.tools),
        "parameters": [_explained(one) for one in spec.inputs],
        "errors": spec.errors | GENERAL,
    }


def _explained(one: Input) -> dict[str, Any]:
    needed = one.default is REQUIRED
    facts = {"name": one.name, "must_be": must_be(one), "required": needed}
    return facts | ({} if needed else {"default": one.default}) | {"meaning": one.meaning}


def invoke(world: World, name: object, params: object) -> JsonAnswer:
    """What the command answers; an answer with `"success": false` says why."""
    command = full_name(name) if isinstance(name, str) else ""
    if not command:
        message = f"there is no command {short_json(name)}; {suggestion(name)}"
        return _error_answer("unknown_command", message)
    spec = load_command(command)
    is_object = isinstance(params, Mapping)
    given = dict(cast("Mapping[str, Any]", params)) if is_object else {}
    agent = given.get("AGENT_ID")
    named = {"agent_id": agent} if isinstance(agent, str) else {}
    try:
        values = checked(spec.inputs, params)
        answer = spec.carry_out(world, values)
        given = values
    except BadParameter as error:
        answer = _error_answer("invalid_parameter", str(error), parameter=error.name, **named)
    except CommandFailed as error:
        answer = _error_answer(error.problem, str(error), **named | error.facts)
    except KnellError as error:
        hint = {"hint": error.hint} if error.hint else {}
        answer = _error_answer(_problem(error, spec), str(error), **named, **hint)
    if given.get("ACTION") not in spec.silent:
        _record(world, command, given, answer)
    return answer


def _error_answer(code: str, message: str, **facts: Any) -> JsonAnswer:
    return {"success": False, "error": code, "message": message, **facts}


def _problem(error: KnellError, spec: JsonCommand) -> str:
    if isinstance(error, StoreFailed):
        return "database_error"
    return "invalid_configuration" if isinstance(error, BadConfig) else spec.fault


def _record(world: World, command: str, given: Mapping[str, Any], answer: JsonAnswer) -> None:
    """Writes an event with who asked for what and what came of it.

    An agent that the store does not know is left out of the event. A store that cannot be written
    adds a warning, and does not undo what was done. Of a call with a bad parameter no value is
    kept, and not the message, which quotes one: they may hold a key, or be of any size."""
    facts: dict[str, Any] = {"parameters": {}}
    agent = ""
    if answer.get("error") == "invalid_parameter":
        names = [one.name for one in load_command(command).inputs]
        facts["parameter"] = answer["parameter"] if answer["parameter"] in names else ""
    else:
        agent = str(answer.get("agent_id") or given.get("AGENT_ID") or "").partition("#")[0]
        facts["parameters"] = {key: given[key] for key in given if key not in UNTRACED}
        facts |= {"message": answer["message"]} if "message" in answer else {}
    facts |= {key: answer[key] for key in ("success", "error") if key in answer}
    try:
        known = agent if world.store.runs.agent(agent) else ""
        facts["by"] = caller(world).by
        world.store.events.record(f"command.{command}", known, "", facts)
    except StoreFailed as error:
        if answer.get("error") != "database_error":
            notice = Notice(Code.NOT_TRACED, f"not traced: {error}")
            answer.setdefault("warnings", []).append(notice._asdict())
