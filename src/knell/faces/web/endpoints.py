"""The table of the JSON API: it checks what is asked, and the page docs/web.md is printed of it."""

import json
from typing import Any, NamedTuple, cast

from starlette.requests import Request

from knell.core.errors import BadParameter
from knell.core.inputs import REQUIRED, Input, checked, schema
from knell.faces.web import answers
from knell.faces.web.acts import DEED_NAMES
from knell.faces.web.answers import Answer
from knell.faces.web.far import WHATS

BIG = 2**53  # the largest number that every reader of JSON takes
DIGITS = 16  # of a number in a request: what JSON and SQLite hold exactly
LONGEST_TEXT = 500
LONGEST_RUNS = 2500  # characters: 60 ids of runs

_AGENT = Input("name", "name", "an agent's name")
_TOKEN = Input("token", "name", "what stands behind # in the address that knell web printed")
_RUNS = Input("runs", "words", "the runs of the agents that are meant; `id` of another host's")
_DEED = Input("deed", "name", "what is to be done", choices=DEED_NAMES)


class Endpoint(NamedTuple):
    method: str
    path: str
    what: str
    inputs: tuple[Input, ...] = ()  # of the query string, or of the body
    answer: Answer | None = None  # None: app.py has it, because it needs the server


ENDPOINTS = (
    Endpoint(
        "POST", "/api/session", "exchanges a link's token, once: for a cookie, or for a bearer",
        (_TOKEN, Input("script", "flag", "answer a bearer token, set no cookie", default=False)),
    ),
    Endpoint("POST", "/api/link", "makes another link, for another browser or a script"),
    Endpoint("GET", "/api/server", "whether it is read-only, which deeds there are, whose it is"),
    Endpoint(
        "GET", "/api/snapshot", "every agent, as `status --json`, and those that ended last",
        answer=answers.snapshot,
    ),
    Endpoint(
        "GET", "/api/changes", "the same as a stream of server-sent events, and what changes",
        (Input("after", "count", "the number of the last event you have", default=0, most=BIG),),
    ),
    Endpoint(
        "GET", "/api/agent", "one agent: `show --json`, its verdict, its screen; of `NAME@HOST`"
        " what its host has published",
        (_AGENT,), answers.agent,
    ),
    Endpoint(
        "GET", "/api/fleet", "with `--fleet`: hosts, agents of the others and open orders; waits"
        " for the database",
    ),
    Endpoint(
        "POST", "/api/ask-host", "with `--fleet`: has an agent's own host say why, or its"
        " processes; an order that only looks",
        (
            Input("what", "name", "what is asked", choices=WHATS),
            Input("run", "name", "the `id` of a row of another host: RUN@HOST"),
        ),
    ),
    Endpoint(
        "GET", "/api/ribbons", "run → its last 24 hours: activity, CPU and memory in stretches",
        (
            Input("runs", "name", "ids of runs, separated by commas", most=LONGEST_RUNS),
            Input("step", "count", "seconds of a stretch", default=300, least=60, most=3600),
        ),
        answers.ribbons,
    ),
    Endpoint(
        "GET", "/api/logs", "the last lines of what an agent printed",
        (_AGENT, Input("lines", "count", "how many", default=200, least=1, most=5000)),
        answers.logs,
    ),
    Endpoint(
        "GET", "/api/events", "the audit trail: the last ones, or the next behind a number",
        (
            Input("after", "count", "a number of an event", default=0, most=BIG),
            Input("agent", "text", "only this agent's", default=""),
            Input("limit", "count", "how many", default=200, least=1, most=1000),
        ),
        answers.events,
    ),
    Endpoint(
        "GET", "/api/receipts", "receipts by words, the newest first, as `receipt --json`",
        (
            Input("text", "text", "words that must all be found", default="", most=LONGEST_TEXT),
            Input("limit", "count", "how many", default=50, least=1, most=500),
            Input("before", "count", "`more` of the page before", default=0, most=BIG),
        ),
        answers.receipts,
    ),
    Endpoint(
        "GET", "/api/receipt", "the newest receipt of one agent, or of a run",
        (Input("name", "name", "an agent's name, or the id of a run"),), answers.receipt,
    ),
    Endpoint("GET", "/api/tasks", "tasks of all teams, with their history", (), answers.tasks),
    Endpoint(
        "GET", "/api/worktrees", "what became of worktrees, and how to get their work back",
        (), answers.worktrees,
    ),
    Endpoint(
        "GET", "/api/night", "what happened since a time, as `night --json`",
        (Input("since", "name", "ISO 8601 in UTC"),), answers.night,
    ),
    Endpoint(
        "POST", "/api/plan", "the dry run of a deed, and the hash by which it is agreed to",
        (_DEED, _RUNS),
    ),
    Endpoint(
        "POST", "/api/act", "does it, if its plan is still the same; else 409 and the new plan",
        (_DEED, _RUNS, Input("plan", "name", "the hash of the plan that you agree to")),
    ),
    Endpoint("GET", "/api/openapi.json", "this table, as OpenAPI 3.1"),
)  # fmt: skip


def openapi() -> dict[str, Any]:
    """The table in the words of OpenAPI."""
    paths: dict[str, Any] = {}
    for one in ENDPOINTS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "knell web", "version": "1"},
        "paths": paths,
        "components": {"securitySchemes": {"bearer": bearer}},
        "security": [{"bearer": []}],
    }


def _operation(one: Endpoint) -> dict[str, Any]:
    told: dict[str, Any] = {
        "summary": one.what,
        "responses": {"200": {"description": "done"}, "default": {"description": "an error"}},
    }
    shape = schema(one.inputs)
    if one.method == "POST":
        told["requestBody"] = {"content": {"application/json": {"schema": shape}}}
    else:
        told["parameters"] = [
            {
                "name": given.name, "in": "query", "required": given.default is REQUIRED,
                "schema": shape["properties"][given.name],
            }
            for given in one.inputs
        ]  # fmt: skip
    return told


def table() -> list[tuple[str, ...]]:
    """For the documents; the first row has the headings."""
    rows: list[tuple[str, ...]] = [("", "what it does", "takes")]
    for one in ENDPOINTS:
        taken = ", ".join(
            f"`{given.name}`" + ("" if given.default is REQUIRED else f" ({given.default!r})")
            for given in one.inputs
        )
        rows.append((f"{one.method} `{one.path}`", one.what, taken))
    return rows


# -- what a request says ----------------------------------------------------------------------


def is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= DIGITS


def inputs_of(path: str) -> tuple[Input, ...]:
    return next(one.inputs for one in ENDPOINTS if one.path == path)


def query_values(path: str, request: Request) -> dict[str, Any]:
    """What the query string says, as the table wants it; BadParameter for anything else."""
    given: dict[str, Any] = dict(request.query_params)
    for one in inputs_of(path):
        text = given.get(one.name, "")
        if one.type == "count" and is_count(text):
            given[one.name] = int(text)
    return checked(inputs_of(path), given)


def body_values(path: str, body: bytes) -> dict[str, Any]:
    try:
        given = cast("object", json.loads(body))
    except (ValueError, RecursionError) as error:
        raise BadParameter("body", f"the body is no JSON: {error}") from error
    return checked(inputs_of(path), given)
