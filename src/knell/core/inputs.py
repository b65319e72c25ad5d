"""Checks the arguments of MCP tools and JSON commands.

One table of inputs checks what is given, explains it, and becomes the JSON Schema.
"""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from knell.core.errors import BadParameter
from knell.core.ladder import LONGEST_WAIT

LONGEST_NAME = 200
LONGEST_LINE = 1000
MOST_WORDS = 200  # of an MCP tool
MOST_ARGUMENTS = 1000  # of a JSON command's command line
SHOWN = 60  # characters of a refused value that the message repeats
REQUIRED = object()


class Input(NamedTuple):
    """One argument: its name, what it may be, and what it is for."""

    name: str
    type: str  # a key of TYPES
    meaning: str
    default: Any = REQUIRED  # REQUIRED: it has no default
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 0  # characters, or the number itself; 0: as usual for its type

    @property
    def limit(self) -> float:
        return self.most or TYPES[self.type].most


def checked(inputs: Sequence[Input], given: object) -> dict[str, Any]:
    """Every input with its value, given or default; raises BadParameter for any other."""
    if not isinstance(given, Mapping):
        raise BadParameter("params", f"params must be an object, not {short_json(given)}")
    values = cast("Mapping[object, object]", given)
    known = [one.name for one in inputs]
    for name in values:
        if not isinstance(name, str) or name not in known:
            message = f"there is no parameter {short_json(name)}{_nearest(name, known)}"
            raise BadParameter(str(name), message)
    return {one.name: _value(one, values) for one in inputs}


def _nearest(name: object, known: Sequence[str]) -> str:
    upper = {one.upper(): one for one in known}
    close = difflib.get_close_matches(str(name).upper(), upper, 1)
    return f"; did you mean {upper[close[0]]}?" if close else f"; known are {', '.join(known)}"


def _value(one: Input, given: Mapping[object, object]) -> Any:
    if one.name not in given:
        if one.default is REQUIRED:
            raise BadParameter(one.name, f"{one.name} is required: {one.meaning}")
        return one.default
    value = given[one.name]
    if not TYPES[one.type].fits(one, value) or (one.choices and value not in one.choices):
        raise BadParameter(one.name, f"{one.name} must be {must_be(one)}, not {short_json(value)}")
    return value


def must_be(one: Input) -> str:
    if one.choices:
        return f"one of {', '.join(one.choices)}"
    return TYPES[one.type].text.format(least=_plain(one.least), most=_plain(one.limit))


def _plain(number: float) -> str:
    return f"{number:.0f}" if number == int(number) else str(number)


def short_json(value: object) -> str:
    """The value as JSON, cut to a length that a message can repeat."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):  # no JSON, too many digits, too deep
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def schema(inputs: Sequence[Input]) -> dict[str, Any]:
    """The JSON Schema of an object with these inputs."""
    return {
        "type": "object",
        "properties": {one.name: _property(one) for one in inputs},
        "required": [one.name for one in inputs if one.default is REQUIRED],
        "additionalProperties": False,
    }


def _property(one: Input) -> dict[str, Any]:
    shape = {**TYPES[one.type].schema, "description": one.meaning}
    if shape.get("type") == "string":
        shape["maxLength"] = int(one.limit)
    elif shape.get("type") in ("number", "integer"):
        shape |= {"minimum": one.least, "maximum": one.limit}
    if one.choices:
        shape["enum"] = list(one.choices)
    if one.default is not REQUIRED and one.default is not None:
        shape["default"] = one.default
    return shape


# -- types of values ---------------------------------------------------------------------------


class InputType(NamedTuple):
    text: str  # what a message says that the value must be
    fits: Callable[[Input, object], bool]
    schema: dict[str, Any]  # as JSON Schema, without the bounds of one input
    most: float = LONGEST_NAME


def _text(one: Input, value: object) -> bool:
    return _is_argument(value, 0 if one.type == "text" else 1, one.limit)


def _line(one: Input, value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= one.limit and value.isprintable()


def _is_argument(value: object, least: int, most: float) -> bool:
    """A text that can be encoded and that, as an argument of a program, has no null byte."""
    if not isinstance(value, str) or not least <= len(value) <= most or "\0" in value:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in value)  # half a character


def _flag(_: Input, value: object) -> bool:
    return isinstance(value, bool)


def _number(one: Input, value: object) -> bool:
    """True is no number here; NaN is between no bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return one.least <= value <= one.limit


def _count(one: Input, value: object) -> bool:
    return isinstance(value, int) and _number(one, value)


def _words(one: Input, value: object) -> bool:
    if not isinstance(value, list):
        return False
    words = cast("list[object]", value)
    return len(words) <= MOST_WORDS and all(_is_argument(word, 1, one.limit) for word in words)


def _command(one: Input, value: object) -> bool:
    if not isinstance(value, list):
        return _line(one, value)
    words = cast("list[object]", value)
    return 0 < len(words) <= MOST_ARGUMENTS and all(_is_argument(w, 0, 2**31) for w in words)


def _facts(one: Input, value: object) -> bool:
    return isinstance(value, dict) and len(json.dumps(value)) <= one.limit


_STRING = {"type": "string", "minLength": 1}
_SECONDS = "a number of seconds from {least} to {most}"
_COMMAND = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_WORDS = {"type": "array", "items": _STRING, "maxItems": MOST_WORDS}
TYPES = {
    "name": InputType("a text of 1 to {most} characters", _text, _STRING),
    "text": InputType("a text of at most {most} characters", _text, _STRING | {"minLength": 0}),
    "line": InputType("a printable text of 1 to {most} characters", _line, _STRING, LONGEST_LINE),
    "flag": InputType("true or false", _flag, {"type": "boolean"}),
    "seconds": InputType(_SECONDS, _number, {"type": "number"}, LONGEST_WAIT),
    "number": InputType(
        "a number from {least} to {most}", _number, {"type": "number"}, LONGEST_WAIT
    ),
    "count": InputType("a whole number from {least} to {most}", _count, {"type": "integer"}),
    "words": InputType(f"a list of at most {MOST_WORDS} texts", _words, _WORDS),
    "command": InputType(
        "a list of words, or the name of a kind", _command, _COMMAND, LONGEST_LINE
    ),
    "facts": InputType("an object of at most {most} characters", _facts, {"type": "object"}),
}
