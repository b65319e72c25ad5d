"""Kinds from the settings and from entry points: each is checked whole before it is used, and none
of its functions can break a verb."""

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any, cast

from knell import entry_points
from knell.core.errors import BadConfig, BadRequest
from knell.core.kind import Kind
from knell.core.kind_check import check, kind_from_table
from knell.core.ports.kinds import BrokenKind
from knell.core.stall.signs import Turn
from knell.core.telling import Telling, TellRequest

GROUP = "knell.kinds"


def from_settings(name: str, table: object) -> Kind:
    where = f"kinds.{name} in the settings"
    if not isinstance(table, dict):
        raise BadConfig(f"{where}: it must be a table", f"write [kinds.{name}]")
    kind = kind_from_table(name, cast("dict[str, object]", table), where)
    check(kind, where)
    return kind


def from_entry_point(name: str, points: list[EntryPoint]) -> Kind:
    where = entry_points.origin(GROUP, points)
    found = entry_points.load(GROUP, points)
    if not isinstance(found, Kind):
        raise BadConfig(
            f"{where}: it gives {type(found).__name__}, not a Kind",
            "it must name a knell.core.kind.Kind or a function that returns one",
        )
    if found.name != name:
        raise BadConfig(f"{where}: field name: it is '{found.name}'", f"call it '{name}'")
    check(found, where)
    return guarded(found, where)


# -- functions of another package ------------------------------------------------------------------

Function = Callable[..., Any]


def guarded(kind: Kind, where: str) -> Kind:
    """The kind with functions that do not fail: where one does, its answer is the unknown one, and
    a warning names the kind. What was asked for and cannot be done without the answer is refused
    instead (`mcp`), or not known (`typed_log`)."""

    # A directory's part of a path that is not known may be any: the id is in the path as well.
    # A thread that may be a side thread is not taken for the agent's own.
    unknown: dict[str, object] = {
        "turn": Turn.UNKNOWN, "cwd_key": "*", "tell": Telling((), {}), "side": True, "said": ""
    }  # fmt: skip
    safe: dict[str, Any] = {
        field: _answering(getattr(kind, field), f"{where}: {field}", instead)
        for field, instead in unknown.items()
        if getattr(kind, field) is not None
    }
    for field in ("mcp", "typed_log"):
        if (inner := getattr(kind, field)) is not None:
            functions = {name: one for name, one in inner._asdict().items() if callable(one)}
            refusing = {n: _refusing(one, f"{where}: {field}.{n}") for n, one in functions.items()}
            safe[field] = inner._replace(**refusing)
    return kind._replace(**safe)


def _answering(function: Function, what: str, instead: object) -> Function:
    """The function, with another answer where it fails or does not answer with such a thing. A
    start that cannot be made to tell goes on unchanged."""
    told: set[str] = set()
    ask = _refusing(function, what)

    def answer(given: object) -> object:
        try:
            found = ask(given)
            if isinstance(found, type(instead)):
                return found
            why = f"{what}: it gives {type(found).__name__}, not {type(instead).__name__}"
        except (BadConfig, BadRequest) as error:
            why = str(error)
        if why not in told:
            told.add(why)
            from logging import getLogger

            getLogger("knell").warning("%s; knell goes on without it", why)
        return Telling(given.argv, given.env) if isinstance(given, TellRequest) else instead

    return answer


def _refusing(function: Function, what: str) -> Function:
    """The function, failing as a broken setting does."""

    def answer(*given: object) -> object:
        try:
            return function(*given)
        except (BadConfig, BadRequest):
            raise
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {error}"
            raise BadConfig(f"{what}: {why}", "repair or remove the package") from error

    return answer


def shadowed(points: list[EntryPoint]) -> BrokenKind:
    """An entry point whose name means another kind."""
    why = "the name is taken by a kind that knell brings or that the settings have"
    where = entry_points.origin(GROUP, points)
    return BrokenKind(points[0].name, f"{where}: {why}", "rename one of them")
