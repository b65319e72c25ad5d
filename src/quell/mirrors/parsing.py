"""From YAML text to nodes. The only place that knows ruamel, which is loaded on first use."""

import re
from collections.abc import Iterator
from typing import Any

from quell.mirrors.nodes import (
    BOOL,
    DEEPEST,
    FLOAT,
    INT,
    NULL,
    TEXT,
    TIME,
    Alias,
    Malformed,
    Map,
    Node,
    Scalar,
    Seq,
    Span,
    kind_of,
    meant,
)

_STANDARD = "tag:yaml.org,2002:"
_KINDS = {"str": TEXT, "int": INT, "float": FLOAT, "bool": BOOL, "null": NULL, "timestamp": TIME}
_INDICATOR = re.compile(r"(?:\s|#[^\n]*\n)*([:-])")


def parsed(text: str) -> Node | None:
    """The one document in `text`, None if there is none; Malformed says where it is wrong."""
    builder = _Builder(text)
    for event in _events(text):
        builder.take(event)
    return builder.root


def place_of(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, both from one."""
    before = text[:index]
    return before.count("\n") + 1, index - before.rfind("\n")


def _events(text: str) -> Iterator[Any]:
    import ruamel.yaml

    yaml: Any = ruamel.yaml.YAML(typ="safe", pure=True)
    try:
        yield from yaml.parse(text)
    except (ruamel.yaml.YAMLError, ValueError, OverflowError, LookupError, AttributeError) as error:
        # Instead of refusing, the parser stumbles over some texts, such as the escape \UFFFFFFFF.
        raise _told(text, error) from error


def _told(text: str, error: Any) -> Malformed:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark:
        why = error.problem or error.context or "it is no YAML"
        return Malformed(why, mark.line + 1, mark.column + 1)
    if hasattr(error, "position"):
        line, column = place_of(text, error.position)
        return Malformed(f"the character {error.character!r} may not be there", line, column)
    return Malformed(f"it cannot be parsed ({error})", 1)


class _Open:
    """A collection whose end has not come yet."""

    def __init__(self, event: Any, *, mapping: bool) -> None:
        self.event = event
        self.mapping = mapping
        self.nodes: list[Node] = []
        self.keys: set[str] = set()


class _Builder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.root: Node | None = None
        self.documents = 0
        self.open: list[_Open] = []
        self.anchors: dict[str, Scalar | Seq | Map | None] = {}  # None: not complete yet

    def take(self, event: Any) -> None:
        match type(event).__name__:
            case "DocumentStartEvent":
                self.documents += 1
                if self.documents > 1:
                    raise _at(event, "a second document begins")
            case "ScalarEvent":
                self._add(event, self._scalar(event))
            case "AliasEvent":
                self._add(event, self._alias(event))
            case "MappingStartEvent" | "SequenceStartEvent" as name:
                self._begin(event, mapping=name == "MappingStartEvent")
            case "MappingEndEvent" | "SequenceEndEvent":
                self._finish(event)
            case _:
                pass  # the stream's and the document's ends

    def _begin(self, event: Any, *, mapping: bool) -> None:
        tag = event.tag or ""
        if tag not in {"", "!", _STANDARD + ("map" if mapping else "seq")}:
            raise _at(event, f"the tag {tag} may not be there")
        if len(self.open) == DEEPEST:
            raise _at(event, f"it is nested deeper than {DEEPEST} levels")
        if event.anchor:
            self.anchors[event.anchor] = None
        self.open.append(_Open(event, mapping=mapping))

    def _finish(self, event: Any) -> None:
        done = self.open.pop()
        start, flow = done.event.start_mark, bool(done.event.flow_style)
        end = event.end_mark.index if flow or not done.nodes else done.nodes[-1].at.end
        at = Span(start.index, end, start.line + 1, start.column)
        if done.mapping:
            pairs = tuple(zip(done.nodes[::2], done.nodes[1::2], strict=True))
            self._add(done.event, Map(pairs, flow, at))
        else:
            self._add(done.event, Seq(tuple(done.nodes), flow, at))

    def _add(self, event: Any, node: Node) -> None:
        if event.anchor and not isinstance(node, Alias):
            self.anchors[event.anchor] = node
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        if parent.mapping and len(parent.nodes) % 2 == 0:
            _note_key(event, node, parent.keys)
        parent.nodes.append(node)

    def _scalar(self, event: Any) -> Scalar:
        tag = event.tag or ""
        style = event.style or ""
        if tag in {"", "!"}:
            kind = TEXT if tag or style else kind_of(event.value)
        else:
            kind = _KINDS.get(tag.removeprefix(_STANDARD), "")
        if not kind:
            raise _at(event, f"the tag {tag} may not be there")
        return Scalar(event.value, kind, self._span(event, style), style)

    def _alias(self, event: Any) -> Alias:
        node = self.anchors.get(event.anchor)
        if node is None:
            what = "refers to what contains it" if event.anchor in self.anchors else "has no anchor"
            raise _at(event, f"the alias *{event.anchor} {what}")
        return Alias(node, self._span(event, ""))

    def _span(self, event: Any, style: str) -> Span:
        start, end = event.start_mark.index, event.end_mark.index
        if start == end:
            start = end = self._end_of_indicator(start)
        elif style and style in "|>":
            end = self._end_of_block(start, end)
        return Span(start, end, event.start_mark.line + 1, event.start_mark.column)

    def _end_of_indicator(self, otherwise: int) -> int:
        """An empty value is right behind its `:` or `-`; ruamel's mark is at the next token."""
        if not self.open:
            return otherwise
        parent = self.open[-1]
        begin = parent.nodes[-1].at.end if parent.nodes else parent.event.start_mark.index
        found = _INDICATOR.match(self.text, begin)
        return found.end() if found else begin

    def _end_of_block(self, start: int, end: int) -> int:
        """The last character of a block scalar; blank lines after it are not its own, unless
        its header says so."""
        body = self.text[start:end]
        if "+" in body.partition("\n")[0].partition("#")[0]:
            return end - body.endswith("\n")
        return start + len(body.rstrip())


def _note_key(event: Any, node: Node, keys: set[str]) -> None:
    key = meant(node)
    if not isinstance(key, Scalar):
        raise _at(event, "a key must be a plain word, not a collection")
    if key.text in keys:
        raise _at(event, f"the key '{key.text}' is there twice")
    keys.add(key.text)


def _at(event: Any, why: str) -> Malformed:
    return Malformed(why, event.start_mark.line + 1, event.start_mark.column + 1)
