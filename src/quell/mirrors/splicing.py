"""Changes to a YAML text at the places where they belong; every other character stays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quell.mirrors.nodes import (
    NULL,
    TEXT,
    Map,
    Node,
    Scalar,
    Seq,
    Shapes,
    get,
    key_of,
    own,
)
from quell.mirrors.writing import STEP, entry, inline, node_of, spread


class Inseparable(Exception):
    """The change would reach beyond the mapping that was named."""


class Edit(NamedTuple):
    start: int
    end: int
    new: str


class Text(NamedTuple):
    """A text and how new lines are written into it."""

    all: str
    newline: str
    tall: bool = True  # text of several lines may be spread out


class Change(NamedTuple):
    """Which keys of a mapping are set and dropped; `below` are those of mappings inside it."""

    set: dict[str, Any]
    drop: tuple[str, ...]
    below: "dict[str, Change]"


def text_with(all: str, *, tall: bool) -> Text:
    return Text(all, "\r\n" if "\r\n" in all else "\n", tall)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Of two edits at the same place, the first in the list comes out first."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: edit[:2]):
        parts += [text[done : edit.start], edit.new]
        done = edit.end
    return "".join((*parts, text[done:]))


def change_of(table: Map, changes: Mapping[str, Any], drop: Iterable[str]) -> Change:
    """Only what is not so already. A dotted key addresses a mapping inside: `pane.pid`."""
    shapes = Shapes()
    heads: dict[str, tuple[dict[str, Any], list[str]]] = {}
    to_set: dict[str, Any] = {}
    to_drop: list[str] = []
    for key, value in changes.items():
        head, dot, rest = key.partition(".")
        if dot:
            heads.setdefault(head, ({}, []))[0][rest] = value
        elif (found := own(table, key)) is None or shapes.of(found) != shapes.of(node_of(value)):
            to_set[key] = value
    for key in drop:
        head, dot, rest = key.partition(".")
        if dot:
            heads.setdefault(head, ({}, []))[1].append(rest)
        elif get(table, key) is not None:
            to_drop.append(key)
    below = {head: _below(table, head, *wish) for head, wish in heads.items()}
    to_set |= {head: unfolded(one.set) for head, one in below.items() if _is_new(table, head, one)}
    below = {head: one for head, one in below.items() if head not in to_set and any(one)}
    return Change(to_set, tuple(to_drop), below)


def _below(table: Map, head: str, changes: Mapping[str, Any], drop: Iterable[str]) -> Change:
    found = get(table, head)
    if isinstance(found, Map):
        return change_of(found, changes, drop)
    if found is None or (isinstance(found, Scalar) and found.kind == NULL):
        return Change(dict(changes), (), {})
    raise Inseparable(f"{head} is no mapping")


def _is_new(table: Map, head: str, change: Change) -> bool:
    return bool(change.set) and not isinstance(get(table, head), Map)


def unfolded(changes: Mapping[str, Any]) -> dict[str, Any]:
    """`{"a.b": 1}` as `{"a": {"b": 1}}`."""
    nested: dict[str, Any] = {}
    for key, value in changes.items():
        *heads, last = key.split(".")
        inner = nested
        for head in heads:
            inner = inner.setdefault(head, {})
        inner[last] = value
    return nested


def changed(table: Map, change: Change) -> Map:
    """The mapping as it must read afterwards."""
    pairs: list[tuple[Node, Node]] = []
    for key, value in table.pairs:
        name = key_of((key, value))
        if name in change.set:
            pairs.append((key, node_of(change.set[name])))
        elif name in change.below:
            pairs.append((key, changed(_direct(value, name), change.below[name])))
        elif name not in change.drop:
            pairs.append((key, value))
    known = {key_of(pair) for pair in table.pairs}
    if missing := [name for name in (*change.drop, *change.below) if name not in known]:
        raise Inseparable(f"{missing[0]} comes from a mapping that is merged in")
    new = [(Scalar(k, TEXT), node_of(v)) for k, v in change.set.items() if k not in known]
    return Map((*pairs, *new), table.flow, table.at)


def _direct(value: Node, name: str) -> Map:
    if isinstance(value, Map):
        return value
    raise Inseparable(f"{name} is shared with another entry (*alias)")


# -- the edits ---------------------------------------------------------------------------------


def edits(text: Text, table: Map, change: Change) -> list[Edit]:
    """What turns the mapping's text into that of `changed(table, change)`."""
    found: list[Edit] = []
    for number, (key, value) in enumerate(table.pairs):
        name = key_of((key, value))
        if name in change.set:
            found.append(_replacement(text, table, number, change.set[name]))
        elif name in change.below:
            found += edits(text, _direct(value, name), change.below[name])
        elif name in change.drop:
            found.append(_cut(text.all, table, number, change.drop))
    known = {key_of(pair) for pair in table.pairs}
    new = {name: value for name, value in change.set.items() if name not in known}
    return found + ([_addition(text, table, new)] if new else [])


def _replacement(text: Text, table: Map, number: int, new: Any) -> Edit:
    key, value = table.pairs[number]
    start, end = value.at[:2]
    if start == end:
        return Edit(end, end, " " + inline(new))
    if _is_block(value):  # on lines of its own: begin behind the colon
        return Edit(text.all.index(":", key.at.end) + 1, end, " " + inline(new))
    style = value.style if isinstance(value, Scalar) else ""
    comment = _header_comment(text.all[start:end]) if style and style in "|>" else ""
    alone = not table.flow and not text.all[end : _line_end(text.all, end)].strip()
    indent = " " * (table.pairs[0][0].at.column + len(STEP))
    first, *rest = (text.tall and alone and spread(new, indent)) or [inline(new, style)]
    return Edit(start, end, text.newline.join((first + comment, *rest)))


def _header_comment(block: str) -> str:
    """What a person noted behind the `|`."""
    found = block.partition("\n")[0].find(" #")
    return "" if found < 0 else " " + block.partition("\n")[0][found:].rstrip()


def _is_block(node: Node) -> bool:
    return isinstance(node, Map | Seq) and not node.flow


def _cut(text: str, table: Map, number: int, drop: Sequence[str]) -> Edit:
    """The entry's lines; a comment behind it stays, on a line of its own."""
    if table.flow:
        return _cut_from_flow(table, number, drop)
    key, value = table.pairs[number]
    begin = text.rfind("\n", 0, key.at.start) + 1
    end = _line_end(text, value.at.end)
    lead = _lead(text, table, drop)
    if lead and lead.start <= key.at.start < lead.end:
        return lead
    if text[begin : key.at.start].strip():  # behind a dash, which stays
        return Edit(key.at.start, value.at.end, "")
    if comment := text[value.at.end : end].strip():
        return Edit(key.at.start, end, comment + ("\r" if text[end - 1] == "\r" else ""))
    return Edit(begin, min(end + 1, len(text)), "")


def _lead(text: str, table: Map, drop: Sequence[str]) -> Edit | None:
    """All entries before the first that stays, if nobody wrote a comment there: that one takes
    their place, behind the dash."""
    stays = next((key.at.start for key, one in table.pairs if key_of((key, one)) not in drop), 0)
    start = table.pairs[0][0].at.start
    return Edit(start, stays, "") if start < stays and "#" not in text[start:stays] else None


def _cut_from_flow(table: Map, number: int, drop: Sequence[str]) -> Edit:
    """The entry and one comma: the one before it, or the one after it where nothing is before."""
    key, value = table.pairs[number]
    if any(key_of(pair) not in drop for pair in table.pairs[:number]):
        return Edit(table.pairs[number - 1][1].at.end, value.at.end, "")
    after = number + 1 < len(table.pairs)
    return Edit(key.at.start, table.pairs[number + 1][0].at.start if after else value.at.end, "")


def _addition(text: Text, table: Map, new: Mapping[str, Any]) -> Edit:
    if table.flow:
        words = ", ".join(f"{inline(key)}: {inline(value)}" for key, value in new.items())
        return flow_addition(table, words)
    indent = " " * table.pairs[0][0].at.column
    lines = [
        line for key, value in new.items() for line in entry(key, value, indent, tall=text.tall)
    ]
    return line_addition(text, table.at.end, lines)


def flow_addition(collection: Map | Seq, words: str) -> Edit:
    """`words` as the last entry of what is in braces or brackets."""
    last = collection.pairs[-1][1] if isinstance(collection, Map) and collection.pairs else None
    if isinstance(collection, Seq) and collection.items:
        last = collection.items[-1]
    if last is None:
        return Edit(collection.at.end - 1, collection.at.end - 1, words)
    return Edit(last.at.end, last.at.end, ", " + words)


def line_addition(text: Text, after: int, lines: Sequence[str]) -> Edit:
    """`lines` below the line on which the character before `after` stands."""
    end = _line_end(text.all, after)
    if end < len(text.all):
        return Edit(end + 1, end + 1, "".join(line + text.newline for line in lines))
    return Edit(end, end, "".join(text.newline + line for line in lines))


def _line_end(text: str, start: int) -> int:
    """Where the line's newline is, or the text's end."""
    found = text.find("\n", start)
    return len(text) if found < 0 else found
