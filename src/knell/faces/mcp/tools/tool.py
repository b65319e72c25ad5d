"""What a tool is: a name, its inputs, its answer, and the function that a thread runs."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from knell.api import Knell
from knell.core.inputs import Input
from knell.faces.mcp.callers import ToolCaller

Answer = dict[str, Any]
TEXT = {"type": "string"}
FLAG = {"type": "boolean"}
NUMBER = {"type": ["number", "null"]}
FACTS = {"type": "object"}
TEXTS = {"type": "array", "items": TEXT}
NOTICES = {"type": "array", "items": {"type": "object", "required": ["code", "text"]}}
ROWS = {"type": "array", "items": FACTS}


def texts(*names: str) -> dict[str, Any]:
    """Properties of an answer that are texts."""
    return dict.fromkeys(names, TEXT)


def facts_of(record: object, *names: str, **renamed: str) -> Answer:
    """Facts of a record by their own names, or by those of the contract: `teamName="team"`."""
    known = {name: name for name in names} | renamed
    return {name: getattr(record, field) for name, field in known.items()}


class ToolCall(NamedTuple):
    """One call, in the thread that carries it out."""

    knell: Knell  # in the name of the caller
    caller: ToolCaller
    given: Mapping[str, Any]
    gone: threading.Event  # set once the client no longer waits for the answer


class Tool(NamedTuple):
    name: str
    text: str  # what a model reads about it
    fields: tuple[Input, ...]
    answer: Mapping[str, Any]  # its properties in JSON Schema, beside success, code, error and hint
    act: Callable[[ToolCall], Answer]
    always: tuple[str, ...] = ()  # the properties that every answer has, beside success
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False
    waits: bool = False  # only waits, so it is dropped when its caller has left
    has_progress: bool = False  # it ends a run, and can report each step
    failed: Callable[[Mapping[str, Any], str], Answer] | None = None  # as its contract has it
    for_strangers: bool = False  # also answers a caller that is not known, with a refusal

    def output(self) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        told = {"error": TEXT} if self.failed else {"code": TEXT, "error": TEXT, "hint": TEXT}
        properties = {"success": FLAG, **self.answer, **told}
        required = ["success", *self.always]
        return {"type": "object", "properties": properties, "required": required}


TEAM = Input("teamName", "name", "Name of the team the agent belongs to")
AGENT = Input("agentId", "name", "The agent: its name, or the id of its run")
