"""From one text of the registry to the next: pure, and checked before anybody may write it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from quell.mirrors.nodes import TEXT, Malformed, Map, Node, Scalar, Seq, Shapes, key_of, own
from quell.mirrors.parsing import parsed
from quell.mirrors.rows import SESSIONS, Session, sessions_list, sessions_of, table_of
from quell.mirrors.splicing import (
    Change,
    Edit,
    Inseparable,
    Text,
    applied,
    change_of,
    changed,
    edits,
    flow_addition,
    line_addition,
    text_with,
    unfolded,
)
from quell.mirrors.writing import STEP, entry, inline, node_of


class Document(NamedTuple):
    """A registry that is as it must be."""

    text: str
    root: Node | None
    sessions: tuple[Session, ...]


class Wish(NamedTuple):
    name: str
    set: Mapping[str, Any]
    drop: Sequence[str] = ()


Plan = tuple[list[Edit], Node]  # the edits, and what must be read after them


def document(text: str) -> Document:
    root = parsed(text)
    return Document(text, root, tuple(sessions_of(root)))


def updated(old: Document, wishes: Sequence[Wish]) -> Document:
    """`old` itself if all is so already. Inseparable if it cannot be done without touching more."""
    nodes = {session.name: session.node for session in old.sessions}
    if len({wish.name for wish in wishes}) < len(wishes):
        raise ValueError("two wishes for one session")
    changes = {wish.name: change_of(nodes[wish.name], wish.set, wish.drop) for wish in wishes}
    changes = {name: change for name, change in changes.items() if any(change)}
    if not changes:
        return old
    return _checked(old, lambda text: _update(text, old, changes))


def added(old: Document, fields: Mapping[str, Any]) -> Document:
    """One session more, behind the last."""
    row = unfolded(fields)
    return _checked(old, lambda text: _add(text, old.root, row))


def _checked(old: Document, plan: Callable[[Text], Plan]) -> Document:
    """The text after the plan's edits, if it says what the plan says."""
    failure: Exception | None = None
    # Text that is spread over lines may swallow a comment below it; quoted, it does not.
    for tall in (True, False):
        steps, meaning = plan(text_with(old.text, tall=tall))
        try:
            new = document(applied(old.text, steps))
        except Malformed as error:
            failure = error
            continue
        shapes = Shapes()
        if new.root is not None and shapes.of(new.root) == shapes.of(meaning):
            return new
    why = f"then {failure}" if failure else "something else in it depends on that"
    raise Inseparable(why) from failure


# -- changed sessions --------------------------------------------------------------------------


def _update(text: Text, old: Document, changes: Mapping[str, Change]) -> Plan:
    steps: list[Edit] = []
    new: dict[int, Map] = {}
    for session in old.sessions:
        if session.name in changes:
            new[id(session.node)] = changed(session.node, changes[session.name])
            steps += edits(text, session.node, changes[session.name])
    items = _own_list(old.root).items
    return steps, _with_list(old.root, Seq(tuple(new.get(id(item), item) for item in items)))


def _own_list(root: Node | None) -> Seq:
    table = table_of(root)
    found = own(table, SESSIONS) if table else None
    if isinstance(found, Seq):
        return found
    raise Inseparable(f"the list {SESSIONS} is shared with another entry (*alias)")


def _with_list(root: Node | None, sessions: Seq) -> Map:
    table = table_of(root) or Map(())
    pair = (Scalar(SESSIONS, TEXT), sessions)
    if own(table, SESSIONS) is None:
        return Map((*table.pairs, pair))
    return Map(tuple(pair if key_of(one) == SESSIONS else one for one in table.pairs))


# -- a new session -----------------------------------------------------------------------------


def _add(text: Text, root: Node | None, row: Mapping[str, Any]) -> Plan:
    before = sessions_list(root)
    items = before.items if before else ()
    meaning = _with_list(root, Seq((*items, node_of(row))))
    if before and items:
        return [_behind_last(text, before, row)], meaning
    table = table_of(root)
    if table is None:
        return [_at_end(text, [f"{SESSIONS}:", *_lines(row, 0, 2, tall=text.tall)])], meaning
    if table.flow:
        change = Change({SESSIONS: [row]}, (), {})
        return edits(text, table, change), meaning
    return _first(text, table, row), meaning


def _behind_last(text: Text, sessions: Seq, row: Mapping[str, Any]) -> Edit:
    if sessions.flow:
        return flow_addition(sessions, inline(row))
    dash, last = sessions.at.column, sessions.items[-1]
    beside = isinstance(last, Map) and not last.flow and last.at.column > dash
    keys = last.at.column if beside else dash + len(STEP)
    return line_addition(text, sessions.at.end, _lines(row, dash, keys, tall=text.tall))


def _first(text: Text, table: Map, row: Mapping[str, Any]) -> list[Edit]:
    """Into a list that is missing, null or `[]`."""
    dash = table.at.column
    lines = _lines(row, dash, dash + len(STEP), tall=text.tall)
    empty = next((pair[1] for pair in table.pairs if key_of(pair) == SESSIONS), None)
    if empty is None:
        return [line_addition(text, table.at.end, [f"{' ' * dash}{SESSIONS}:", *lines])]
    return [Edit(empty.at.start, empty.at.end, ""), line_addition(text, empty.at.end, lines)]


def _at_end(text: Text, lines: Sequence[str]) -> Edit:
    torn = text.all and not text.all.endswith("\n")
    new = "".join(line + text.newline for line in lines)
    return Edit(len(text.all), len(text.all), (text.newline if torn else "") + new)


def _lines(row: Mapping[str, Any], dash: int, keys: int, *, tall: bool) -> list[str]:
    """The session's lines, its dash and its keys at these columns."""
    indent = " " * keys
    lines = [line for key, one in row.items() for line in entry(key, one, indent, tall=tall)]
    return [" " * dash + "-" + lines[0][dash + 1 :], *lines[1:]]
