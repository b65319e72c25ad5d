"""What a command may be given: the table that checks it is the table that explains it."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from quell.core.ladder import LONGEST_WAIT

SHOWN = 60  # characters of a refused value that the answer repeats
LONGEST_TEXT = 1000
MOST_WORDS = 1000
REQUIRED = object()


class Parameter(NamedTuple):
    name: str
    kind: str  # a key of KINDS
    meaning: str
    default: Any = REQUIRED  # there is none
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = LONGEST_WAIT


class BadParameter(Exception):
    """A parameter that the command does not have, or cannot take."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def checked(parameters: Sequence[Parameter], params: object) -> dict[str, Any]:
    """Every parameter of the command with its value, given or default."""
    if not isinstance(params, Mapping):
        raise BadParameter("params", f"params must be an object, not {shown(params)}")
    given = cast("Mapping[object, object]", params)
    known = {one.name: one for one in parameters}
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise BadParameter(
                str(name), f"there is no parameter {shown(name)}{_near(name, known)}"
            )
    return {one.name: _value(one, given) for one in parameters}


def _near(name: object, known: Mapping[str, Parameter]) -> str:
    close = difflib.get_close_matches(str(name).upper(), known, 1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"


def _value(one: Parameter, given: Mapping[object, object]) -> Any:
    if one.name not in given:
        if one.default is REQUIRED:
            raise BadParameter(one.name, f"{one.name} is required: {one.meaning}")
        return one.default
    value = given[one.name]
    if not KINDS[one.kind].fits(one, value):
        raise BadParameter(one.name, f"{one.name} must be {must_be(one)}, not {shown(value)}")
    return value


def shown(value: object) -> str:
    """As JSON would have it, and short."""
    import json

    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):  # no JSON, too many digits, too deep
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def must_be(one: Parameter) -> str:
    if one.choices:
        return f"one of {', '.join(one.choices)}"
    return KINDS[one.kind].told.format(least=_plain(one.least), most=_plain(one.most))


def _plain(number: float) -> str:
    return f"{number:.0f}" if number == int(number) else str(number)


# -- kinds of values ---------------------------------------------------------------------------


class Kind(NamedTuple):
    told: str
    fits: Callable[[Parameter, object], bool]


def _text(one: Parameter, value: object) -> bool:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        return False
    return not one.choices or value in one.choices


def _flag(_: Parameter, value: object) -> bool:
    return isinstance(value, bool)


def _number(one: Parameter, value: object) -> bool:
    """True is no number here; NaN is between no bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return one.least <= value <= one.most


def _count(one: Parameter, value: object) -> bool:
    return isinstance(value, int) and _number(one, value)


def _command(one: Parameter, value: object) -> bool:
    if isinstance(value, str):
        return _text(one, value)
    if not isinstance(value, list) or not 0 < len(cast("list[object]", value)) <= MOST_WORDS:
        return False
    return all(isinstance(word, str) and _sayable(word) for word in cast("list[object]", value))


def _sayable(word: str) -> bool:
    """The kernel takes any word that has no null byte and can be written down."""
    try:
        word.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return "\0" not in word


KINDS = {
    "text": Kind("a printable text of 1 to 1000 characters", _text),
    "flag": Kind("true or false", _flag),
    "seconds": Kind("a number of seconds from {least} to {most}", _number),
    "number": Kind("a number from {least} to {most}", _number),
    "count": Kind("a whole number from {least} to {most}", _count),
    "command": Kind("a list of words, or the name of a kind", _command),
}
