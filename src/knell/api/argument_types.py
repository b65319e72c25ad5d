"""Checks the types of what the API's methods are given, before anything is done.

A wrong one could be refused half way, or be written into the store, which no command could read
then. `from knell import Knell` switches this on. The command line has read its words itself, and
goes without: `knell.api.Knell` alone checks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from knell.core.errors import BadParameter
from knell.core.orchestrator_task import Fate
from knell.core.worktree import Cleanup

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 1 << 63  # what the store can hold
HAS_REST = 0x04  # of a function's flags: it takes *args
SHOWN = 60  # characters of a wrong value that the message repeats


def _is_text(value: object) -> bool:
    return _encodes(value) and "\0" not in cast("str", value)


def _encodes(value: object) -> bool:
    """Whether it is a text that can be written anywhere; a file's name may have any bytes."""
    if not isinstance(value, str):
        return False
    with suppress(UnicodeEncodeError):  # half a character
        return bool(value.encode("utf-8", "surrogateescape")) or not value
    return False


def _is_whole(value: object) -> bool:
    fits = isinstance(value, int) and not isinstance(value, bool)
    return fits and abs(cast("int", value)) < MOST


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_texts(value: object) -> bool:
    """A text is itself a sequence of texts, and nobody means its letters."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    return all(map(_encodes, cast("Sequence[object]", value)))


def _is_environment(value: object) -> bool:
    """With another name, or a null byte, no program could be started in it."""
    if not isinstance(value, Mapping):
        return False
    pairs = cast("Mapping[object, object]", value).items()
    return all(_is_text(name) and _is_text(text) for name, text in pairs) and not any(
        not name or "=" in name for name in cast("Mapping[str, str]", value)
    )


# Annotation → what fits, and what a message calls it. What is not here is not checked.
TYPES: dict[str, tuple[Callable[[object], bool], str]] = {
    "str": (_is_text, "a text without null bytes"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "int": (_is_whole, "a whole number"),
    "float": (_is_number, "a number"),
    "str | int": (lambda value: _is_text(value) or _is_whole(value), "a text or a number"),
    "Sequence[str]": (_is_texts, "a list of texts"),
    "Mapping[str, str]": (_is_environment, "a dictionary of variables and their values"),
}


# What an ending would trip over only once the agent is gone.
WORDS: dict[str, tuple[str, ...]] = {"tasks": tuple(Fate), "cleanup": (Cleanup.SAFE, Cleanup.FORCE)}


def check_arguments(cls: type) -> None:
    """Has every public method of this class refuse arguments of a wrong type."""
    for name, function in tuple(vars(cls).items()):
        if isinstance(function, FunctionType) and (name == "__init__" or name[0] != "_"):
            setattr(cls, name, _checking(function))


class ChecksArguments:
    """Every public method of a class below this one refuses arguments of a wrong type."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_arguments(cls)


def _checking(function: FunctionType) -> Callable[..., Any]:
    code, annotations = function.__code__, function.__annotations__
    in_order = code.co_varnames[1 : code.co_argcount]
    rest = code.co_argcount + code.co_kwonlyargcount
    others = code.co_varnames[rest] if code.co_flags & HAS_REST else ""

    @wraps(function)
    def call(self: object, *given: object, **named: object) -> Any:
        for name, value in (*zip(in_order, given, strict=False), *named.items()):
            _check(name, annotations.get(name, ""), value)
        for value in given[len(in_order) :] if others else ():
            _check(others, annotations[others], value)
        return function(self, *given, **named)

    return call


def _check(name: str, annotation: str, value: object) -> None:
    plain = annotation.removesuffix(" | None")
    if plain not in TYPES or (value is None and plain != annotation):
        return
    fits, wanted = TYPES[plain]
    if not fits(value):
        raise BadParameter(name, f"{name} must be {wanted}, not {ascii(value)[:SHOWN]}")
    if value and value not in WORDS.get(name, (value,)):
        known = ", ".join(WORDS[name])
        raise BadParameter(name, f"{name} must be one of {known}, not {ascii(value)[:SHOWN]}")
