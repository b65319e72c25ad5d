"""A YAML text as ruamel's nodes, which know where they stand; no tag makes an object of anything.

This module and `document` are the only ones that know ruamel, which is loaded on first use.
"""

from collections.abc import Iterator
from typing import Any

NULL, TEXT, INT = "null", "str", "int"
DEEPEST = 100  # levels; a registry has four

Node = Any  # ruamel's ScalarNode, SequenceNode or MappingNode, as its `id` says

_STANDARD = "tag:yaml.org,2002:"
_KINDS = {
    "scalar": {NULL, TEXT, INT, "float", "bool", "timestamp", "merge", "value"},
    "sequence": {"seq"},
    "mapping": {"map"},
}


class Malformed(Exception):
    """The text is no YAML that may be in a registry. `line` and `column` count from one."""

    def __init__(self, why: str, line: int, column: int = 1) -> None:
        super().__init__(why)
        self.line = line
        self.column = column


def malformed(why: str, node: Node) -> Malformed:
    return Malformed(why, node.start_mark.line + 1, node.start_mark.column + 1)


# -- reading a tree ----------------------------------------------------------------------------


def is_map(node: Node) -> bool:
    return node is not None and node.id == "mapping"


def is_list(node: Node) -> bool:
    return node is not None and node.id == "sequence"


def kind_of(node: Node) -> str:
    return str(node.tag).removeprefix(_STANDARD)


def is_null(node: Node) -> bool:
    return kind_of(node) == NULL


def text_of(node: Node) -> str:
    """A scalar as it is written, empty for null, for what is no scalar and for None."""
    if node is None or node.id != "scalar" or is_null(node):
        return ""
    # ruamel marks where a folded text breaks, so that it can be written back.
    return node.value.replace("\a", "") if node.style == ">" else node.value


def own(table: Node, key: str) -> Node:
    """What the mapping itself says, merged ones left out; None if it says nothing."""
    return next((pair[1] for pair in table.value if pair[0].value == key), None)


def get(table: Node, key: str) -> Node:
    """What a reader finds under the key: the mapping's own value, else that of a merged one."""
    todo, seen = [table], set[int]()
    while todo:
        one = todo.pop(0)
        found = own(one, key)
        if found is not None:
            return found
        # Each mapping once: aliases can make 1e9 paths of ten lines.
        if id(one) not in seen:
            seen.add(id(one))
            todo = [*_merged(one), *todo]
    return None


def _merged(table: Node) -> Iterator[Node]:
    found = own(table, "<<")
    for one in found.value if is_list(found) else (found,):
        if is_map(one):
            yield one


def parts_of(node: Node) -> list[Node]:
    """The nodes right below this one, keys and values alike."""
    if node.id == "scalar":
        return []
    return [part for pair in node.value for part in pair] if is_map(node) else node.value


def is_same(one: Node, other: Node, seen: set[tuple[int, int]] | None = None) -> bool:
    """Whether a reader finds the same in both.

    Each pair is compared once, because aliases can spell out an astronomically large document."""
    seen = set() if seen is None else seen
    if (id(one), id(other)) in seen:
        return True
    seen.add((id(one), id(other)))
    if one.id != other.id or kind_of(one) != kind_of(other):
        return False
    if one.id == "scalar":
        return text_of(one) == text_of(other)
    mine, theirs = parts_of(one), parts_of(other)
    return len(mine) == len(theirs) and all(
        is_same(a, b, seen) for a, b in zip(mine, theirs, strict=True)
    )


# -- parsing -----------------------------------------------------------------------------------


def parse_node(text: str, *, comments: bool = False) -> Node:
    """The one document in `text`, None if there is none; Malformed says where it is wrong.

    With `comments`, which take longer, the nodes can be written back."""
    import ruamel.yaml

    yaml: Any = ruamel.yaml.YAML(typ="rt" if comments else "safe", pure=True)
    yaml.composer.warn_double_anchors = False
    try:
        root = yaml.compose(text)
    except RecursionError:
        raise Malformed(f"it is nested deeper than {DEEPEST} levels", 1) from None
    except (ruamel.yaml.YAMLError, ValueError, OverflowError, LookupError, AttributeError) as error:
        # Instead of refusing, the parser stumbles over some texts, such as the escape \UFFFFFFFF.
        raise _from_parser(text, error) from error
    if root is not None:
        _check(root, frozenset(), set())
    return root


def place_of(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, both from one."""
    before = text[:index]
    return before.count("\n") + 1, index - before.rfind("\n")


def _from_parser(text: str, error: Any) -> Malformed:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark:
        why = error.problem or error.context or "it is no YAML"
        return Malformed(why, mark.line + 1, mark.column + 1)
    if hasattr(error, "position"):
        line, column = place_of(text, error.position)
        return Malformed(f"the character {error.character!r} may not be there", line, column)
    return Malformed(f"it cannot be parsed ({error})", 1)


def _check(node: Node, above: frozenset[int], done: set[int]) -> None:
    """Raises Malformed for what may not be in a registry, although it is YAML."""
    if id(node) in above:
        raise malformed("an alias refers to what contains it", node)
    if id(node) in done:
        return
    if len(above) == DEEPEST:
        raise malformed(f"it is nested deeper than {DEEPEST} levels", node)
    if kind_of(node) not in _KINDS[node.id]:
        raise malformed(f"the tag {node.tag} may not be there", node)
    if is_map(node):
        _check_keys([key for key, _ in node.value])
    for inner in parts_of(node):
        _check(inner, above | {id(node)}, done)
    done.add(id(node))


def _check_keys(keys: list[Node]) -> None:
    known: set[str] = set()
    for key in keys:
        if key.id != "scalar":
            raise malformed("a key must be a plain word, not a collection", key)
        if key.value in known:
            raise malformed(f"the key '{key.value}' is there twice", key)
        known.add(key.value)
