"""A YAML text as a tree in which every node knows where it stands, so that the text can be changed
there and nowhere else.

ruamel's own round trip keeps comments but rewrites spacing, indentation and `null`; the file is
other people's, so only its parser is used. Nothing is ever constructed from a tag.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, cast

NULL, BOOL, INT, FLOAT, TIME, TEXT = "null", "bool", "int", "float", "time", "text"
DEEPEST = 100  # levels; a registry has four


class Malformed(Exception):
    """The text is no YAML that may be in a registry. `line` and `column` count from one."""

    def __init__(self, why: str, line: int, column: int = 1) -> None:
        super().__init__(why)
        self.line = line
        self.column = column


class Span(NamedTuple):
    start: int = 0
    end: int = 0
    line: int = 1
    column: int = 0  # counts from zero: it is an indentation


class Scalar(NamedTuple):
    text: str
    kind: str
    at: Span = Span()
    style: str = ""  # ', ", | or >


class Seq(NamedTuple):
    items: "tuple[Node, ...]"
    flow: bool = False
    at: Span = Span()


class Map(NamedTuple):
    pairs: "tuple[tuple[Node, Node], ...]"
    flow: bool = False
    at: Span = Span()


class Alias(NamedTuple):
    """A `*name`; the node that it stands for is elsewhere."""

    node: "Scalar | Seq | Map"
    at: Span = Span()


Node = Scalar | Seq | Map | Alias


def meant(node: Node) -> Scalar | Seq | Map:
    return node.node if isinstance(node, Alias) else node


def key_of(pair: tuple[Node, Node]) -> str:
    return cast("Scalar", meant(pair[0])).text  # the parser lets no other key through


def own(table: Map, key: str) -> Node | None:
    """What the mapping itself says, merged ones left out."""
    return next((pair[1] for pair in table.pairs if key_of(pair) == key), None)


def get(table: Map, key: str) -> Scalar | Seq | Map | None:
    """What a reader finds under the key: the mapping's own value, else that of a merged one."""
    todo, seen = [table], set[int]()
    while todo:
        one = todo.pop(0)
        found = own(one, key)
        if found is not None:
            return meant(found)
        # Each mapping once: aliases can make 1e9 paths of ten lines.
        if id(one) not in seen:
            seen.add(id(one))
            todo = [*_merged(one), *todo]
    return None


def _merged(table: Map) -> Iterator[Map]:
    found = own(table, "<<")
    if found is None:
        return
    node = meant(found)
    for item in node.items if isinstance(node, Seq) else (node,):
        if isinstance(one := meant(item), Map):
            yield one


def text_of(node: Node | None) -> str:
    """A scalar as it is written, empty for null and for what is no scalar."""
    found = None if node is None else meant(node)
    return found.text if isinstance(found, Scalar) and found.kind != NULL else ""


# -- what a plain scalar means -----------------------------------------------------------------

_NULLS = {"", "~", "null", "Null", "NULL"}
_BOOLS = {"true", "True", "TRUE", "false", "False", "FALSE"}
_INT = re.compile(r"[-+]?(?:0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?")


def kind_of(plain: str) -> str:
    """What an unquoted scalar is read as."""
    if plain in _NULLS:
        return NULL
    if plain in _BOOLS:
        return BOOL
    for kind, pattern in ((INT, _INT), (FLOAT, _FLOAT), (TIME, _TIME)):
        if pattern.fullmatch(plain):
            return kind
    return TEXT


# -- comparing ---------------------------------------------------------------------------------


class Shapes:
    """Numbers nodes so that two have the same number exactly if they mean the same.

    Linear also where aliases would make the spelt-out document astronomically large."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._seen: dict[int, tuple[Node, int]] = {}  # holds the node, so that its id stays its own

    def of(self, node: Node) -> int:
        node = meant(node)
        if id(node) not in self._seen:
            number = self._numbers.setdefault(self._key(node), len(self._numbers))
            self._seen[id(node)] = node, number
        return self._seen[id(node)][1]

    def _key(self, node: Scalar | Seq | Map) -> object:
        if isinstance(node, Scalar):
            return node.kind, "" if node.kind == NULL else node.text
        if isinstance(node, Seq):
            return "seq", tuple(self.of(item) for item in node.items)
        return "map", tuple((self.of(key), self.of(value)) for key, value in node.pairs)
