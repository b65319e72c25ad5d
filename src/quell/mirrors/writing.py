"""Values as YAML text that every reader, of YAML 1.1 or 1.2, takes for exactly that value."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from quell.mirrors.nodes import BOOL, INT, NULL, TEXT, Map, Node, Scalar, Seq

STEP = "  "

# What begins like this is no number, date or indicator, and holds neither ": " nor " #".
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
_SHORT = {
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\0": "\\0",
    "\x1b": "\\e",
    '"': '\\"',
    "\\": "\\\\",
}
_ESCAPES = (("x", 2), ("u", 4), ("U", 8))


def inline(value: Any, style: str = "") -> str:
    """On one line, fit for any place; text keeps the quotes that were there, if it can."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _quoted(value, style)
        case Mapping():
            table = cast("Mapping[str, Any]", value)
            return "{" + ", ".join(f"{inline(k)}: {inline(v)}" for k, v in table.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(inline, cast("Sequence[Any]", value))) + "]"
        case _:
            raise TypeError(f"a registry holds no {type(value).__name__}: {value!r}")


def entry(key: str, value: Any, indent: str, *, tall: bool) -> list[str]:
    """The lines of a `key: value` in a block; long text is spread out if `tall` allows it."""
    if isinstance(value, Mapping) and value:
        table = cast("Mapping[str, Any]", value)
        below = [
            line
            for inner, one in table.items()
            for line in entry(inner, one, indent + STEP, tall=tall)
        ]
        return [f"{indent}{inline(key)}:", *below]
    first, *rest = (tall and spread(value, indent + STEP)) or [inline(value)]
    return [f"{indent}{inline(key)}: {first}", *rest]


def spread(value: Any, indent: str) -> list[str]:
    """Text of several lines as a block scalar, header first; empty if it must be quoted."""
    if not isinstance(value, str) or not _can_be_spread(value):
        return []
    indicator = str(len(STEP)) if value[0] in " \n" else ""
    header = f"|{indicator}" + ("" if value.endswith("\n") else "-")
    lines = value.removesuffix("\n").split("\n")
    return [header, *(indent + line if line else "" for line in lines)]


def node_of(value: Any) -> Node:
    """What a reader must find where the value was written."""
    match value:
        case None:
            return Scalar("", NULL)
        case bool():
            return Scalar("true" if value else "false", BOOL)
        case int():
            return Scalar(str(value), INT)
        case str():
            return Scalar(value, TEXT)
        case Mapping():
            table = cast("Mapping[str, Any]", value)
            return Map(tuple((Scalar(key, TEXT), node_of(one)) for key, one in table.items()))
        case list() | tuple():
            return Seq(tuple(map(node_of, cast("Sequence[Any]", value))))
        case _:
            raise TypeError(f"a registry holds no {type(value).__name__}: {value!r}")


# -- text --------------------------------------------------------------------------------------


def _quoted(text: str, style: str) -> str:
    if style != '"' and text.isprintable():
        plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
        return text if plain and style != "'" else "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    code = f"{ord(character):x}"
    letter, width = next(one for one in _ESCAPES if len(code) <= one[1])
    return f"\\{letter}{code:0>{width}}"


def _can_be_spread(text: str) -> bool:
    """Whether no line could be taken for something else: blank at the end, or not printable."""
    lines = text.removesuffix("\n").split("\n")
    plain = all(line.isprintable() and (not line or line.strip()) for line in lines)
    return plain and len(lines) > 1 and lines[-1] != ""
