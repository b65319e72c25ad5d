"""The orchestrator's JSON commands: a dictionary in, a dictionary out, never an exception.

One file a command. Its table of parameters checks what is given, and explains it.
"""

import difflib
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quell.core.errors import BadConfig, QuellError, StoreFailed
from quell.faces.commands.answers import Answer, Failed, failure
from quell.faces.commands.parameters import (
    REQUIRED,
    BadParameter,
    Parameter,
    checked,
    must_be,
    shown,
)
from quell.faces.commands.spec import Spec

if TYPE_CHECKING:
    from quell.api import Quell

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
UNTRACED = ("COMMAND",)  # words of a command line may hold a key


def full_name(name: str) -> str:
    """`orchestrator.kill-stalled-agent` for that, for its short name and for its action."""
    short = name.removeprefix(f"{AGENT}.").replace("_", "-")
    return f"{AGENT}.{short}" if short in COMMANDS else ""


def spec_of(command: str) -> Spec:
    module = command.removeprefix(f"{AGENT}.").replace("-", "_")
    return importlib.import_module(f"quell.faces.commands.{module}").SPEC


def described(command: str) -> dict[str, Any]:
    """The command as its own documentation, for `quell invoke --list --json`."""
    spec, short = spec_of(command), command.removeprefix(f"{AGENT}.")
    return {
        "command": command,
        "agent": AGENT,
        "action": short.replace("-", "_"),
        "description": COMMANDS[short],
        "tables": {"read": list(spec.reads), "write": list(spec.writes)},
        "required_tools": list(spec.tools),
        "parameters": [_explained(one) for one in spec.parameters],
        "errors": spec.errors | GENERAL,
    }


GENERAL = {
    "invalid_parameter": "A parameter is unknown, missing, or not what it must be",
    "database_error": "The store could not be read or written",
    "invalid_configuration": "quell's settings file is broken",
}


def _explained(one: Parameter) -> dict[str, Any]:
    needed = one.default is REQUIRED
    told = {"name": one.name, "must_be": must_be(one), "required": needed}
    return told | ({} if needed else {"default": one.default}) | {"meaning": one.meaning}


# -- carrying one out ----------------------------------------------------------------------------


def invoke_command(name: str, params: Mapping[str, Any] | None = None) -> Answer:
    """Carries out one command in the state that the command line would use."""
    from quell.api import Quell

    with Quell() as quell:
        return invoke(quell, name, {} if params is None else params)


def invoke(quell: "Quell", name: str, params: object) -> Answer:
    """What the command answers; an answer with `"success": false` says why."""
    command = full_name(name) if isinstance(name, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
    if not command:
        return failure("unknown_command", f"there is no command {shown(name)}; {unknown(name)}")
    spec = spec_of(command)
    named = _named(params)
    try:
        given = checked(spec.parameters, params)
        answer = spec.carry_out(quell, given)
    except BadParameter as error:
        return failure("invalid_parameter", str(error), parameter=error.name, **named)
    except Failed as error:
        given, answer = _plain(params), failure(error.code, str(error), **named | error.facts)
    except QuellError as error:
        given, answer = _plain(params), _translated(error, spec, named)
    return answer if spec.silent(given) else _traced(quell, command, given, answer)


def _named(params: object) -> dict[str, Any]:
    """The agent that an error answer repeats, where one was given."""
    agent = params.get("AGENT_ID") if isinstance(params, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return {"agent_id": agent} if isinstance(agent, str) else {}


def _plain(params: object) -> dict[str, Any]:
    return dict(params) if isinstance(params, Mapping) else {}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def unknown(name: object) -> str:
    """What whoever asked for that command may have meant."""
    close = difflib.get_close_matches(str(name).replace("_", "-"), [*COMMANDS, *_full()], 2)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are {', '.join(_full())}"


def _full() -> list[str]:
    return [f"{AGENT}.{short}" for short in COMMANDS]


def _translated(error: QuellError, spec: Spec, named: dict[str, Any]) -> Answer:
    code = spec.fault
    if isinstance(error, StoreFailed):
        code = "database_error"
    elif isinstance(error, BadConfig):
        code = "invalid_configuration"
    hint = {"hint": error.hint} if error.hint else {}
    return failure(code, str(error), **named, **hint)


def _traced(quell: "Quell", command: str, given: Mapping[str, Any], answer: Answer) -> Answer:
    """Every activity of the orchestrator is in the trail: who asked for what, and what came of it.

    A store that cannot be written is said, and does not undo what was done."""
    agent = answer.get("agent_id") or given.get("AGENT_ID") or ""
    told = {"parameters": {key: value for key, value in given.items() if key not in UNTRACED}}
    told |= {key: answer[key] for key in ("success", "error", "message") if key in answer}
    try:
        store = quell.world.store
        name = str(agent).partition("#")[0]
        known = name if store.agent(name) else ""
        store.note(f"command.{command}", known, "", told | {"by": quell.orchestrated.asker()})
    except StoreFailed as error:
        if answer.get("error") != "database_error":
            answer.setdefault("warnings", []).append(f"not traced: {error}")
    return answer
