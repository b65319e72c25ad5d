"""Prints the reference from the code: settings, events, codes, JSON shapes with their schema, and
the methods of the API. `make docs` writes the pages."""

import inspect
import json
import re
from enum import StrEnum
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from knell import Knell
from knell.core.codes import Code, Notice
from knell.core.event_types import EVENT_TYPES, NAMED_EVENTS
from knell.core.ports.store import Event
from knell.core.receipt import (
    Cleaning,
    Conversation,
    Death,
    Ended,
    Left,
    Pane,
    Receipt,
    RungRecord,
    Survivor,
)
from knell.core.settings import Settings
from knell.faces.exits import Exit
from knell.life.look.list import AgentView

MADE = "<!-- made from the code by `make docs`; edit the code instead -->\n"
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
RECORDS = (
    AgentView, Receipt, RungRecord, Ended, Survivor, Pane, Conversation, Cleaning, Death, Left,
    Notice, Event,
)  # fmt: skip
NAMES = {AgentView: "agent", RungRecord: "rung"}
WIDE = 90  # columns of a signature on one line
TEXT = {"type": "string"}
NUMBER: dict[str, Any] = {"type": ["integer", "null"]}
FOUND = {
    "type": "object",
    "properties": {"pid": NUMBER, "command": TEXT, "via": TEXT, "parent": NUMBER, "state": TEXT},
    "required": ["pid", "command", "via", "parent", "state"],
}
STARTED = {
    "type": "object",
    "properties": {"name": TEXT, "kind": TEXT, "run": TEXT, "pid": NUMBER, "conversation": TEXT},
    "required": ["name", "kind", "run", "pid", "conversation"],
}


class Field(NamedTuple):
    name: str
    of: Any
    default: str
    meaning: str


def fields(record: Any) -> list[Field]:
    """With the comment behind each, which says what it means."""
    source, hints = inspect.getsource(record), get_type_hints(record)
    found: list[Field] = []
    for name in record._fields:
        line = re.search(rf"^    {name}: [^\n#]*(?:# (.*))?$", source, re.MULTILINE)
        default = record._field_defaults.get(name, inspect.Parameter.empty)
        shown = "" if default is inspect.Parameter.empty else repr(default)
        found.append(Field(name, hints[name], shown, (line[1] or "") if line else ""))
    return found


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines
    )


# -- settings ------------------------------------------------------------------------------------


def settings_rows() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    for field in fields(Settings):
        if field.name == "kinds":
            continue
        if not field.meaning:
            raise SystemExit(f"core/settings.py: say behind {field.name} what it means")
        section, _, key = field.name.partition("_")
        default = getattr(Settings(), field.name)
        shown = json.dumps(list(default) if isinstance(default, tuple) else default)
        rows.append((f"`[{section}]` `{key}`", f"`{shown}`", field.meaning))
    return ("setting", "default", "what it does"), rows


# -- events and codes ----------------------------------------------------------------------------


def events() -> str:
    named = {f"{name}NAME": meaning for name, meaning in NAMED_EVENTS.items()}
    rows = [(f"`{name}`", meaning) for name, meaning in (EVENT_TYPES | named).items()]
    return f"""{MADE}
# Events

Everything that happens to agents, tasks and teams is written down in the same transaction as the fact itself. `knell events` prints the trail, `knell events -f`
goes on, and `--json` gives each event as `id`, `at` (UTC), `type`, `agent`, `run` and `data`. Numbers (`id`) only grow, so that a program can go on from the last one that it has seen.

{table(("type", "what it tells"), rows)}
"""


def codes() -> str:
    source = inspect.getsource(Exit)
    said = dict(re.findall(r"^    (\w+) = \d+  # (.*)$", source, re.MULTILINE))
    exits = [(str(one.value), said[one.name]) for one in Exit]
    rows = [(f"`{code}`", code.meaning) for code in Code.every()]
    return f"""{MADE}
# Exit codes, and codes of warnings and refusals

{table(("exit code", "meaning"), exits)}

0 also means that what was asked for was so already: to end an ended agent is no error. 3 means that something survived, and the receipt names it.

## Codes

A program branches on the code; the text beside it is for people and may change. With `--json`, an
error has `code`, `message` and `hint`; each warning of a receipt has `code` and `text`; a receipt of
something that was not ended has a `code` of its own; a row of `list` has `note_code` beside `note`.

{table(("code", "what it means"), rows)}
"""


# -- JSON ----------------------------------------------------------------------------------------


def name_of(record: Any) -> str:
    return NAMES.get(record, record.__name__.lower())


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON that a value of this annotation becomes."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        inner = schema_of(parts[0])
        return {"anyOf": [inner, {"type": "null"}]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": schema_of(parts[0])}
    if get_origin(kind) is dict:
        return {"type": "object"}
    if hasattr(kind, "_fields"):
        return {"$ref": f"#/$defs/{name_of(kind)}"}
    if issubclass(kind, Code):  # a newer knell may have more of them
        return dict(TEXT)
    if issubclass(kind, StrEnum):
        return {"enum": [one.value for one in kind]}
    return {"type": PLAIN[kind]}


def record_schema(record: Any) -> dict[str, Any]:
    properties = {
        field.name: schema_of(field.of) | ({"description": field.meaning} if field.meaning else {})
        for field in fields(record)
    }
    return {
        "type": "object", "description": (inspect.getdoc(record) or "").split("\n")[0],
        "properties": properties, "required": list(record._fields),
    }  # fmt: skip


def listed(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def document(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def schema() -> dict[str, Any]:
    yes = {"type": "boolean"}
    verdict = document(
        name=TEXT, run=TEXT, activity=TEXT, why=TEXT, quiet_s={"type": ["number", "null"]},
        evidence={"type": "array", "items": document(speaks=TEXT, what=TEXT)},
    )  # fmt: skip
    fact = document(what=TEXT, good=yes)
    finding = document(what=TEXT, ok=yes, text=TEXT, hint=TEXT, broken=yes)
    ending = document(ok=yes, receipts=listed("receipt"))
    story = record_schema(AgentView)
    story["properties"] |= {
        "processes": {"type": "array", "items": FOUND}, "resume": TEXT, "why_not_resumable": TEXT,
        "receipt": {"anyOf": [{"$ref": "#/$defs/receipt"}, {"type": "null"}]},
    }  # fmt: skip
    documents = {
        "knell list": document(agents=listed("agent")),
        "knell status": document(agents=listed("agent"), states={"type": "object"}, at=TEXT),
        "knell show": story,
        "knell tree": document(agent=TEXT, processes={"type": "array", "items": FOUND}),
        "knell explain": verdict,
        "knell stalled": document(ok=yes, agents={"type": "array", "items": verdict}),
        "knell spawn": document(agents={"type": "array", "items": STARTED}),
        "knell resume": {**STARTED, "properties": STARTED["properties"] | {"verdict": TEXT}},
        "knell kill": ending,
        "knell stop": ending,
        "knell receipt": {"$ref": "#/$defs/receipt"},
        "knell verify": document(target=TEXT, verified=yes, facts={"type": "array", "items": fact}),
        "knell events": document(events=listed("event")),
        "knell doctor": document(findings={"type": "array", "items": finding}),
        "an error": document(
            ok={"const": False}, code=TEXT, message=TEXT, hint=TEXT, exit={"type": "integer"}
        ),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What knell prints with --json",
        "description": "A newer knell may add keys; it takes none away within a major version.",
        "$defs": {name_of(one): record_schema(one) for one in RECORDS} | documents,
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def type_word(kind: Any) -> str:
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        return f"{type_word(parts[0])} or null"
    if get_origin(kind) is tuple:
        return f"list of {type_word(parts[0])}"
    if get_origin(kind) is dict:
        return "object"
    if hasattr(kind, "_fields"):
        return f"[{name_of(kind)}](#{name_of(kind)})"
    if issubclass(kind, Code):
        return "[code](codes.md)"
    if issubclass(kind, StrEnum):
        return ", ".join(f"`{one.value}`" for one in kind)
    return PLAIN[kind]


def shapes() -> str:
    parts = [
        MADE,
        "# JSON\n",
        "Every verb but those that are a show or a stream takes `--json` and prints one document on standard output, also when it fails. Times are UTC, in ISO 8601.",
        "[`knell.schema.json`](knell.schema.json) is a JSON Schema (2020-12) of the shapes below: the document of a verb is under its name, for example `#/$defs/knell kill`.",
        "A newer knell may add keys, so ignore those that you do not know.\n",
        "| verb | document |",
        "|---|---|",
    ]
    for name, shape in schema()["$defs"].items():
        if " " in name:
            keys = ", ".join(f"`{key}`" for key in shape.get("properties", {}))
            shown = name if name == "an error" else f"`{name}`"
            parts.append(f"| {shown} | {keys or 'one [receipt](#receipt)'} |")
    for record in RECORDS:
        rows = [(f"`{one.name}`", type_word(one.of), one.meaning) for one in fields(record)]
        title = name_of(record)
        parts += [
            f"\n## {title}\n",
            (inspect.getdoc(record) or "").split("\n")[0].replace("NamedTuple", ""),
            "",
        ]
        parts.append(table(("key", "type", ""), rows))
    return re.sub(r"\n(\w+)\([\w, ]*\)\n", "\n", "\n".join(parts)) + "\n"


# -- the API -------------------------------------------------------------------------------------


def methods() -> str:
    parts = [
        MADE,
        "# Every method of the Python API\n",
        "[knell from Python](../api.md) shows them at work. All arguments but targets are given by name; results are records, named in `knell.api.results`.\n",
    ]
    for name in sorted(one for one in dir(Knell) if not one.startswith("_") and one != "world"):
        value = inspect.getattr_static(Knell, name)
        told = inspect.getdoc(getattr(Knell, name)) or ""
        if callable(value):
            parts.append(
                f"## {name}\n\n```text\n{signature(name, getattr(Knell, name))}\n```\n\n{told}\n"
            )
        else:
            parts.append(f"## {name}\n\n{told}\n")
    return "\n".join(parts)


def signature(name: str, method: Any) -> str:
    """One argument a line, where the line would be long."""
    words = [argument(one) for one in list(inspect.signature(method).parameters.values())[1:]]
    given = inspect.signature(method).return_annotation
    back = "" if given is inspect.Signature.empty else f" -> {plain(given)}"
    line = f"knell.{name}({', '.join(words)}){back}"
    if len(line) <= WIDE:
        return line
    return f"knell.{name}(\n    " + ",\n    ".join(words) + f",\n){back}"


def argument(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    default = "" if one.default is one.empty else f" = {one.default!r}"
    return f"{stars}{one.name}: {plain(one.annotation)}{default}"


def plain(annotation: Any) -> str:
    """As a reader would write it, without the modules."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)


PAGES = {
    "reference/events.md": events,
    "reference/codes.md": codes,
    "reference/json.md": shapes,
    "reference/knell.schema.json": schema_text,
    "reference/methods.md": methods,
}
