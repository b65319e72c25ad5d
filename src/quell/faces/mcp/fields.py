"""What a tool may be given: the table that checks it is the table that its schema is made from."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from quell.core.errors import BadRequest

LONGEST_NAME = 200
LONGEST_TEXT = 64 * 1024
MOST_WORDS = 200
SHOWN = 60  # characters of a refused value that the answer repeats
REQUIRED = object()


class Field(NamedTuple):
    name: str
    kind: str  # a key of KINDS
    meaning: str
    default: Any = REQUIRED  # there is none
    choices: tuple[str, ...] = ()
    most: float = LONGEST_NAME  # characters, or the number itself


def checked(fields: Sequence[Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """Every field with its value, given or default; BadRequest for what does not belong there."""
    known = [field.name for field in fields]
    strange = [name for name in given if name not in known]
    if strange:
        raise BadRequest(f"there is no input {shown(strange[0])}; known are {', '.join(known)}")
    return {field.name: _value(field, given) for field in fields}


def _value(field: Field, given: Mapping[str, Any]) -> Any:
    if field.name not in given:
        if field.default is REQUIRED:
            raise BadRequest(f"{field.name} is required: {field.meaning}")
        return field.default
    value = given[field.name]
    if not KINDS[field.kind].fits(field, value) or (field.choices and value not in field.choices):
        raise BadRequest(f"{field.name} must be {must_be(field)}, not {shown(value)}")
    return value


def must_be(field: Field) -> str:
    if field.choices:
        return f"one of {', '.join(field.choices)}"
    return KINDS[field.kind].told.format(most=f"{field.most:.0f}")


def shown(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON Schema of the input."""
    return {
        "type": "object",
        "properties": {field.name: _property(field) for field in fields},
        "required": [field.name for field in fields if field.default is REQUIRED],
        "additionalProperties": False,
    }


def _property(field: Field) -> dict[str, Any]:
    shape = {**KINDS[field.kind].shape(field), "description": field.meaning}
    if field.choices:
        shape["enum"] = list(field.choices)
    if field.default is not REQUIRED and field.default is not None:
        shape["default"] = field.default
    return shape


# -- kinds of values ---------------------------------------------------------------------------


class Kind(NamedTuple):
    told: str
    fits: Callable[[Field, object], bool]
    shape: Callable[[Field], dict[str, Any]]


def _name(field: Field, value: object) -> bool:
    return _sayable(value, 1, field.most)


def _text(field: Field, value: object) -> bool:
    return _sayable(value, 0, field.most)


def _sayable(value: object, least: int, most: float) -> bool:
    """A text that can be written down and, as an argument, has no end in its middle."""
    if not isinstance(value, str) or not least <= len(value) <= most or "\0" in value:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in value)  # half a character


def _flag(_: Field, value: object) -> bool:
    return isinstance(value, bool)


def _number(field: Field, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= field.most


def _count(field: Field, value: object) -> bool:
    return isinstance(value, int) and _number(field, value)


def _words(field: Field, value: object) -> bool:
    if not isinstance(value, list):
        return False
    words = cast("list[object]", value)
    return len(words) <= MOST_WORDS and all(_sayable(word, 1, field.most) for word in words)


def _facts(field: Field, value: object) -> bool:
    return isinstance(value, dict) and len(json.dumps(value)) <= field.most


def _length(least: int) -> Callable[[Field], dict[str, Any]]:
    def shape(field: Field) -> dict[str, Any]:
        return {"type": "string", "minLength": least, "maxLength": int(field.most)}

    return shape


def _range(type: str) -> Callable[[Field], dict[str, Any]]:
    def shape(field: Field) -> dict[str, Any]:
        return {"type": type, "minimum": 0, "maximum": field.most}

    return shape


def _always(**words: Any) -> Callable[[Field], dict[str, Any]]:
    def shape(_: Field) -> dict[str, Any]:
        return dict(words)

    return shape


KINDS = {
    "name": Kind("a text of 1 to {most} characters", _name, _length(1)),
    "text": Kind("a text of at most {most} characters", _text, _length(0)),
    "flag": Kind("true or false", _flag, _always(type="boolean")),
    "seconds": Kind("a number from 0 to {most}", _number, _range("number")),
    "count": Kind("a whole number from 0 to {most}", _count, _range("integer")),
    "words": Kind(
        f"a list of at most {MOST_WORDS} texts",
        _words,
        _always(type="array", items={"type": "string", "minLength": 1}, maxItems=MOST_WORDS),
    ),
    "facts": Kind("an object of at most {most} characters", _facts, _always(type="object")),
}
