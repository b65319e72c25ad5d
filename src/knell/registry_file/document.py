"""A registry's text as checked rows, and its text after a change, written by ruamel's round trip.

The round trip keeps comments, order, quotes and scalars as they are written. The new text is parsed
and compared with what it should say before anything is written to the file.
"""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from knell.registry_file import tree
from knell.registry_file.rows import SESSIONS, Session, sessions_list, sessions_of, table_of
from knell.registry_file.tree import Malformed, Node, get, is_map, is_null, own

# What begins like this is no number, date or indicator, and holds neither ": " nor " #".
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}  # not text in YAML 1.1
_START = re.compile(r"^---", re.MULTILINE)
_MARK = "#~knell~"
_NOTES_BELOW = re.compile(r"[ \t]*\r?\n[ \t]*(?:\r?\n|#)")


class UnsafeEdit(Exception):
    """The change would reach beyond the row that was named, or cannot be written."""


class Document(NamedTuple):
    """A registry that is as it must be."""

    text: str
    root: Node
    sessions: tuple[Session, ...]


class RowChange(NamedTuple):
    name: str
    set: Mapping[str, Any]
    drop: Sequence[str] = ()


def parse(text: str, *, comments: bool = False) -> Document:
    root = tree.parse_node(text, comments=comments)
    return Document(text, root, tuple(sessions_of(root)))


def _parsed_with_comments(old: Document) -> Document:
    """The same again, with a mark behind collections in braces or brackets that end their line.

    ruamel loses the comment lines below such a one unless a comment stands behind it."""
    text, todo, ends = old.text, [old.root] if old.root else [], dict[int, int]()
    while todo:
        node = todo.pop()
        if id(node) not in ends:
            ends[id(node)] = node.end_mark.index
            todo += tree.parts_of(node)
    for end in sorted(set(ends.values()), reverse=True):
        if text[end - 1 : end] in ("]", "}") and _NOTES_BELOW.match(text, end):
            text = f"{text[:end]} {_MARK}{text[end:]}"
    return parse(text, comments=True)


def updated(old: Document, change: RowChange) -> Document:
    """`old` itself if all is so already."""
    fresh = _parsed_with_comments(old)
    row = next(session.node for session in fresh.sessions if session.name == change.name)
    new = _changed(row, _unfolded(change.set), change.drop)
    if new is row:
        return old
    items = [new if item is row else item for item in sessions_list(fresh.root).value]
    return _written(fresh, items)


def added(old: Document, fields: Mapping[str, Any]) -> Document:
    """One session more, behind the last."""
    fresh = _parsed_with_comments(old)
    row = _node_of(_unfolded(fields))
    before = sessions_list(fresh.root)
    if before and before.value:
        _hand_on_comment(before.value[-1], row)
    return _written(fresh, [*(before.value if before else ()), row])


def _written(old: Document, items: list[Node]) -> Document:
    """The document with these sessions; UnsafeEdit if its text would say anything else."""
    table = table_of(old.root) or _map_of([])
    found = get(table, SESSIONS)
    if found is not None and (found.anchor or own(table, SESSIONS) is None):
        raise UnsafeEdit(f"the list {SESSIONS} may be used elsewhere too")
    before = sessions_list(old.root)
    flow = bool(before and before.value and before.flow_style)
    root = _with_values(table, {SESSIONS: _list_of(items, found, flow=flow)})
    try:
        new = parse(_serialized(root, old))
    except Malformed as error:
        raise UnsafeEdit(f"then {error}") from error
    if new.root is None or not tree.is_same(new.root, root):
        raise UnsafeEdit("something else in it depends on that")
    return new


def _serialized(root: Node, old: Document) -> str:
    """The text of `root`, laid out as the old one."""
    import ruamel.yaml

    text = old.text.removeprefix("\ufeff")
    yaml: Any = ruamel.yaml.YAML()
    yaml.width = 1 << 30  # no line is folded
    sessions = sessions_list(old.root)
    if sessions and sessions.value and not sessions.flow_style:
        dash = sessions.start_mark.column - table_of(old.root).start_mark.column
        keys = max(2, sessions.value[0].start_mark.column - sessions.start_mark.column)
        yaml.indent(mapping=keys, sequence=dash + keys, offset=dash)
    head = ""
    if old.root is None or is_null(old.root):
        head = text and text.removesuffix("\n") + "\n"  # nothing but comments, or `---`
    else:
        yaml.explicit_start = bool(_START.search(text))
        if text.startswith("%YAML 1.1"):
            yaml.version = (1, 1)
    number_anchor = yaml.serializer.generate_anchor

    def name_anchor(node: Node) -> str:
        return node.anchor or number_anchor(node)

    yaml.serializer.generate_anchor = name_anchor
    out = io.StringIO()
    yaml.serialize(root, out)
    new = head + re.sub(rf" *{_MARK}", "", out.getvalue())
    if "\r\n" in text:
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return "\ufeff" + new if old.text.startswith("\ufeff") else new


# -- what must be read afterwards --------------------------------------------------------------


def _changed(table: Node, changes: Mapping[str, Any], drop: Iterable[str] = ()) -> Node:
    """The mapping as it must read afterwards; `table` itself if all is so already."""
    values: dict[str, Node] = {}
    for key, value in changes.items():
        was = get(table, key)
        if isinstance(value, Mapping) and was is not None and not is_null(was):
            _check_own(table, key)
            if not is_map(was):
                raise UnsafeEdit(f"{key} is no mapping")
            new = _changed(was, cast("Mapping[str, Any]", value))
        else:
            was = own(table, key)
            new = _node_of(value, was)
        if was is None or not tree.is_same(was, new):
            values[key] = new
    gone = {key for key in drop if get(table, key) is not None}
    for key in gone:
        _check_own(table, key)
    if not values and not gone:
        return table
    if table.anchor:
        raise UnsafeEdit(f"the mapping &{table.anchor} may be used elsewhere too")
    return _with_values(table, values, gone)


def _check_own(table: Node, key: str) -> None:
    if own(table, key) is None:
        raise UnsafeEdit(f"{key} comes from a mapping that is merged in")


def _with_values(table: Node, values: Mapping[str, Node], gone: Iterable[str] = ()) -> Node:
    """The mapping with these values, new keys last, and without the keys `gone`."""
    kept = [(key, values.get(key.value, was)) for key, was in table.value if key.value not in gone]
    taker = kept[0][1] if kept else None
    for key, was in table.value:
        if key.value not in gone:
            taker = values.get(key.value, was)
        elif taker:
            _hand_on_comment(was, taker, column=key.start_mark.column)
    known = {key.value for key, _ in kept}
    new = [(_node_of(key), node) for key, node in values.items() if key not in known]
    if kept and new:
        _hand_on_comment(kept[-1][1], new[-1][1])
    return _map_of([*kept, *new], table)


def _hand_on_comment(giver: Node, taker: Node, *, column: int | None = None) -> None:
    """Moves the comment lines below `giver`; with `column` also the comment behind it, to there.

    ruamel keeps what stands between two entries with the last scalar of the first."""
    from ruamel.yaml.error import CommentMark
    from ruamel.yaml.tokens import CommentToken

    giver, taker = _last_of(giver), _last_of(taker)
    if giver is taker or not giver.comment or giver.comment[0] is None:
        return
    token = giver.comment[0]
    is_block = giver.id == "scalar" and giver.style in {"|", ">"}
    behind, _, moved = ("", "", token.value) if is_block else token.value.partition("\n")
    giver.comment[0] = CommentToken(behind + "\n", token.start_mark, None) if behind else None
    if behind and column is not None:
        moved = f"{' ' * column}{behind}\n{moved}"
    if not moved:
        return
    if taker.id == "scalar" and taker.style == "|" and "#" in moved:
        taker.style = '"'  # a deep comment would become a line of the text
    theirs = (taker.comment or [None])[0]
    value = (theirs.value if theirs else "\n") + moved
    mark = theirs.start_mark if theirs else CommentMark(0)
    taker.comment = [CommentToken(value, mark, None), *(taker.comment or [None, None])[1:]]


def _last_of(node: Node) -> Node:
    while node.id != "scalar" and node.value and not node.flow_style:
        node = node.value[-1][1] if is_map(node) else node.value[-1]
    return node


# -- values as nodes ---------------------------------------------------------------------------


def _node_of(value: Any, like: Node = None) -> Node:
    """What a reader must find where the value was written, with the quotes and the comment that
    were there."""
    match value:
        case None:
            node = _scalar(tree.NULL, "null")
        case bool():
            node = _scalar("bool", "true" if value else "false")
        case int():
            node = _scalar(tree.INT, str(value))
        case str():
            node = _scalar(tree.TEXT, value, _style(value, getattr(like, "style", None)))
        case Mapping():
            table = cast("Mapping[str, Any]", value)
            node = _map_of([(_node_of(key), _node_of(one)) for key, one in table.items()])
        case list() | tuple():
            node = _list_of((_node_of(one) for one in cast("Sequence[Any]", value)), flow=True)
        case _:
            raise TypeError(f"a registry holds no {type(value).__name__}: {value!r}")
    if like is not None and like.comment:
        node.comment = like.comment
    return node


def _style(text: str, was: str | None) -> str | None:
    """Such quotes that readers of YAML 1.1 and of 1.2 find the same in it."""
    rows = text.removesuffix("\n").split("\n")
    is_screen = len(rows) > 1 and rows[-1] and all(row.isprintable() for row in rows)
    if is_screen and all(row.strip() or not row for row in rows):
        return "|"
    if was == '"' or not text.isprintable():
        return '"'
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return None if plain and was != "'" else "'"


def _scalar(kind: str, text: str, style: str | None = None) -> Node:
    from ruamel.yaml.nodes import ScalarNode

    return ScalarNode(f"tag:yaml.org,2002:{kind}", text, style=style)


def _map_of(pairs: list[tuple[Node, Node]], like: Node = None) -> Node:
    """A mapping with these pairs, laid out like `like`."""
    from ruamel.yaml.nodes import MappingNode

    flow = like.flow_style if like and like.value else not pairs
    start, comment = (like.start_mark, like.comment) if like else (None, None)
    return MappingNode("tag:yaml.org,2002:map", pairs, start, flow_style=flow, comment=comment)


def _list_of(items: Iterable[Node], like: Node = None, *, flow: bool) -> Node:
    from ruamel.yaml.nodes import SequenceNode

    comment = like.comment if like else None
    return SequenceNode("tag:yaml.org,2002:seq", list(items), flow_style=flow, comment=comment)


def _unfolded(changes: Mapping[str, Any]) -> dict[str, Any]:
    """`{"a.b": 1}` as `{"a": {"b": 1}}`."""
    nested: dict[str, Any] = {}
    for key, value in changes.items():
        head, dot, rest = key.partition(".")
        nested[head] = {**nested.get(head, {}), rest: value} if dot else value
    return nested
