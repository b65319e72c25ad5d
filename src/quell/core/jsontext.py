"""JSON as text: one item is put in or taken out, every other byte stays as it was."""

import json
import re
from typing import Any, NamedTuple, NoReturn

from quell.core.errors import AskerError

Path = tuple[str | int, ...]  # keys and indices from the outermost value inwards

_SPACE = " \t\r\n"
_ENDS_LINE = re.compile(r"[ \t]*\r?\n")
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


class BadSettings(AskerError):
    """Not what its program could read, or nothing that quell could edit without loss."""


class Item(NamedTuple):
    key: str | None  # None in an array
    start: int
    value: int  # where the value starts: after the key
    end: int


class Container(NamedTuple):
    start: int
    items: list[Item]
    close: int


class JsonText(NamedTuple):
    text: str
    comments: bool = False  # whether // and /* */ may stand in it

    @property
    def plain(self) -> str:
        """The text with its comments blanked out: every offset is the same."""
        if not self.comments:
            return self.text
        return _STRING_OR_COMMENT.sub(_blank_comment, self.text)

    def parsed(self) -> Any:
        """The value; numbers stay as they are written, so that none is lost by reading it."""
        plain = self.plain
        try:
            return _DECODER.decode(plain)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno} column {error.colno}"
            raise BadSettings(f"not valid JSON: {error.msg}, {where}") from error
        except RecursionError as error:
            raise BadSettings("not usable: it is nested too deeply") from error

    def put(self, path: Path, key: str | None, value: Any) -> "JsonText":
        """With `value` as the last item of the object (under `key`) or array at `path`."""
        container = _container(self.plain, path)
        last = container.items[-1] if container.items else None
        inline = last is not None and "\n" not in self.text[container.start : container.close]
        head = "" if key is None else f"{_dumped(key)}: "
        kept = self.text[: container.close].rstrip(_SPACE)
        tail = self.text[len(kept) :]
        if inline:
            added = " " + head + _dumped(value)
        else:
            outer = self._indent(container.start)
            inner = self._indent(last.start) if last else outer + self._unit()
            lines = (head + _dumped(value, self._unit())).split("\n")
            added = "".join(self._newline() + inner + line for line in lines)
            if "\n" not in tail[: container.close - len(kept)]:
                tail = self._newline() + outer + tail.lstrip(_SPACE)
        if last:
            kept = kept[: last.end] + "," + kept[last.end :]
        return self._replace(text=kept + added + tail)

    def take(self, path: Path) -> "JsonText":
        """Without the item at `path`, the blanks before it and one comma."""
        plain, text, step = self.plain, self.text, path[-1]
        items = _container(plain, path[:-1]).items
        index = step if isinstance(step, int) else _last(items, step)
        start, end = items[index].start, items[index].end
        before, bare, after = text[:start], plain[:start], text[end:]
        if index > 0:
            comma = plain.index(",", items[index - 1].end)
            before, bare = (half[:comma] + half[comma + 1 :] for half in (before, bare))
        elif len(items) > 1:
            comma = plain.index(",", end) - end
            after = after[:comma] + after[comma + 1 :]
        kept = before.rstrip(_SPACE)
        if bare[len(kept) - 1] not in _SPACE:
            return self._replace(text=kept + (after.lstrip(_SPACE) if len(items) == 1 else after))
        # A comment stands before it, which may need its line end.
        return self._replace(text=(kept if _ENDS_LINE.match(after) else before) + after)

    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _indent(self, at: int) -> str:
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _unit(self) -> str:
        """One level of indentation, as the outermost object has it."""
        items = _container(self.plain, ()).items
        return (self._indent(items[0].start) if items else "") or "  "


def _container(plain: str, path: Path) -> Container:
    at = _skip(plain, 0)
    for step in path:
        items = _opened(plain, at).items
        at = items[step if isinstance(step, int) else _last(items, step)].value
    return _opened(plain, at)


def _last(items: list[Item], key: str) -> int:
    """Of a key that is there twice the last one counts, as for every reader."""
    return max(index for index, item in enumerate(items) if item.key == key)


def _opened(plain: str, start: int) -> Container:
    """The items of the object or array that starts here, in a text that is known to be valid."""
    items: list[Item] = []
    at = _skip(plain, start + 1)
    while plain[at] not in "]}":
        first, key = at, None
        if plain[start] == "{":
            key, at = _DECODER.raw_decode(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)
        _, end = _DECODER.raw_decode(plain, at)
        items.append(Item(key, first, at, end))
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)
    return Container(start, items, at)


def _skip(plain: str, at: int) -> int:
    while at < len(plain) and plain[at] in _SPACE:
        at += 1
    return at


def _blank_comment(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"\S", " ", found[0])


def _dumped(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _number(written: str) -> tuple[str, str]:
    return ("number", written)


def _no_constant(name: str) -> NoReturn:
    raise BadSettings(f"not valid JSON: {name} is no JSON value")


_DECODER = json.JSONDecoder(
    parse_int=_number, parse_float=_number, parse_constant=_no_constant
)  # fmt: skip
